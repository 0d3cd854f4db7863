package evaluate

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/admission/review"
)

const (
	// maxToken is the maximum length of a token in bytes. Tokens of service accounts have about one thousand.
	maxToken = 16 << 10
	// maxKnown is the number of cached tokens, by hash. knownFor is the time for which a token is cached; it equals the
	// default of API servers.
	maxKnown = 1024
	knownFor = 10 * time.Second
	// maxAsking is the maximum number of parallel token reviews. Callers with unknown tokens can use all of them and
	// block this API, but no other part of Flyball. askTime is the time limit of a token review, including the wait for
	// a place.
	maxAsking = 8
	askTime   = 5 * time.Second
)

// TokenReviewer authenticates tokens.
type TokenReviewer interface {
	Create(ctx context.Context, review *authenticationv1.TokenReview, opts metav1.CreateOptions) (*authenticationv1.TokenReview, error)
}

// tokens authenticates callers by token reviews of the API server.
type tokens struct {
	reviewer  TokenReviewer
	audiences []string
	slots     chan struct{}
	known     *cache.LRUExpireCache
}

func newTokens(reviewer TokenReviewer, audiences []string, pace clock.PassiveClock) *tokens {
	return &tokens{reviewer: reviewer, audiences: audiences, slots: make(chan struct{}, maxAsking),
		known: cache.NewLRUExpireCacheWithClock(maxKnown, pace)}
}

// of returns the sender of a request, or an error if the API server does not accept the token.
func (c *tokens) of(req *http.Request) (*authenticationv1.UserInfo, error) {
	scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken {
		return nil, review.Faultf(http.StatusUnauthorized, "give a token of the cluster: Authorization: Bearer TOKEN")
	}
	key := sha256.Sum256([]byte(token))
	if user, ok := c.known.Get(key); ok {
		return user.(*authenticationv1.UserInfo), nil
	}
	ctx, cancel := context.WithTimeout(req.Context(), askTime)
	defer cancel()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, &review.Fault{Code: http.StatusTooManyRequests, Err: errors.New("too many tokens at once"), Again: time.Second}
	}
	answer, err := c.reviewer.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token,
		Audiences: c.audiences}}, metav1.CreateOptions{})
	if err != nil {
		return nil, &review.Fault{Code: http.StatusServiceUnavailable, Err: errors.New("the API server cannot be asked whose token this is"),
			Again: time.Second}
	}
	if !answer.Status.Authenticated || answer.Status.User.Username == "" || !c.meant(answer.Status.Audiences) {
		return nil, review.Faultf(http.StatusUnauthorized, "the API server does not know this token")
	}
	c.known.Add(key, &answer.Status.User, knownFor)
	return &answer.Status.User, nil
}

// meant reports whether a reviewed token is for one of the audiences. An API server without support for audiences
// returns no audiences.
func (c *tokens) meant(audiences []string) bool {
	return len(c.audiences) == 0 || slices.ContainsFunc(audiences, func(a string) bool { return slices.Contains(c.audiences, a) })
}
