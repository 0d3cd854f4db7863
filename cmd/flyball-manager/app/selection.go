package app

import (
	"context"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// These limits bound the lists that the warnings about names need: the number of lists, the objects per list, and the
// total time. If a limit is exceeded, no warning is given.
const (
	warnLists   = 20
	warnObjects = 500
	warnWithin  = 2 * time.Second
)

// selectionWarnings warns the author of a policy about selector terms that match nothing and about other likely
// mistakes. The policy is admitted all the same, because its targets may be created later.
type selectionWarnings struct {
	world   *world.World
	objects metadata.Interface
	context policy.Context
	clock   clock.PassiveClock
}

// wrap adds the warnings to the validators of policies.
func (s selectionWarnings) wrap(list []review.OwnKind) []review.OwnKind {
	for i := range list {
		kind, ok := kinds.Find(list[i].Kind)
		if !ok {
			continue
		}
		inner := list[i].Validator
		list[i].Validator = review.ValidatorFunc(func(ctx context.Context, req review.Request) ([]string, field.ErrorList, error) {
			warnings, errs, err := inner.Validate(ctx, req)
			if err != nil || len(errs) > 0 || req.Operation == admissionv1.Delete || !req.SpecChanged && req.Old != nil {
				return warnings, errs, err
			}
			return append(warnings, s.warnings(ctx, kind, req.New.(policy.Object))...), nil, nil
		})
	}
	return list
}

func (s selectionWarnings) warnings(ctx context.Context, kind policy.Row, obj policy.Object) (all []string) {
	compiled, errs := kind.Compile(obj, s.context)
	if len(errs) > 0 {
		return nil
	}
	all = s.world.Snapshot().Warnings(compiled, kind.Meta(obj).Calendars, s.clock.Now())
	ctx, cancel := context.WithTimeout(ctx, warnWithin)
	defer cancel()
	here := &listed{Inventory: s.world.Snapshot().Inventory(), world: s.world, objects: s.objects, ctx: ctx}
	selection := compiled.Selection()
	found := selection.UnknownTerms(here)
	if len(found) == 0 {
		if names := selection.UnknownNames(here); !here.incomplete {
			found = names
		}
	}
	for _, u := range found {
		if u.Reason == selector.NoAdapter {
			all = append(all, u.Message)
		} else {
			all = append(all, "spec.target."+u.Message)
		}
	}
	return all
}

// listed is an inventory for selectors. It lists objects from the API server, because replicas that do not lead watch
// no objects.
type listed struct {
	selector.Inventory
	world   *world.World
	objects metadata.Interface
	ctx     context.Context
	lists   int
	// incomplete reports that some objects were not read.
	incomplete bool
}

// Objects implements selector.Inventory.
func (l *listed) Objects(gk schema.GroupKind, namespace string, yield func(*workload.Object) bool) {
	resource, known := l.world.Resource(gk)
	if l.lists++; !known || l.incomplete || l.lists > warnLists {
		l.incomplete = true
		return
	}
	found, err := l.objects.Resource(resource).Namespace(namespace).List(l.ctx, metav1.ListOptions{Limit: warnObjects})
	if apierrors.IsNotFound(err) {
		return // the kind is not served
	}
	if err != nil || found.Continue != "" {
		l.incomplete = true
		return
	}
	for i := range found.Items {
		o := &found.Items[i]
		if !yield(&workload.Object{Namespace: o.Namespace, Name: o.Name, Labels: workload.NewPairs(o.Labels)}) {
			return
		}
	}
}
