package target

import (
	"math/rand/v2"
	"time"

	"k8s.io/client-go/util/workqueue"

	"flyball.dev/flyball/engine/workload"
)

// behindMin is the first pause after a write to an object that has changed or gone since it was read. The watch has brought
// what it is now by then, unless the watch does not work.
const behindMin = 50 * time.Millisecond

// backoff gives each target pauses that double from try to try up to a limit. Up to a fifth is taken off at random, so that
// targets that failed together do not come back together.
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
