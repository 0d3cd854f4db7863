// Package simclock is a clock whose time stands still, runs at any rate, forever or up to an instant, or jumps. Timers
// and tickers behave as with the machine's clock at rate 1: they fire once their instant has come by this clock, and
// never before.
package simclock

import (
	"math"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Clock is a clock.WithTicker. The zero value is not usable; New returns a Clock.
type Clock struct {
	mu sync.Mutex
	// base is the time of this clock at the machine's time anchor.
	base   time.Time
	anchor time.Time
	// rate is the number of seconds on this clock per second of the machine.
	rate float64
	// halt is the instant at which a running clock stops by itself. Zero means never.
	halt    time.Time
	waiting map[*timer]bool
}

var _ clock.WithTicker = (*Clock)(nil)

// New returns a clock that stands still at start.
func New(start time.Time) *Clock {
	return &Clock{base: start, anchor: time.Now(), waiting: map[*timer]bool{}}
}

// Run lets time pass at a rate: 1 is the machine's rate, 60 makes a minute pass in a second, 0 stops the clock.
func (c *Clock) Run(rate float64) {
	c.RunTo(time.Time{}, rate)
}

// RunTo lets time pass as Run does, until an instant at which the clock stops. It stops exactly at this instant, even
// on a slow machine. The zero instant means that the clock does not stop.
func (c *Clock) RunTo(halt time.Time, rate float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base, c.anchor, c.rate, c.halt = c.now(), time.Now(), rate, halt
	if c.halted(c.base) {
		c.rate, c.halt = 0, time.Time{}
	}
	c.armAll()
}

// Set moves the clock, which continues at its rate. A clock that stands at the instant of RunTo, or is set behind it,
// stands still.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.halted(c.now()) || c.halted(t) {
		c.rate, c.halt = 0, time.Time{}
	}
	c.base, c.anchor = t, time.Now()
	c.armAll()
}

// halted reports whether the clock stands still by itself at a time.
func (c *Clock) halted(t time.Time) bool { return !c.halt.IsZero() && !t.Before(c.halt) }

// Now returns the time of this clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *Clock) now() time.Time {
	t := c.base.Add(time.Duration(float64(time.Since(c.anchor)) * c.rate))
	if c.halted(t) {
		return c.halt
	}
	return t
}

// Since returns the time by this clock since an instant.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// After returns the channel of a new timer.
func (c *Clock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).C() }

// Sleep returns once the duration has passed by this clock.
func (c *Clock) Sleep(d time.Duration) { <-c.After(d) }

// Tick returns the channel of a new ticker.
func (c *Clock) Tick(d time.Duration) <-chan time.Time { return c.NewTicker(d).C() }

// NewTimer returns a timer that fires once the duration has passed by this clock.
func (c *Clock) NewTimer(d time.Duration) clock.Timer {
	t := &timer{clock: c, out: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

// NewTicker returns a ticker; missed ticks are dropped. Like the machine's, it panics for a duration that is not
// positive.
func (c *Clock) NewTicker(d time.Duration) clock.Ticker {
	if d <= 0 {
		panic("simclock: a ticker needs a positive interval")
	}
	t := &timer{clock: c, out: make(chan time.Time, 1), period: d}
	t.Reset(d)
	return ticker{t}
}

func (c *Clock) armAll() {
	for t := range c.waiting {
		t.arm()
	}
}

// timer is a timer, or a ticker if it has a period. The clock's lock guards it.
type timer struct {
	clock    *Clock
	out      chan time.Time
	deadline time.Time
	period   time.Duration
	// alarm is the machine's timer for this timer while the clock runs.
	alarm *time.Timer
}

// arm fires the timer if due, and otherwise sets the alarm. It may be called at any time: an alarm that comes too early
// after a change of the clock only sets another.
func (t *timer) arm() {
	if t.alarm != nil {
		t.alarm.Stop()
		t.alarm = nil
	}
	c := t.clock
	if !c.waiting[t] {
		return
	}
	now := c.now()
	if !now.Before(t.deadline) {
		select {
		case t.out <- now:
		default:
		}
		if t.period == 0 {
			delete(c.waiting, t)
			return
		}
		missed := now.Sub(t.deadline) / t.period
		t.deadline = t.deadline.Add((missed + 1) * t.period)
	}
	if c.rate > 0 && (c.halt.IsZero() || !t.deadline.After(c.halt)) {
		t.alarm = time.AfterFunc(realWait(t.deadline.Sub(now), c.rate), t.ring)
	}
}

// realWait returns the machine's duration for a duration of this clock, rounded up.
func realWait(d time.Duration, rate float64) time.Duration {
	wait := math.Ceil(float64(d) / rate)
	if wait >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(wait)
}

func (t *timer) ring() {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.arm()
}

// C implements clock.Timer.
func (t *timer) C() <-chan time.Time { return t.out }

// Stop implements clock.Timer. Nothing is received from the channel afterwards.
func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.stop()
}

func (t *timer) stop() bool {
	was := t.clock.waiting[t]
	delete(t.clock.waiting, t)
	t.arm()
	select {
	case <-t.out:
	default:
	}
	return was
}

// Reset implements clock.Timer. No earlier firing is received afterwards.
func (t *timer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	was := t.stop()
	t.deadline = t.clock.now().Add(d)
	t.clock.waiting[t] = true
	t.arm()
	return was
}

// ticker adapts a timer to clock.Ticker, whose Stop returns nothing.
type ticker struct{ timer *timer }

// C implements clock.Ticker.
func (t ticker) C() <-chan time.Time { return t.timer.out }

// Stop implements clock.Ticker.
func (t ticker) Stop() { t.timer.Stop() }
