package reconcile

import (
	"math/rand/v2"
	"time"

	"k8s.io/client-go/util/workqueue"

	"flyball.dev/flyball/engine/workload"
)

// behindMin is the first pause after a write failed because the object was changed or deleted since it was read. A
// working watch delivers the current form within this time.
const behindMin = 50 * time.Millisecond

// backoff gives each target pauses that double with each retry, up to a limit. A random part of at most a fifth is
// subtracted, so targets that failed together do not retry together.
type backoff struct {
	workqueue.TypedRateLimiter[workload.Ref]
}

func newBackoff(shortest, longest time.Duration) backoff {
	return backoff{workqueue.NewTypedItemExponentialFailureRateLimiter[workload.Ref](shortest, longest)}
}

// When implements workqueue.TypedRateLimiter.
func (b backoff) When(ref workload.Ref) time.Duration {
	pause := b.TypedRateLimiter.When(ref)
	return pause - rand.N(pause/5+1)
}
