package evaluate

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/admission/rights"
	"flyball.dev/flyball/engine/workload"
)

// CallerOptions configure Callers.
type CallerOptions struct {
	// Tokens and Rights call the API server.
	Tokens TokenReviewer
	Rights rights.AccessReviewer
	// Audiences are the accepted audiences of tokens. Without any, the audiences of the API server are accepted.
	Audiences []string
	// Rate is the number of requests per second and user. The burst is ten times the rate.
	Rate float64
	// Pace is the clock of rate limits and caches.
	Pace clock.PassiveClock
	// Impersonation is the advice in the refusal of a header such as Impersonate-User.
	Impersonation string
}

// Callers admits the callers of one API, which people and pipelines call. It authenticates each caller by a token review,
// limits the rate of each user, and asks the API server for rights.
type Callers struct {
	rights        rights.AccessReviewer
	tokens        *tokens
	rates         *rates
	impersonation string
}

// NewCallers returns Callers.
func NewCallers(o CallerOptions) *Callers {
	return &Callers{rights: rights.NewReviews(o.Rights, o.Pace), tokens: newTokens(o.Tokens, o.Audiences, o.Pace),
		rates: newRates(o.Rate, o.Pace), impersonation: o.Impersonation}
}

// Admit returns the caller of a request. It reads only the head of the request. The error is a review.Fault.
func (c *Callers) Admit(req *http.Request) (*authenticationv1.UserInfo, error) {
	for name := range req.Header {
		// API servers take the user from these headers. To ignore them here would act for the caller instead.
		if strings.HasPrefix(name, "Impersonate-") {
			return nil, review.Faultf(http.StatusBadRequest, "the header %s is not supported: %s",
				workload.OneLine(name, review.MaxRefusal), c.impersonation)
		}
	}
	caller, err := c.tokens.of(req)
	if err != nil {
		return nil, err
	}
	if wait := c.rates.take(caller.Username); wait > 0 {
		return nil, &review.Fault{Code: http.StatusTooManyRequests,
			Err: fmt.Errorf("user %q asks too often", workload.OneLine(caller.Username, review.MaxRefusal)), Again: wait}
	}
	return caller, nil
}

// May reports whether a caller has a right. An error is that of the API server.
func (c *Callers) May(ctx context.Context, caller *authenticationv1.UserInfo, what authorizationv1.ResourceAttributes) (bool, error) {
	held, err := rights.May(ctx, c.rights, *caller, what)
	if err != nil {
		return false, fmt.Errorf("ask the API server whether user %q may %s %s: %w", caller.Username, what.Verb, what.Resource, err)
	}
	return held, nil
}

// Need returns an error if a caller lacks a right. The words describe the right.
func (c *Callers) Need(ctx context.Context, caller *authenticationv1.UserInfo, what authorizationv1.ResourceAttributes,
	words string) error {
	held, err := c.May(ctx, caller, what)
	if err == nil && !held {
		err = review.Faultf(http.StatusForbidden, "user %q may not %s", caller.Username, words)
	}
	return err
}

const (
	// drained is the number of bytes of an unread body that are still read. drainTime is the time limit for reading
	// them.
	drained   = 64 << 10
	drainTime = 500 * time.Millisecond
)

// TurnAway answers with an error in one line of text. It first reads a small body to its end; otherwise a client that
// is still sending may report a closed connection instead of the answer.
func TurnAway(w http.ResponseWriter, req *http.Request, err error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainTime)) // a test's recorder has no deadline
	_, _ = io.CopyN(io.Discard, req.Body, drained)
	if review.CodeOf(err) == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	review.TurnAway(w, err)
}
