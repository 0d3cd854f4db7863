package reconcile

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestAdaptersSettleTogether has each one wait for all others: one after the other they would wait for ever.
func TestAdaptersSettleTogether(t *testing.T) {
	names := []string{"a", "b", "c"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	all.Add(len(names))
	there := make(chan struct{})
	go func() { all.Wait(); close(there) }()
	bad := errors.New("b is bad")
	err := together(names, func(name string) error {
		all.Done()
		select {
		case <-there:
		case <-ctx.Done():
			return ctx.Err()
		}
		if name == "b" {
			return bad
		}
		return nil
	})
	if !errors.Is(err, bad) {
		t.Errorf("got %v, want %v", err, bad)
	}
}

// stepped is a clock that somebody sets: its timers go on counting elapsed time.
type stepped struct {
	*clocktesting.FakeClock
	mu     sync.Mutex
	ahead  time.Duration
	timers []time.Duration
}

func (s *stepped) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.FakeClock.Now().Add(s.ahead)
}

func (s *stepped) NewTimer(d time.Duration) clock.Timer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timers = append(s.timers, d)
	return s.FakeClock.NewTimer(d)
}

func (s *stepped) set(ahead time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead = ahead
}

func (s *stepped) longest() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.timers) == 0 {
		return 0
	}
	return slices.Max(s.timers)
}

func TestWakesNoticeThatTheClockWasSet(t *testing.T) {
	c := &stepped{FakeClock: clocktesting.NewFakeClock(noon)}
	w := newWakes(c)
	w.Set(wakeOf(1), noon.Add(8*time.Hour))
	fired := make(chan wakeKey, 1)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx, func(due []wakeKey) { fired <- due[0] })
	}()
	defer func() { stop(); <-done }()
	for deadline := time.Now().Add(time.Minute); !c.HasWaiters(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("there is no timer")
		}
	}
	if c.longest() > longestWait {
		t.Fatalf("the timer runs for %s", c.longest())
	}
	c.set(8 * time.Hour) // a suspended machine: no timer knows
	c.Step(longestWait)
	select {
	case <-fired:
	case <-time.After(time.Minute):
		t.Fatal("the instant has come and nothing fires")
	}
}
