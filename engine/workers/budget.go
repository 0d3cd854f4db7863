package workers

import (
	"sync"
	"time"
)

// burst is for how many seconds of writes a budget saves up.
const burst = 5

// longestWait is how long a target waits for the budget at most: then it asks again.
const longestWait = time.Minute

// Budget is how many writes may be made in a second.
type Budget struct {
	mu sync.Mutex
	// rate is how many writes come in a second, saved how many have been saved up until counted.
	rate, saved float64
	counted     time.Time
	// next is when the last of those that wait may try again.
	next time.Time
}

// NewBudget makes a Budget of so many writes a second, which has saved up as many as it can.
func NewBudget(rate float64) *Budget { return &Budget{saved: burst * rate, rate: rate} }

// SetRate changes how many writes come in a second.
func (b *Budget) SetRate(rate float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rate = rate
}

// Take takes one write out of the budget, or says how long to wait for it. Those that wait try one after the other, as fast as writes come.
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
