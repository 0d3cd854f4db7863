package reconcile

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/await"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func keyOf(i int) key {
	return key{target: workload.Ref{GroupKind: schema.GroupKind{Kind: "X"}, Name: fmt.Sprint(i)}}
}

// The heap is compared with a plain map under random settings and clock steps.
func TestTimerFiresDueKeysInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clock := clocktesting.NewFakeClock(noon)
		w := newTimer(clock)
		want := map[key]time.Time{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.IntRange(0, 3).Draw(t, "step") > 0 {
				k := keyOf(rapid.IntRange(0, 9).Draw(t, "key"))
				at := time.Time{}
				if rapid.IntRange(0, 5).Draw(t, "remove") > 0 {
					at = noon.Add(time.Duration(rapid.IntRange(1, 600).Draw(t, "at")) * time.Second)
				}
				w.Set(k, at)
				if at.IsZero() {
					delete(want, k)
				} else {
					want[k] = at
				}
				continue
			}
			clock.Step(time.Duration(rapid.IntRange(0, 120).Draw(t, "seconds")) * time.Second)
			var fired []key
			wait := w.fireDue(func(due []key) { fired = append(fired, due...) })
			for i, k := range fired {
				if want[k].IsZero() || want[k].After(clock.Now()) {
					t.Fatalf("%v fired though it is due at %v, now %v", k, want[k], clock.Now())
				}
				if i > 0 && want[k].Before(want[fired[i-1]]) {
					t.Fatalf("%v fired after a later one", k)
				}
			}
			next := time.Duration(-1)
			for k, at := range want {
				if !at.After(clock.Now()) {
					if !slices.Contains(fired, k) {
						t.Fatalf("%v is due and did not fire", k)
					}
					delete(want, k)
				} else if d := at.Sub(clock.Now()); next < 0 || d < next {
					next = d
				}
			}
			if wait != next {
				t.Fatalf("waits %v for the next, want %v", wait, next)
			}
		}
	})
}

func TestTimerWakesForASoonerInstant(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	w := newTimer(clock)
	fired := make(chan key, 10)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx, func(due []key) {
			for _, k := range due {
				fired <- k
			}
		})
	}()
	w.Set(keyOf(1), noon.Add(time.Hour))
	w.Set(keyOf(2), noon.Add(time.Minute))
	deadline := time.After(time.Minute)
	for {
		clock.Step(10 * time.Second)
		select {
		case k := <-fired:
			if k != keyOf(2) {
				t.Fatalf("%v fired first", k)
			}
			stop()
			<-done
			return
		case <-deadline:
			t.Fatal("the sooner wake-up never fired")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// stepped is a clock that can be set. Its timers still measure elapsed time.
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

func TestTimerNoticesThatTheClockWasSet(t *testing.T) {
	c := &stepped{FakeClock: clocktesting.NewFakeClock(noon)}
	w := newTimer(c)
	w.Set(keyOf(1), noon.Add(8*time.Hour))
	fired := make(chan key, 1)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx, func(due []key) { fired <- due[0] })
	}()
	defer func() { stop(); <-done }()
	await.True(t, "there is a timer", c.HasWaiters)
	if c.longest() > longestWait {
		t.Fatalf("the timer runs for %s", c.longest())
	}
	c.set(8 * time.Hour) // like a suspended machine, whose timers do not notice the time
	c.Step(longestWait)
	select {
	case <-fired:
	case <-time.After(time.Minute):
		t.Fatal("the instant has come and nothing fires")
	}
}

// TestTimerNoticesThatTheClockWasSetBack checks that a clock that is set back by a second or more is noticed once, with an
// instant and without one.
func TestTimerNoticesThatTheClockWasSetBack(t *testing.T) {
	for name, at := range map[string]time.Time{"an instant": noon.Add(8 * time.Hour), "no instant": {}} {
		t.Run(name, func(t *testing.T) {
			c := &stepped{FakeClock: clocktesting.NewFakeClock(noon)}
			w := newTimer(c)
			noticed := 0
			w.setBack = func() { noticed++ }
			w.Set(keyOf(1), at)
			none := func([]key) { t.Error("an instant fires") }
			for _, step := range []struct {
				ahead time.Duration
				want  int
			}{
				{0, 0}, {time.Minute, 0}, {time.Minute - time.Second + 1, 0}, {-time.Hour, 1},
				{-time.Hour, 1}, {-time.Minute, 1}, {-2 * time.Minute, 2},
			} {
				c.set(step.ahead)
				if w.fireDue(none); noticed != step.want {
					t.Fatalf("after a step to %s a set clock is noticed %d times, want %d", step.ahead, noticed, step.want)
				}
			}
		})
	}
}

// hastyClock advances just before it creates its first timer.
type hastyClock struct {
	*clocktesting.FakeClock
	step time.Duration
	once sync.Once
}

func (c *hastyClock) NewTimer(d time.Duration) clock.Timer {
	c.once.Do(func() { c.Step(c.step) })
	return c.FakeClock.NewTimer(d)
}

func TestTimerFiresKeysThatBecomeDueBeforeTheWait(t *testing.T) {
	clock := &hastyClock{FakeClock: clocktesting.NewFakeClock(noon), step: 2 * time.Second}
	w := newTimer(clock)
	w.Set(keyOf(1), noon.Add(time.Second))
	fired := make(chan key, 1)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx, func(due []key) { fired <- due[0] })
	}()
	select {
	case <-fired:
	case <-time.After(time.Minute):
		t.Error("what came due between the look at the clock and its timer is never fired")
	}
	stop()
	<-done
}
