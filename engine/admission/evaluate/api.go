package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/admission/rights"
)

// Path is the path for posting reviews.
const Path = "/v1alpha1/freezereviews"

const (
	// maxGroups limits the groups in a review, because each needs a call of the API server.
	maxGroups = 32
	// answerTime limits the time of an answer after the body has arrived.
	answerTime = 10 * time.Second
)

// Options configure the API.
type Options struct {
	Court *Evaluator
	// KindOf returns the resource of a kind. It returns false if the kind has no adapter.
	KindOf func(schema.GroupKind) (Served, bool)
	// Tokens and Rights call the API server.
	Tokens TokenReviewer
	Rights rights.AccessReviewer
	// Audiences are the accepted audiences of tokens. Without any, the audiences of the API server are accepted.
	Audiences []string
	// Rate is the number of reviews per second and user. The burst is ten times the rate.
	Rate float64
	// Clock is the time of a review without spec.at. Pace is the clock of rate limits and caches.
	Clock, Pace clock.PassiveClock
	// Ready returns the reason why no change can be judged yet. It may be nil.
	Ready func(*http.Request) error
	Log   logr.Logger
}

// api is the handler.
type api struct {
	Options
	callers *Callers
	// bounded reads the body within the bounds and answers.
	bounded http.Handler
	// comparing is held while a manifest is compared with the live object. Only one comparison runs at a time, so that
	// the API uses at most one core.
	comparing chan struct{}
}

// New returns the handler of Path.
func New(o Options) http.Handler {
	callers := NewCallers(CallerOptions{Tokens: o.Tokens, Rights: o.Rights, Audiences: o.Audiences, Rate: o.Rate, Pace: o.Pace,
		Impersonation: "name the author of the change in spec.user and spec.groups"})
	a := &api{Options: o, callers: callers, comparing: make(chan struct{}, 1)}
	a.bounded = review.New(http.HandlerFunc(a.answer), o.Log)
	return a
}

type callerKey struct{}

// callerOf returns the authenticated caller.
func callerOf(ctx context.Context) *authenticationv1.UserInfo {
	return ctx.Value(callerKey{}).(*authenticationv1.UserInfo)
}

// ServeHTTP implements http.Handler. It authenticates the caller before it reads the body.
func (a *api) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		TurnAway(w, req, review.Faultf(http.StatusMethodNotAllowed, "post a %s", Kind))
		return
	}
	caller, err := a.callers.Admit(req)
	if err != nil {
		TurnAway(w, req, err)
		return
	}
	a.bounded.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), callerKey{}, caller)))
}

// answer answers a review whose body is within the bounds.
func (a *api) answer(w http.ResponseWriter, req *http.Request) {
	ctx, cancel := context.WithTimeout(req.Context(), answerTime)
	defer cancel()
	body, err := review.ReadBody(w, req)
	if err != nil {
		TurnAway(w, req, err)
		return
	}
	review, err := a.review(ctx, req, body)
	if err != nil {
		TurnAway(w, req, err)
		return
	}
	text, err := json.Marshal(review)
	if err != nil {
		TurnAway(w, req, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(append(text, '\n')); err != nil {
		a.Log.V(1).Info("a pipeline has not waited for its answer", "reason", err.Error())
	}
}

// review parses a review and returns it with its answer.
func (a *api) review(ctx context.Context, req *http.Request, body []byte) (*Review, error) {
	caller := callerOf(ctx)
	r, err := decode(body)
	if err != nil {
		return nil, review.Faultf(http.StatusBadRequest, "%v", err)
	}
	q, err := r.Spec.question(a.KindOf)
	if err != nil {
		return nil, review.Faultf(http.StatusUnprocessableEntity, "%v", err)
	}
	if err := a.authorize(ctx, caller, q.Target); err != nil {
		return nil, err
	}
	if q.User, err = a.subject(ctx, caller, &r.Spec); err != nil {
		return nil, err
	}
	if q.At = a.Clock.Now(); r.Spec.At != nil {
		q.At = *r.Spec.At
	}
	if a.Ready != nil {
		if err := a.Ready(req); err != nil {
			return nil, &review.Fault{Code: http.StatusServiceUnavailable, Err: err, Again: time.Second}
		}
	}
	if q.Manifest != nil {
		select {
		case a.comparing <- struct{}{}:
			defer func() { <-a.comparing }()
		case <-ctx.Done():
			return nil, &review.Fault{Code: http.StatusTooManyRequests, Err: errors.New("too many manifests at once"), Again: time.Second}
		}
	}
	answer, err := a.Court.Answer(ctx, q)
	if wrong := (*UnanswerableError)(nil); errors.As(err, &wrong) {
		return nil, review.Faultf(http.StatusUnprocessableEntity, "%v", err)
	}
	if err != nil {
		return nil, fmt.Errorf("judge the change of %s: %w", q.Target.Ref, err)
	}
	r.Spec.Manifest, r.Status = nil, &answer
	return r, nil
}
