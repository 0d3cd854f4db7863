// Package cani reports whether freezes let a user make a change, in a world that was read before.
package cani

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/admission/evaluate"
	freezeadmission "flyball.dev/flyball/engine/admission/freeze"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// NewEvaluator returns an Evaluator over a world. Flyball runs in the given namespace.
func NewEvaluator(memory *world.Memory, flyballNamespace string) *evaluate.Evaluator {
	return &evaluate.Evaluator{
		Judge:   &freezeadmission.Judge{Freezes: memory.World(), Objects: objects{memory}, Clock: clock.RealClock{}, Log: logr.Discard()},
		Objects: objects{memory}, Exempt: freezeadmission.Exempt(flyballNamespace),
	}
}

// Actions parses the names of actions into changes.
func Actions(names []string) ([]workload.Change, error) {
	changes := make([]workload.Change, len(names))
	for i, name := range names {
		var err error
		if changes[i], err = evaluate.ParseAction(name); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// Judge returns the verdict on each change of each target.
func Judge(ctx context.Context, judge *evaluate.Evaluator, w *source.World, targets []source.Target, changes []workload.Change,
	user evaluate.User, at time.Time) ([]evaluate.Answer, error) {
	var answers []evaluate.Answer
	for _, target := range targets {
		for _, change := range changes {
			answer, err := judge.Answer(ctx, evaluate.Inquiry{Target: TargetOf(target), Action: change, User: user, At: at})
			if err != nil {
				return nil, Hinted(err, w, target)
			}
			answers = append(answers, answer)
		}
	}
	return answers, nil
}

// objects reads objects from memory. The manager would ask the API server for them.
type objects struct{ memory *world.Memory }

// Object implements evaluate.ObjectReader.
func (o objects) Object(_ context.Context, t evaluate.Target) ([]byte, error) {
	return o.memory.Raw(t.Ref), nil
}

// Whole implements freeze.Objects.
func (o objects) Whole(_ context.Context, resource schema.GroupVersionResource, namespace, name string) ([]byte, error) {
	if found := o.memory.World().Adapter(resource.GroupResource()); found != nil {
		if raw := o.memory.Raw(workload.Ref{GroupKind: found.GroupKind(), Namespace: namespace, Name: name}); raw != nil {
			return raw, nil
		}
	}
	return nil, apierrors.NewNotFound(resource.GroupResource(), name)
}

// Metadata implements freeze.Objects.
func (o objects) Metadata(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*metav1.PartialObjectMetadata,
	error) {
	raw, err := o.Whole(ctx, resource, namespace, name)
	if err != nil {
		return nil, err
	}
	object := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(raw, object); err != nil {
		return nil, fmt.Errorf("read the metadata of %s %s/%s: %w", resource.Resource, namespace, name, err)
	}
	return object, nil
}

// TargetOf converts a target for package evaluate.
func TargetOf(t source.Target) evaluate.Target {
	return evaluate.Target{Ref: t.Ref, Resource: t.Kind.Resource}
}

// Hinted adds a hint to an error about a target that does not exist: the name of the object that was probably meant.
func Hinted(err error, w *source.World, t source.Target) error {
	if wrong := (*evaluate.UnanswerableError)(nil); errors.As(err, &wrong) {
		if hidden := source.MissingRights(nil); errors.As(w.Missing(t.Ref), &hidden) {
			return hidden
		}
		return fmt.Errorf("%w%s", err, w.Near(t.Ref))
	}
	return err
}

// KindOf returns a function that looks up the resource and the scope of a kind of the world.
func KindOf(w *source.World) func(schema.GroupKind) (evaluate.Served, bool) {
	return func(gk schema.GroupKind) (evaluate.Served, bool) {
		for _, k := range w.Kinds {
			if k.GroupKind == gk {
				return evaluate.Served{Resource: k.Resource, Namespaced: k.Namespaced}, true
			}
		}
		return evaluate.Served{}, false
	}
}
