package evaluate

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

const (
	// maxLimited is the number of users with a rate limiter. The user with the oldest request is dropped, and starts
	// with a full burst next time.
	maxLimited = 1024
	// burst is the burst as a multiple of the rate.
	burst = 10
)

// rates are the rate limits of users.
type rates struct {
	rate float64
	pace clock.PassiveClock

	mu    sync.Mutex
	users *lru.Cache // of *rate.Limiter, by name
}

func newRates(perSecond float64, pace clock.PassiveClock) *rates {
	return &rates{rate: perSecond, pace: pace, users: lru.New(maxLimited)}
}

// take counts a review of a user and returns the time to wait before the next attempt. Zero means that this review may
// proceed.
func (l *rates) take(user string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.users.Get(user)
	if !ok {
		known = rate.NewLimiter(rate.Limit(l.rate), max(1, int(l.rate*burst)))
		l.users.Add(user, known)
	}
	now := l.pace.Now()
	if known.(*rate.Limiter).AllowN(now, 1) {
		return 0
	}
	return time.Duration(float64(time.Second) / l.rate)
}
