// Package policy says what every compiled policy offers to the engine, whatever its kind: which targets it selects, the
// pipeline that decides for one of them, and what to show of it. A new policy is one package below this one that compiles
// its spec into a Policy.
package policy

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy/target"
	"flyball.dev/flyball/engine/workload"
)

// Limit is the most changes a policy makes in one direction: Batch changes, then nothing until Delay after the batch was
// opened. The zero Limit is none.
type Limit struct {
	Batch int
	Delay time.Duration
}

// State is what a policy is in at an instant, apart from any target.
type State struct {
	// Name is one word for status and metrics.
	Name string
	// Asleep is true when targets are to sleep.
	Asleep bool
	// Since is when this state began; zero: always so.
	Since time.Time
	// Next is when it ends; zero: never.
	Next time.Time
	// Active names what is in force, for policies that list alternatives; empty if nothing is.
	Active string
	// Message says why, in one line.
	Message string
}

// Template is an object that a policy wants to exist and makes if it is missing.
type Template struct {
	schema.GroupVersionKind
	Namespace, Name string
	// Manifest is the whole object as JSON.
	Manifest []byte
	// Labels and Annotations are the keys of the metadata that the manifest sets, sorted. Opaque is true where it sets more of
	// it than these and the name.
	Labels, Annotations []string
	Opaque              bool
}

// AnnotationKeys are the annotations that have to be looked at to see whether the object is as the template says; none
// without a template.
func (t *Template) AnnotationKeys() []string {
	if t == nil {
		return nil
	}
	return t.Annotations
}

// Ref names the object.
func (t *Template) Ref() workload.Ref {
	return workload.Ref{GroupKind: t.GroupKind(), Namespace: t.Namespace, Name: t.Name}
}

// Is says whether an object is the one that the template asks for; none is without a template.
func (t *Template) Is(ref workload.Ref) bool { return t != nil && t.Ref() == ref }

// Policy is a compiled policy. It is immutable and shared.
type Policy struct {
	ID workload.Policy
	// Target selects objects.
	Target *target.Selector
	// Needs lists capabilities, any of which lets an adapter take part; empty: every adapter.
	Needs []v1alpha1.Capability
	// Pipeline decides for one target.
	Pipeline pipeline.Pipeline
	// State says what the policy is in at an instant.
	State func(now time.Time) State
	// Down and Up limit the changes that take capacity away and that give it back.
	Down, Up Limit
	// SetAnnotations lists the annotation keys that the policy may set on targets.
	SetAnnotations []string
	// Condition is the condition type that says whether State.Active names anything; empty: the policy reports Asleep instead.
	Condition string
	// Reports says that the status lists the values in place on targets.
	Reports bool
	// Field names what in the spec asks for a facet ("min" or "max") at an instant, for messages; empty if nothing does. Nil: it
	// is not told.
	Field func(now time.Time, facet string) string
	// Template is the object to make if it is missing; nil: none.
	Template *Template
	// Invalid says what is wrong with the spec. An invalid policy asks only that what it has set stays.
	Invalid field.ErrorList
}

// Broken is what an unreadable policy becomes: it selects nothing new, changes nothing, and gives nothing back.
func Broken(id workload.Policy, errs field.ErrorList) *Policy {
	return &Policy{
		ID:      id,
		Target:  target.Nothing(),
		Invalid: errs,
		State: func(time.Time) State {
			return State{Name: "Invalid", Message: errs.ToAggregate().Error()}
		},
	}
}

// Frozen says whether the policy keeps what it has set wherever that is, selected or not.
func (p *Policy) Frozen() bool { return len(p.Invalid) > 0 }
