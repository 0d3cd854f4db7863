package admit

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
	// maxAnswers is how many answers are remembered, a few hundred bytes each.
	maxAnswers = 4096
	// allowedFor and deniedFor are how long they are. Who was refused and has got the right does not wait for long; who goes on trying
	// costs the API server no more than one round of questions a second.
	allowedFor = 5 * time.Second
	deniedFor  = time.Second
	// maxReviewing is how many questions are asked side by side, over all requests.
	maxReviewing = 32
)

// Reviews asks another reviewer, with a bound on how much is asked at once, and remembers the answers for a few seconds. It is
// safe for concurrent use.
type Reviews struct {
	asked   AccessReviewer
	slots   chan struct{}
	answers *cache.LRUExpireCache
}

// NewReviews makes Reviews that ask another reviewer.
func NewReviews(asked AccessReviewer, now clock.PassiveClock) *Reviews {
	return &Reviews{asked: asked, slots: make(chan struct{}, maxReviewing), answers: cache.NewLRUExpireCacheWithClock(maxAnswers, now)}
}

// Create implements AccessReviewer. Of the answer only status.allowed is given.
func (r *Reviews) Create(ctx context.Context, review *authorizationv1.SubjectAccessReview, opts metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	text, err := json.Marshal(review.Spec) // everything that an answer depends on, with the keys of maps in order
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
