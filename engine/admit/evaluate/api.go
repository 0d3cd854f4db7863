package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/admit"
	"flyball.dev/flyball/engine/admit/freezecheck"
	"flyball.dev/flyball/engine/admit/gate"
	"flyball.dev/flyball/engine/workload"
)

// Path is where reviews are posted.
const Path = "/v1alpha1/freezereviews"

const (
	// maxGroups is how many groups a review may name: each is a question to the API server.
	maxGroups = 32
	// answerTime is how long an answer may take once the body is there.
	answerTime = 10 * time.Second
)

// Options say whom the API answers, and how.
type Options struct {
	Court *freezecheck.Evaluator
	// KindOf says how a kind is served; false: no adapter speaks of it.
	KindOf func(schema.GroupKind) (freezecheck.Kind, bool)
	// Tokens and Rights ask the API server.
	Tokens TokenReviewer
	Rights admit.AccessReviewer
	// Audiences are those of which a token has to be for one; none: those of the API server.
	Audiences []string
	// Rate is how many reviews a second a user may ask for; a burst has ten times as many.
	Rate float64
	// Clock says what now is for a review that does not say when. Pace measures the rate and how long answers of the API server count.
	Clock, Pace clock.PassiveClock
	// Ready says why nothing can be judged yet. It may be nil.
	Ready func(*http.Request) error
	Log   logr.Logger
}

// api is the handler.
type api struct {
	Options
	callers *callers
	limits  *limits
	// bounded reads the body within bounds, and answers.
	bounded http.Handler
	// comparing has whose manifest is compared with the live object: one at a time, so that it takes no more than one core.
	comparing chan struct{}
}

// New makes the handler of Path.
func New(o Options) http.Handler {
	a := &api{Options: o, callers: newCallers(o.Tokens, o.Audiences, o.Pace), limits: newLimits(o.Rate, o.Pace), comparing: make(chan struct{}, 1)}
	a.Rights = admit.NewReviews(o.Rights, o.Pace)
	a.bounded = gate.Bound(http.HandlerFunc(a.answer), func(req *http.Request) string { return callerOf(req.Context()).Username }, o.Log)
	return a
}

type callerKey struct{}

// callerOf is who asks, once that is known.
func callerOf(ctx context.Context) *authenticationv1.UserInfo {
	return ctx.Value(callerKey{}).(*authenticationv1.UserInfo)
}

// ServeHTTP implements http.Handler. Who asks is known before anything of the body is read.
func (a *api) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		turnAway(w, req, gate.Faultf(http.StatusMethodNotAllowed, "post a %s", Kind))
		return
	}
	for name := range req.Header {
		if strings.HasPrefix(name, "Impersonate-") { // API servers take it to say who makes the change; without it the verdict would be on somebody else
			turnAway(w, req, gate.Faultf(http.StatusBadRequest, "the header %s means nothing here: spec.user and spec.groups say who makes the change", workload.OneLine(name, gate.MaxRefusal)))
			return
		}
	}
	caller, err := a.callers.of(req)
	if err != nil {
		turnAway(w, req, err)
		return
	}
	gate.Known(req)
	if wait := a.limits.take(caller.Username); wait > 0 {
		turnAway(w, req, &gate.Fault{Code: http.StatusTooManyRequests, Err: fmt.Errorf("user %q asks too often", workload.OneLine(caller.Username, gate.MaxRefusal)), Again: wait})
		return
	}
	a.bounded.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), callerKey{}, caller)))
}

const (
	// drained is how much of a body is let come that nobody reads, in bytes, and drainTime how long that may take.
	drained   = 64 << 10
	drainTime = 500 * time.Millisecond
)

// turnAway answers why there is no verdict, in one line of text. It lets a small body come to its end before: a client that is still
// sending it may find the connection closed, and say that instead of the answer.
func turnAway(w http.ResponseWriter, req *http.Request, err error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainTime)) // a test's recorder has none
	_, _ = io.CopyN(io.Discard, req.Body, drained)
	if gate.CodeOf(err) == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	gate.TurnAway(w, err)
}

// answer answers a review whose body is known to be within bounds.
func (a *api) answer(w http.ResponseWriter, req *http.Request) {
	ctx, cancel := context.WithTimeout(req.Context(), answerTime)
	defer cancel()
	body, err := gate.ReadBody(w, req)
	if err != nil {
		turnAway(w, req, err)
		return
	}
	review, err := a.review(ctx, req, body)
	if err != nil {
		turnAway(w, req, err)
		return
	}
	text, err := json.Marshal(review)
	if err != nil {
		turnAway(w, req, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(append(text, '\n')); err != nil {
		a.Log.V(1).Info("a pipeline has not waited for its answer", "reason", err.Error())
	}
}

// review reads a review and gives it back with its answer.
func (a *api) review(ctx context.Context, req *http.Request, body []byte) (*Review, error) {
	caller := callerOf(ctx)
	r, err := decode(body)
	if err != nil {
		return nil, gate.Faultf(http.StatusBadRequest, "%v", err)
	}
	q, err := r.Spec.question(a.KindOf)
	if err != nil {
		return nil, gate.Faultf(http.StatusUnprocessableEntity, "%v", err)
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
			return nil, &gate.Fault{Code: http.StatusServiceUnavailable, Err: err, Again: time.Second}
		}
	}
	if q.Manifest != nil {
		select {
		case a.comparing <- struct{}{}:
			defer func() { <-a.comparing }()
		case <-ctx.Done():
			return nil, &gate.Fault{Code: http.StatusTooManyRequests, Err: errors.New("too many manifests at once"), Again: time.Second}
		}
	}
	answer, err := a.Court.Answer(ctx, q)
	if wrong := (*freezecheck.UnanswerableError)(nil); errors.As(err, &wrong) {
		return nil, gate.Faultf(http.StatusUnprocessableEntity, "%v", err)
	}
	if err != nil {
		return nil, fmt.Errorf("judge the change of %s: %w", q.Target.Ref, err)
	}
	r.Spec.Manifest, r.Status = nil, &answer
	return r, nil
}
