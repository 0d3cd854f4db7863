package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	freezeadmission "flyball.dev/flyball/engine/admission/freeze"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// User is the author of a change.
type User struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups,omitempty"`
}

// Target is an object, which need not exist. Resource is empty if the kind has no adapter.
type Target struct {
	workload.Ref
	Resource schema.GroupVersionResource
}

// ObjectReader reads the current objects.
type ObjectReader interface {
	// Object returns an object as JSON, or nil if it does not exist.
	Object(ctx context.Context, t Target) ([]byte, error)
}

// Inquiry asks for the verdict on a change. Exactly one of Action, Manifest and Patch is set.
type Inquiry struct {
	Target Target
	// Action is an action on the current object.
	Action workload.Change
	// Manifest is a manifest in JSON to apply. TargetOf returns its object.
	Manifest []byte
	// Patch is a merge patch of the current object.
	Patch []byte
	User  User
	At    time.Time
}

// whole reports whether the change is given as a whole object, and not as an action.
func (r *Inquiry) whole() bool { return r.Manifest != nil || r.Patch != nil }

// UnanswerableError is the error of an Inquiry without an answer, for example because its object does not exist.
type UnanswerableError struct{ Why string }

// Error implements error.
func (e *UnanswerableError) Error() string { return e.Why }

func unanswerable(format string, args ...any) error {
	return &UnanswerableError{Why: fmt.Sprintf(format, args...)}
}

// Evaluator answers requests with the judge of the admission webhook.
type Evaluator struct {
	Judge   *freezeadmission.Judge
	Objects ObjectReader
	// Exempt are the namespaces in which changes are never judged.
	Exempt []string
}

// Answer returns the verdict on a change. It returns an UnanswerableError if the request itself has no answer.
func (e *Evaluator) Answer(ctx context.Context, req Inquiry) (Answer, error) {
	switch {
	case (req.Action == 0) == !req.whole():
		return Answer{}, errors.New("judge a change: give an action, a manifest or a patch")
	case req.Target.Resource.Empty():
		return unjudged(req), nil
	}
	var raw []byte
	var err error
	if req.Target.Name != "" { // an object with generateName does not exist yet
		if raw, err = e.Objects.Object(ctx, req.Target); err != nil {
			return Answer{}, err
		}
	}
	before, after := raw, []byte(nil)
	switch {
	case req.Manifest != nil:
		if after, err = e.appliedTo(req, raw); err != nil {
			return Answer{}, err
		}
	case req.Action == workload.ChangeCreate:
		before, after = nil, nameOnly(req.Target)
	case raw != nil && req.Patch != nil:
		if after, err = jsonpatch.MergePatch(raw, req.Patch); err != nil {
			return Answer{}, fmt.Errorf("patch %s: %w", req.Target.Ref, err)
		}
	case raw == nil:
		return Answer{}, unanswerable("there is no %s: only its creation can be judged", req.Target.Ref)
	}
	var done freezeadmission.Judgement
	switch {
	case e.isExempt(req.Target):
		done = freezeadmission.Judgement{Request: freeze.UserChange{Actions: req.Action}, Verdict: freeze.Verdict{Allowed: true}}
	case req.whole() || req.Action == workload.ChangeCreate || req.Action == workload.ChangeDelete:
		done, err = e.review(ctx, req, before, after)
	default:
		done, err = e.Judge.AskActions(ctx, freezeadmission.Question{
			Resource: req.Target.Resource, Object: raw, Actions: req.Action, User: req.User.Name, Groups: req.User.Groups, Now: req.At,
		})
	}
	if err != nil {
		return Answer{}, err
	}
	return e.answer(req, done), nil
}

// appliedTo returns the object after the manifest is applied. live is nil if the object does not exist yet.
func (e *Evaluator) appliedTo(req Inquiry, live []byte) ([]byte, error) {
	if version, served := rawjson.GetBytes(req.Manifest, "apiVersion").Str, req.Target.Resource.GroupVersion().String(); version != served {
		return nil, unanswerable("%s is given as %s and judged as %s: write the manifest in that version", req.Target.Ref, version, served)
	}
	if live == nil {
		return req.Manifest, nil
	}
	after, err := applied(live, req.Manifest)
	if err != nil {
		return nil, unanswerable("compute the effect of applying %s: %v", req.Target.Ref, err)
	}
	return after, nil
}

// nameOnly returns an object of which only the name is known.
func nameOnly(t Target) []byte {
	raw, _ := json.Marshal(map[string]any{ // texts always have a JSON form
		"apiVersion": t.Resource.GroupVersion().String(), "kind": t.Kind,
		"metadata": map[string]string{"namespace": t.Namespace, "name": t.Name},
	})
	return raw
}

// review judges a change, given the whole object before and after it. For a creation, the argument before is nil. For
// a deletion, the argument after is nil.
func (e *Evaluator) review(ctx context.Context, req Inquiry, before, after []byte) (freezeadmission.Judgement, error) {
	operation := admissionv1.Update
	switch {
	case before == nil:
		operation = admissionv1.Create
	case after == nil:
		operation = admissionv1.Delete
	}
	resource := req.Target.Resource
	request := map[string]any{
		"uid": "evaluate", "operation": operation,
		"resource":  map[string]string{"group": resource.Group, "version": resource.Version, "resource": resource.Resource},
		"namespace": req.Target.Namespace, "name": req.Target.Name,
		"userInfo": map[string]any{"username": req.User.Name, "groups": req.User.Groups},
	}
	if before != nil {
		request["oldObject"] = json.RawMessage(before)
	}
	if after != nil {
		request["object"] = json.RawMessage(after)
	}
	body, err := json.Marshal(map[string]any{"apiVersion": admissionv1.SchemeGroupVersion.String(), "kind": "AdmissionReview",
		"request": request})
	if err != nil {
		return freezeadmission.Judgement{}, fmt.Errorf("encode the change of %s: %w", req.Target.Ref, err)
	}
	return e.Judge.Ask(ctx, body, req.At)
}

func (e *Evaluator) isExempt(t Target) bool {
	return t.Namespace != "" && slices.Contains(e.Exempt, t.Namespace)
}
