package simclock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"flyball.dev/flyball/test/demo/simclock"
)

var monday = time.Date(2037, 5, 11, 0, 0, 0, 0, time.UTC)

// got waits for a value for a limited time.
func got(c <-chan time.Time, limit time.Duration) (time.Time, bool) {
	select {
	case t := <-c:
		return t, true
	case <-time.After(limit):
		return time.Time{}, false
	}
}

func TestStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := simclock.New(monday)
		timer := c.NewTimer(time.Nanosecond)
		if at, ok := got(timer.C(), 20*time.Millisecond); ok {
			t.Errorf("a timer of a clock that stands still fires at %s", at)
		}
		if now := c.Now(); !now.Equal(monday) {
			t.Errorf("time is %s, want %s", now, monday)
		}
		if at, ok := got(c.After(0), time.Minute); !ok || !at.Equal(monday) {
			t.Errorf("a timer of no duration fires: %v at %s, want at once at %s", ok, at, monday)
		}
	})
}

func TestRunsAtItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate = 3600
		c := simclock.New(monday)
		timer := c.NewTimer(time.Hour) // set while the clock stands
		began := time.Now()
		c.Run(rate)
		at, ok := got(timer.C(), time.Minute)
		took := time.Since(began)
		if !ok {
			t.Fatal("a timer of an hour does not fire at an hour a second")
		}
		if early := at.Sub(monday) < time.Hour; early {
			t.Errorf("the timer fires at %s, before its hour is over", at)
		}
		if took < time.Second {
			t.Errorf("an hour passed in %s, want 1s at least", took)
		}
		c.Run(0)
		stood := c.Now()
		time.Sleep(10 * time.Millisecond)
		if now := c.Now(); !now.Equal(stood) {
			t.Errorf("a stopped clock went on from %s to %s", stood, now)
		}
	})
}

func TestRunsToAnInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate = 3600 * 24 // a day a second
		c := simclock.New(monday)
		noon := monday.Add(12 * time.Hour)
		at, after := c.NewTimer(12*time.Hour), c.NewTimer(12*time.Hour+1)
		c.RunTo(noon, rate)
		if fired, ok := got(at.C(), time.Minute); !ok || !fired.Equal(noon) {
			t.Fatalf("a timer of the instant at which the clock stops fires: %v at %s, want at %s", ok, fired, noon)
		}
		if _, ok := got(after.C(), 50*time.Millisecond); ok || !c.Now().Equal(noon) {
			t.Errorf("the clock went on to %s, a nanosecond's timer fired: %v; want it to stand at %s", c.Now(), ok, noon)
		}

		c.RunTo(noon, rate) // where it already stands
		if _, ok := got(after.C(), 20*time.Millisecond); ok || !c.Now().Equal(noon) {
			t.Errorf("told to run to where it stands, the clock went on to %s", c.Now())
		}
		one := c.NewTimer(time.Hour)
		c.RunTo(noon.Add(time.Hour), rate)
		if _, ok := got(after.C(), time.Minute); !ok {
			t.Error("the clock does not go on after it stood")
		}
		if _, ok := got(one.C(), time.Minute); !ok {
			t.Error("the clock does not reach the second instant")
		}
		c.Set(noon)
		if now := c.Now(); !now.Equal(noon) {
			t.Errorf("set back after it stood, the clock shows %s, want it to stand at %s", now, noon)
		}
		time.Sleep(time.Millisecond)
		if now := c.Now(); !now.Equal(noon) {
			t.Errorf("set back after it stood, the clock runs: %s", now)
		}

		c.RunTo(noon.Add(time.Hour), rate)
		c.Set(noon.Add(2 * time.Hour)) // behind the instant
		time.Sleep(time.Millisecond)
		if now := c.Now(); !now.Equal(noon.Add(2 * time.Hour)) {
			t.Errorf("set behind the instant, the clock shows %s", now)
		}
		c.RunTo(noon.Add(3*time.Hour), rate)
		c.Run(rate)
		far := c.NewTimer(6 * time.Hour)
		if _, ok := got(far.C(), time.Minute); !ok {
			t.Error("Run does not forget the instant")
		}
	})
}

func TestClockJumpFiresDueTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := simclock.New(monday)
		near, far := c.NewTimer(time.Hour), c.NewTimer(30*time.Hour)
		c.Set(monday.Add(24 * time.Hour))
		if at, ok := got(near.C(), time.Minute); !ok || !at.Equal(monday.Add(24*time.Hour)) {
			t.Errorf("a timer that the jump passed fires: %v at %s", ok, at)
		}
		if _, ok := got(far.C(), 20*time.Millisecond); ok {
			t.Error("a timer that the jump did not reach fires")
		}
		if since := c.Since(monday); since != 24*time.Hour {
			t.Errorf("since the start: %s, want 24h", since)
		}
	})
}

func TestStopAndReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := simclock.New(monday)
		timer := c.NewTimer(time.Hour)
		if !timer.Stop() {
			t.Error("stopping a waiting timer says that it was not waiting")
		}
		c.Set(monday.Add(2 * time.Hour))
		if _, ok := got(timer.C(), 20*time.Millisecond); ok {
			t.Error("a stopped timer fires")
		}
		if timer.Reset(time.Hour) {
			t.Error("resetting a stopped timer says that it was waiting")
		}
		c.Set(monday.Add(3 * time.Hour))
		// The timer has fired without a receiver; a reset discards that.
		if timer.Reset(time.Hour) {
			t.Error("resetting a timer that has fired says that it was waiting")
		}
		if at, ok := got(timer.C(), 20*time.Millisecond); ok {
			t.Errorf("a reset timer still has the value %s from before", at)
		}
		c.Set(monday.Add(4 * time.Hour))
		if _, ok := got(timer.C(), time.Minute); !ok {
			t.Error("a reset timer does not fire")
		}
	})
}

func TestTickerDropsUnreceivedTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := simclock.New(monday)
		ticker := c.NewTicker(time.Hour)
		c.Set(monday.Add(5*time.Hour + 30*time.Minute))
		if at, ok := got(ticker.C(), time.Minute); !ok || !at.Equal(monday.Add(5*time.Hour+30*time.Minute)) {
			t.Errorf("tick: %v at %s, want one at the jump's end", ok, at)
		}
		if _, ok := got(ticker.C(), 20*time.Millisecond); ok {
			t.Error("ticks that were missed come later")
		}
		c.Set(monday.Add(6 * time.Hour))
		if _, ok := got(ticker.C(), time.Minute); !ok {
			t.Error("the tick of the sixth hour does not come")
		}
		ticker.Stop()
		c.Set(monday.Add(8 * time.Hour))
		if _, ok := got(ticker.C(), 20*time.Millisecond); ok {
			t.Error("a stopped ticker ticks")
		}
		c.Run(36_000)
		fast := c.NewTicker(time.Hour)
		defer fast.Stop()
		for i := range 3 {
			if _, ok := got(fast.C(), time.Minute); !ok {
				t.Fatalf("tick %d of a running clock does not come", i)
			}
		}
	})
}

func TestTickerRefusesNoInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("a ticker without an interval is made")
			}
		}()
		simclock.New(monday).NewTicker(0)
	})
}

func TestSleepFollowsTheSimulatedClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := simclock.New(monday)
		c.Run(60_000)
		c.Sleep(time.Minute)
		if c.Since(monday) < time.Minute {
			t.Error("Sleep returned early")
		}
		if _, ok := got(c.Tick(time.Minute), time.Minute); !ok {
			t.Error("Tick does not tick")
		}
	})
}
