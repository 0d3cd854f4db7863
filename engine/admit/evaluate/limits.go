package evaluate

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

const (
	// maxLimited is how many users are told apart; who has not asked for longest is forgotten, and begins with a full burst.
	maxLimited = 1024
	// burst is how many times the rate a user may ask for at once.
	burst = 10
)

// limits are how often users may ask.
type limits struct {
	rate float64
	pace clock.PassiveClock

	mu    sync.Mutex
	users *lru.Cache // of *rate.Limiter, by name
}

func newLimits(perSecond float64, pace clock.PassiveClock) *limits {
	return &limits{rate: perSecond, pace: pace, users: lru.New(maxLimited)}
}

// take counts a review of a user. It gives how long they have to wait before the next; zero: this one may go on.
func (l *limits) take(user string) time.Duration {
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
