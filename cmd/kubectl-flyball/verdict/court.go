// Package verdict says whether freezes let somebody make a change. It puts the change to the admission server's own judge, over a
// world that was read before, so that the answer is the webhook's: nothing of the judging is done here.
package verdict

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/tidwall/gjson"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/admit"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// User asks for a change.
type User struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups,omitempty"`
}

// Court judges changes in one world.
type Court struct {
	judge  *admit.Judge
	memory *world.Memory
	exempt []string
}

// NewCourt makes a court over a world. Flyball runs in the namespace given.
func NewCourt(memory *world.Memory, flyballNamespace string) *Court {
	return &Court{
		judge: &admit.Judge{
			Freezes: memory.World(), Objects: objects{memory}, Clock: clock.RealClock{}, Log: logr.Discard(),
		},
		memory: memory, exempt: admit.Exempt(flyballNamespace),
	}
}

// objects finds in memory what the judge would ask the API server for.
type objects struct{ memory *world.Memory }

// Metadata implements admit.Objects.
func (o objects) Metadata(_ context.Context, resource schema.GroupVersionResource, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	missing := apierrors.NewNotFound(resource.GroupResource(), name)
	found := o.memory.World().Adapter(resource.GroupResource())
	if found == nil {
		return nil, missing
	}
	raw := o.memory.Raw(workload.Ref{GroupKind: found.GroupKind(), Namespace: namespace, Name: name})
	if raw == nil {
		return nil, missing
	}
	object := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(raw, object); err != nil {
		return nil, fmt.Errorf("read the metadata of %s %s/%s: %w", resource.Resource, namespace, name, err)
	}
	return object, nil
}

// ErrNoObject says that there is no such object, so that nothing but its creation can be judged.
type ErrNoObject struct{ Ref workload.Ref }

// Error implements error.
func (e ErrNoObject) Error() string {
	return fmt.Sprintf("there is no %s: only its creation can be judged", e.Ref)
}

// Action judges an action on an object by somebody at an instant.
func (c *Court) Action(ctx context.Context, target source.Target, action workload.Change, user User, at time.Time) (Answer, error) {
	raw := c.memory.Raw(target.Ref)
	switch {
	case action == workload.ChangeCreate:
		return c.Review(ctx, Review{Target: target, After: nameOnly(target)}, user, at)
	case raw == nil:
		return Answer{}, ErrNoObject{target.Ref}
	case action == workload.ChangeDelete:
		return c.Review(ctx, Review{Target: target, Before: raw}, user, at)
	case c.isExempt(target):
		return c.answer(target, admit.Judgement{Request: freeze.Request{Actions: action}, Verdict: freeze.Verdict{Allowed: true}}, user, at), nil
	}
	done, err := c.judge.AskActions(ctx, admit.Question{
		Resource: target.Kind.Resource, Object: raw, Actions: action, User: user.Name, Groups: user.Groups, Now: at,
	})
	if err != nil {
		return Answer{}, err
	}
	return c.answer(target, done, user, at), nil
}

// nameOnly is an object of which nothing is known but its name.
func nameOnly(t source.Target) []byte {
	raw, _ := json.Marshal(map[string]any{ // texts always have a JSON form
		"apiVersion": t.Kind.Resource.GroupVersion().String(), "kind": t.GroupKind.Kind,
		"metadata": map[string]string{"namespace": t.Namespace, "name": t.Name},
	})
	return raw
}

// Review is a change with the whole object before and after; nil where there is none.
type Review struct {
	Target        source.Target
	Before, After []byte
	// Subresource is that of the request; empty: the object itself.
	Subresource string
}

// Review judges a change by somebody at an instant.
func (c *Court) Review(ctx context.Context, r Review, user User, at time.Time) (Answer, error) {
	if c.isExempt(r.Target) {
		return c.answer(r.Target, admit.Judgement{Verdict: freeze.Verdict{Allowed: true}}, user, at), nil
	}
	body, err := r.encode(user)
	if err != nil {
		return Answer{}, err
	}
	done, err := c.judge.Ask(ctx, body, at)
	if err != nil {
		return Answer{}, err
	}
	return c.answer(r.Target, done, user, at), nil
}

func (c *Court) isExempt(t source.Target) bool {
	return t.Namespace != "" && slices.Contains(c.exempt, t.Namespace)
}

// encode writes the review as an API server does.
func (r Review) encode(user User) ([]byte, error) {
	operation := admissionv1.Update
	switch {
	case r.Before == nil:
		operation = admissionv1.Create
	case r.After == nil:
		operation = admissionv1.Delete
	}
	resource := r.Target.Kind.Resource
	request := map[string]any{
		"uid": "cli", "operation": operation, "subResource": r.Subresource,
		"resource":  map[string]string{"group": resource.Group, "version": resource.Version, "resource": resource.Resource},
		"namespace": r.Target.Namespace, "name": r.Target.Name,
		"userInfo": map[string]any{"username": user.Name, "groups": user.Groups},
	}
	if r.Before != nil {
		request["oldObject"] = json.RawMessage(r.Before)
	}
	if r.After != nil {
		request["object"] = json.RawMessage(r.After)
	}
	body, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
	if err != nil {
		return nil, fmt.Errorf("encode the change of %s: %w", r.Target.Ref, err)
	}
	return body, nil
}

// TargetOf says which object a manifest is about; false: no adapter speaks of its kind, so that no freeze judges it.
func TargetOf(w *source.World, raw []byte, namespace string) (source.Target, bool) {
	root := gjson.ParseBytes(raw)
	gv, err := schema.ParseGroupVersion(root.Get("apiVersion").Str)
	if err != nil {
		return source.Target{}, false
	}
	gk := schema.GroupKind{Group: gv.Group, Kind: root.Get("kind").Str}
	for _, k := range w.Kinds {
		if k.GroupKind != gk {
			continue
		}
		t := source.Target{Kind: k, Ref: workload.Ref{GroupKind: gk, Name: root.Get("metadata.name").Str}}
		if k.Namespaced {
			if t.Namespace = root.Get("metadata.namespace").Str; t.Namespace == "" {
				t.Namespace = namespace
			}
		}
		return t, true
	}
	return source.Target{Ref: workload.Ref{GroupKind: gk, Namespace: namespace, Name: root.Get("metadata.name").Str}}, false
}

// ParseAction reads an action as people write it.
func ParseAction(text string) (workload.Change, error) {
	actions := []workload.Change{workload.ChangeCreate, workload.ChangeDelete, workload.ChangeRollOut, workload.ChangeScale}
	var names []string
	for _, a := range actions {
		name := a.Names()[0]
		if strings.EqualFold(name, text) {
			return a, nil
		}
		names = append(names, strings.ToLower(name))
	}
	if near := source.Nearest(strings.ToLower(text), append(names, "deploy", "restart")); near != "" && slices.Contains(names, near) {
		return 0, fmt.Errorf("%q is no action; did you mean %s?", text, near)
	}
	return 0, fmt.Errorf("%q is no action: give one of %s", text, strings.Join(names, ", "))
}
