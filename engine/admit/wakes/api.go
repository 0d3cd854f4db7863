// Package wakes keeps targets awake over HTTP, for people and pipelines without the right to edit workloads. A caller
// needs a token known to the API server and the verb wake on every schedule that decides about the target. The API sets
// the annotation awake-until, as kubectl flyball wake does, and nothing else. The manager then decides as usual.
package wakes

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/admit/freezecheck"
	"flyball.dev/flyball/engine/admit/front"
	"flyball.dev/flyball/engine/admit/limits"
	"flyball.dev/flyball/engine/world"
)

// Path is the path of the API.
const Path = "/v1alpha1/wakes"

const (
	// maxBody is the maximum size of a request in bytes.
	maxBody = 8 << 10
	// answerTime limits the time of an answer after the body has arrived, without the wait for targets.
	answerTime = 10 * time.Second
	// maxWorking is the maximum number of requests that look for targets at a time.
	maxWorking = 2
)

// EventCreator creates the events of one namespace.
type EventCreator interface {
	Create(ctx context.Context, event *eventsv1.Event, opts metav1.CreateOptions) (*eventsv1.Event, error)
}

// Options configure the API.
type Options struct {
	World *world.World
	// Court judges the edit of an object as an edit by the caller.
	Court *freezecheck.Evaluator
	// KindOf returns the resource of a kind. It returns false if the kind has no adapter.
	KindOf func(schema.GroupKind) (freezecheck.Kind, bool)
	// Client reads and annotates objects with the manager's rights. Events creates the events of a namespace.
	Client dynamic.Interface
	Events func(namespace string) EventCreator
	// Front authenticates callers and limits their rate.
	Front front.Options
	// Clock is the time from which a wake counts.
	Clock clock.PassiveClock
	// Ready returns the reason why nothing can be decided yet. Stopping reports whether the manager was asked to stop.
	Ready    func(*http.Request) error
	Stopping func() bool
	Metrics  *Metrics
	Log      logr.Logger
}

// api is the handler.
type api struct {
	Options
	gate    *front.Gate
	working chan struct{}
	streams *streams
}

// New returns the handler of Path.
func New(o Options) http.Handler {
	o.Front.Impersonation = "the caller itself needs the right to wake"
	return &api{Options: o, gate: front.New(o.Front), working: make(chan struct{}, maxWorking), streams: newStreams()}
}

// ServeHTTP implements http.Handler. It authenticates the caller before it reads the body.
func (a *api) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost && req.Method != http.MethodDelete {
		w.Header().Set("Allow", "POST, DELETE")
		front.TurnAway(w, req, limits.Faultf(http.StatusMethodNotAllowed, "POST keeps awake, and DELETE ends that"))
		return
	}
	caller, err := a.gate.Admit(req)
	if err != nil {
		front.TurnAway(w, req, err)
		return
	}
	body, err := readBody(w, req)
	if err != nil {
		front.TurnAway(w, req, err)
		return
	}
	wanted, err := decode(req.Method, body, a.Clock.Now())
	if err != nil {
		front.TurnAway(w, req, limits.Faultf(http.StatusBadRequest, "%v", err))
		return
	}
	done, err := a.serve(req, caller, wanted)
	a.Metrics.count(wanted, err)
	if err != nil {
		front.TurnAway(w, req, err)
		return
	}
	if wanted.Wait {
		a.stream(w, req, caller, done)
		return
	}
	a.send(w, "application/json", done.Answer)
}

// readBody reads a small body in a short time.
func readBody(w http.ResponseWriter, req *http.Request) ([]byte, error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(limits.BodyTime)) // a test's recorder has no deadline
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, limits.Faultf(http.StatusRequestEntityTooLarge, "the request has more than %d bytes", maxBody)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &limits.Fault{Code: http.StatusServiceUnavailable, Err: errors.New("the request has not come in time"), Again: time.Second}
	case err != nil:
		return nil, limits.Faultf(http.StatusBadRequest, "read the request: %v", err)
	}
	// The server reads on to notice that the client has gone.
	return body, control.SetReadDeadline(time.Time{})
}

// outcome is a done request.
type outcome struct {
	Answer
	reached []target
}

// serve does what a request asks for, except the wait.
func (a *api) serve(req *http.Request, caller *authenticationv1.UserInfo, wanted *Request) (*outcome, error) {
	ctx, cancel := context.WithTimeout(req.Context(), answerTime)
	defer cancel()
	if err := a.Ready(req); err != nil {
		return nil, &limits.Fault{Code: http.StatusServiceUnavailable, Err: err, Again: time.Second}
	}
	place, err := wanted.place(a.KindOf)
	if err != nil {
		return nil, limits.Faultf(http.StatusUnprocessableEntity, "%v", err)
	}
	found, err := a.find(ctx, place)
	if err != nil {
		return nil, err
	}
	if err := a.authorize(ctx, caller, found); err != nil {
		return nil, err
	}
	if err := found.check(wanted, a.Clock.Now()); err != nil {
		return nil, limits.Faultf(http.StatusUnprocessableEntity, "%v", err)
	}
	if wanted.Wait && !a.streams.hasRoom(caller.Username) {
		return nil, &limits.Fault{Code: http.StatusTooManyRequests, Err: errors.New("too many waits at once: ask without wait"),
			Again: time.Minute}
	}
	if err := a.write(ctx, caller, place, wanted); err != nil {
		return nil, err
	}
	return &outcome{Answer: found.answer(caller.Username, wanted), reached: found.targets}, nil
}

// send writes an answer as one line of JSON.
func (a *api) send(w http.ResponseWriter, contentType string, answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		a.Log.Error(err, "Failed to encode an answer of the wake API")
		return
	}
	w.Header().Set("Content-Type", contentType)
	if _, err := w.Write(append(text, '\n')); err != nil {
		a.Log.V(1).Info("a caller of the wake API has not waited for the answer", "reason", err.Error())
	}
}
