package workers

import (
	"sync"
	"time"
)

// burst is the number of seconds of writes that a budget can save.
const burst = 5

// longestWait bounds a target's wait for the budget. After this time the target asks for a write again.
const longestWait = time.Minute

// Budget is a limit of writes per second.
type Budget struct {
	mu sync.Mutex
	// rate is the number of writes per second. saved is the number of available writes at the time counted.
	rate, saved float64
	counted     time.Time
	// next is the time when the last waiting target may retry.
	next time.Time
}

// NewBudget returns a full Budget with the given writes per second.
func NewBudget(rate float64) *Budget { return &Budget{saved: burst * rate, rate: rate} }

// SetRate changes the writes per second.
func (b *Budget) SetRate(rate float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rate = rate
}

// Take takes one write from the budget, or returns the time to wait for it. Waiting targets retry one by one, at the
// rate of writes.
func (b *Budget) Take(now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.counted.IsZero() && now.After(b.counted) {
		b.saved += b.rate * now.Sub(b.counted).Seconds()
	}
	b.counted = now
	b.saved = min(b.saved, max(1, burst*b.rate))
	if b.saved >= 1 {
		b.saved--
		return 0
	}
	if first := now.Add(time.Duration((1 - b.saved) / b.rate * float64(time.Second))); b.next.Before(first) {
		b.next = first
	} else {
		b.next = b.next.Add(time.Duration(float64(time.Second) / b.rate))
	}
	if limit := now.Add(longestWait); b.next.After(limit) {
		b.next = limit
	}
	return b.next.Sub(now)
}
