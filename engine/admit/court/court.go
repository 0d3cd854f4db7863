// Package court says whether freezes let somebody make a change: an action on an object that exists, or what applying a manifest
// would be. It puts the change to the admission server's own judge, so that the answer is the webhook's: nothing of the judging is
// done here. The command line asks it over a world that was read before, the evaluate API over the world of the manager.
package court

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/gjson"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/admit"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// User asks for a change.
type User struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups,omitempty"`
}

// Target is an object, which need not exist. Resource is empty where no adapter speaks of its kind.
type Target struct {
	workload.Ref
	Resource schema.GroupVersionResource
}

// Objects reads objects as they are now.
type Objects interface {
	// Object gives an object as JSON; nil: there is none.
	Object(ctx context.Context, t Target) ([]byte, error)
}

// Question asks for the verdict on one change. Exactly one of Action and Manifest is given.
type Question struct {
	Target Target
	// Action is done to the object as it is.
	Action workload.Change
	// Manifest is applied as JSON; TargetOf says of which object.
	Manifest []byte
	User     User
	At       time.Time
}

// UnanswerableError says that a question has no answer, because of what it asks.
type UnanswerableError struct{ Why string }

// Error implements error.
func (e *UnanswerableError) Error() string { return e.Why }

func unanswerable(format string, args ...any) error {
	return &UnanswerableError{Why: fmt.Sprintf(format, args...)}
}

// Court judges changes.
type Court struct {
	Judge   *admit.Judge
	Objects Objects
	// Exempt are the namespaces in which nothing is ever judged.
	Exempt []string
}

// Answer gives the verdict on a change. An error of type UnanswerableError lies in the question.
func (c *Court) Answer(ctx context.Context, q Question) (Answer, error) {
	switch {
	case (q.Action == 0) == (q.Manifest == nil):
		return Answer{}, errors.New("judge a change: give an action or a manifest")
	case q.Target.Resource.Empty():
		return unjudged(q), nil
	}
	var raw []byte
	var err error
	if q.Target.Name != "" { // what is given a name when it is created does not exist yet
		if raw, err = c.Objects.Object(ctx, q.Target); err != nil {
			return Answer{}, err
		}
	}
	before, after := raw, []byte(nil)
	switch {
	case q.Manifest != nil:
		if after, err = c.appliedTo(q, raw); err != nil {
			return Answer{}, err
		}
	case q.Action == workload.ChangeCreate:
		before, after = nil, nameOnly(q.Target)
	case raw == nil:
		return Answer{}, unanswerable("there is no %s: only its creation can be judged", q.Target.Ref)
	}
	var done admit.Judgement
	switch {
	case c.isExempt(q.Target):
		done = admit.Judgement{Request: freeze.Request{Actions: q.Action}, Verdict: freeze.Verdict{Allowed: true}}
	case q.Manifest != nil || q.Action == workload.ChangeCreate || q.Action == workload.ChangeDelete:
		done, err = c.review(ctx, q, before, after)
	default:
		done, err = c.Judge.AskActions(ctx, admit.Question{
			Resource: q.Target.Resource, Object: raw, Actions: q.Action, User: q.User.Name, Groups: q.User.Groups, Now: q.At,
		})
	}
	if err != nil {
		return Answer{}, err
	}
	return c.answer(q, done), nil
}

// appliedTo is the object once the manifest is applied to it; nil: it does not exist yet.
func (c *Court) appliedTo(q Question, live []byte) ([]byte, error) {
	if version, served := gjson.GetBytes(q.Manifest, "apiVersion").Str, q.Target.Resource.GroupVersion().String(); version != served {
		return nil, unanswerable("%s is given as %s and judged as %s: write the manifest in that version", q.Target.Ref, version, served)
	}
	if live == nil {
		return q.Manifest, nil
	}
	after, err := applied(live, q.Manifest)
	if err != nil {
		return nil, unanswerable("work out what applying %s changes: %v", q.Target.Ref, err)
	}
	return after, nil
}

// nameOnly is an object of which nothing is known but its name.
func nameOnly(t Target) []byte {
	raw, _ := json.Marshal(map[string]any{ // texts always have a JSON form
		"apiVersion": t.Resource.GroupVersion().String(), "kind": t.Kind,
		"metadata": map[string]string{"namespace": t.Namespace, "name": t.Name},
	})
	return raw
}

// review has a change judged with the whole object before and after; nil where there is none.
func (c *Court) review(ctx context.Context, q Question, before, after []byte) (admit.Judgement, error) {
	operation := admissionv1.Update
	switch {
	case before == nil:
		operation = admissionv1.Create
	case after == nil:
		operation = admissionv1.Delete
	}
	resource := q.Target.Resource
	request := map[string]any{
		"uid": "evaluate", "operation": operation,
		"resource":  map[string]string{"group": resource.Group, "version": resource.Version, "resource": resource.Resource},
		"namespace": q.Target.Namespace, "name": q.Target.Name,
		"userInfo": map[string]any{"username": q.User.Name, "groups": q.User.Groups},
	}
	if before != nil {
		request["oldObject"] = json.RawMessage(before)
	}
	if after != nil {
		request["object"] = json.RawMessage(after)
	}
	body, err := json.Marshal(map[string]any{"apiVersion": admissionv1.SchemeGroupVersion.String(), "kind": "AdmissionReview", "request": request})
	if err != nil {
		return admit.Judgement{}, fmt.Errorf("encode the change of %s: %w", q.Target.Ref, err)
	}
	return c.Judge.Ask(ctx, body, q.At)
}

func (c *Court) isExempt(t Target) bool {
	return t.Namespace != "" && slices.Contains(c.Exempt, t.Namespace)
}
