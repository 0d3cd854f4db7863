package rights

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
)

const (
	// maxAnswers is the number of cached answers. Each takes a few hundred bytes.
	maxAnswers = 4096
	// allowedFor and deniedFor are how long answers are cached. A user with a new right waits only briefly, and a user
	// who retries a denied request causes at most one round of checks a second.
	allowedFor = 5 * time.Second
	deniedFor  = time.Second
	// maxReviewing is the maximum number of parallel checks over all requests.
	maxReviewing = 32
)

// Reviews limits the parallel calls of an AccessReviewer and caches its answers for a few seconds. It is safe for
// concurrent use.
type Reviews struct {
	asked   AccessReviewer
	slots   chan struct{}
	answers *cache.LRUExpireCache
}

// NewReviews returns Reviews for an AccessReviewer.
func NewReviews(asked AccessReviewer, now clock.PassiveClock) *Reviews {
	return &Reviews{asked: asked, slots: make(chan struct{}, maxReviewing), answers: cache.NewLRUExpireCacheWithClock(maxAnswers, now)}
}

// Create implements AccessReviewer. The returned review has only status.allowed.
func (r *Reviews) Create(ctx context.Context, review *authorizationv1.SubjectAccessReview,
	opts metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	text, err := json.Marshal(review.Spec) // every input of the answer, with sorted keys
	if err != nil {
		return nil, fmt.Errorf("encode the question: %w", err)
	}
	key := sha256.Sum256(text)
	answer := &authorizationv1.SubjectAccessReview{Spec: review.Spec}
	if known, ok := r.answers.Get(key); ok {
		answer.Status.Allowed = known.(bool)
		return answer, nil
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	fresh, err := r.asked.Create(ctx, review, opts)
	if err != nil {
		return nil, err
	}
	answer.Status.Allowed = fresh.Status.Allowed
	life := deniedFor
	if answer.Status.Allowed {
		life = allowedFor
	}
	r.answers.Add(key, answer.Status.Allowed, life)
	return answer, nil
}
