package workers_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"flyball.dev/flyball/engine/workers"
)

// The number of slow pieces of work is limited too.
func TestSlowWorkDoesNotDelayOtherWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2
		c, answer := workers.NewCrew(n), make(chan struct{})
		var underWay, done atomic.Int32
		hang := func() { underWay.Add(1); <-answer; underWay.Add(-1) }
		for range 5 {
			c.Do(hang)
		}
		for range 10 {
			c.Do(func() { done.Add(1) })
		}
		c.Settle()
		if underWay.Load() != 5 || done.Load() != 10 {
			t.Errorf("%d take long, want 5; %d others were done, want 10", underWay.Load(), done.Load())
		}
		go func() {
			for range 1000 {
				c.Do(hang)
			}
		}()
		time.Sleep(time.Hour)
		if got := underWay.Load(); got != n+256 {
			t.Errorf("%d take long, want %d", got, n+256)
		}
		close(answer)
		time.Sleep(time.Second)
		c.Do(func() { done.Add(1) })
		c.Wait()
		if underWay.Load() != 0 || done.Load() != 11 {
			t.Errorf("%d are left; %d others were done", underWay.Load(), done.Load())
		}
	})
}

// The crew never runs more work than it has places.
func TestConcurrentWorkIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := workers.NewCrew(3)
		var underWay, most atomic.Int32
		for range 100 {
			c.Do(func() {
				if now := underWay.Add(1); now > most.Load() {
					most.Store(now)
				}
				time.Sleep(workers.Patience / 2)
				underWay.Add(-1)
			})
		}
		c.Wait()
		if most.Load() != 3 {
			t.Errorf("%d at once, want 3", most.Load())
		}
	})
}
