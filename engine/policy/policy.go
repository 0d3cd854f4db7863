// Package policy defines the compiled form of all policies: the selected targets, the pipeline that decides about a
// target, and the data for status. A new policy is one package below this package that compiles its spec into a Policy.
package policy

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// Limit bounds the changes of a policy in one direction. A batch has at most Batch changes. The next batch begins at the
// earliest Delay after the begin of this batch. The zero Limit is no limit.
type Limit struct {
	Batch int
	Delay time.Duration
}

// Summary is the state of a policy at an instant, independent of targets.
type Summary struct {
	// Name is one word for status and metrics.
	Name string
	// Asleep is true if targets are to sleep.
	Asleep bool
	// Since is the start of this state; zero: always.
	Since time.Time
	// Next is the end of this state; zero: never.
	Next time.Time
	// Active names the alternatives in force, for policies that list alternatives; empty: none.
	Active string
	// Message is the reason in one line.
	Message string
}

// Template is an object that a policy creates if it is missing.
type Template struct {
	schema.GroupVersionKind
	Namespace, Name string
	// Manifest is the whole object as JSON.
	Manifest []byte
	// Labels and Annotations are the keys of metadata set by the manifest, sorted. Opaque is true if the manifest sets
	// other metadata besides these and the name.
	Labels, Annotations []string
	Opaque              bool
	// Governs is the scale target of the object. The object is then created only if no other autoscaler scales this target.
	// Empty: the object is always created.
	Governs workload.Ref
}

// AnnotationKeys returns the annotations needed to compare the object with the template; none for a nil template.
func (t *Template) AnnotationKeys() []string {
	if t == nil {
		return nil
	}
	return t.Annotations
}

// Ref returns the reference of the object.
func (t *Template) Ref() workload.Ref {
	return workload.Ref{GroupKind: t.GroupKind(), Namespace: t.Namespace, Name: t.Name}
}

// Is reports whether an object is the template's object; false for a nil template.
func (t *Template) Is(ref workload.Ref) bool { return t != nil && t.Ref() == ref }

// Policy is a compiled policy. It is immutable and shared.
type Policy struct {
	ID workload.Policy
	// Target selects objects.
	Target *selector.Selector
	// Needs lists the capabilities of which an adapter must have at least one; empty: every adapter is fit.
	Needs []v1alpha1.Capability
	// Pipeline decides about one target.
	Pipeline pipeline.Pipeline
	// State returns the state of the policy at an instant.
	State func(now time.Time) Summary
	// Down limits the changes that reduce capacity. Up limits the changes that restore capacity.
	Down, Up Limit
	// Order is the order in which targets wake; nil: all at once.
	Order *Order
	// SetAnnotations lists the annotation keys that the policy may set on targets.
	SetAnnotations []string
	// Extras are the parts that only some kinds of policies have.
	Extras
	// Invalid are the errors of the spec. An invalid policy only keeps its values.
	Invalid field.ErrorList
}

// Selection returns the selector of the policy's target section: the objects it acts on or the objects it judges.
func (p *Policy) Selection() *selector.Selector {
	if p.Judge != nil {
		return p.Judge.JudgedBy()
	}
	return p.Target
}

// SpeaksOf reports whether the policy acts on objects of a kind or judges their changes, so that its status
// depends on the kind.
func (p *Policy) SpeaksOf(gk schema.GroupKind) bool {
	return p.Target.MatchesKind(gk) || p.Selection().MatchesKind(gk)
}

// Wants reports whether a capability is among the needed capabilities.
func (p *Policy) Wants(c v1alpha1.Capability) bool { return slices.Contains(p.Needs, c) }

// SetsValues reports whether the policy sets values on its targets without putting them to sleep or waking them.
func (p *Policy) SetsValues() bool {
	return p.Override == nil && p.Reporter != nil && p.Reporter.AppliedLimit() > 0 || p.Tuner != nil
}

// SizesGoverned reports whether the policy, on an autoscaler, may set the size of the scaled object.
func (p *Policy) SizesGoverned() bool {
	return p.SetsValues() && p.Tuner == nil && p.Wants(v1alpha1.CapabilityScale)
}

// Sleeps reports whether the policy puts targets to sleep. Their fields of the ready predicates are then kept in memory.
func (p *Policy) Sleeps() bool { return !p.SetsValues() && p.PodOrderer == nil }

// Field returns the name of the field of the spec that asks for a facet ("min" or "max") at an instant; empty: none or
// unknown.
func (p *Policy) Field(now time.Time, facet string) string {
	if p.FieldOf == nil {
		return ""
	}
	return p.FieldOf(now, facet)
}

// Denies reports whether the policy denies changes at admission.
func (p *Policy) Denies() bool { return p.Judge != nil && p.Judge.Denies() }

// Broken returns the policy for an unreadable spec: it selects and changes nothing new and restores nothing.
func Broken(id workload.Policy, errs field.ErrorList) *Policy {
	return &Policy{
		ID:      id,
		Target:  selector.Nothing(),
		Invalid: errs,
		State: func(time.Time) Summary {
			return Summary{Name: "Invalid", Message: errs.ToAggregate().Error()}
		},
	}
}

// MayHold reports whether the policy holds an owner in a namespace. A policy with a namespace reaches no other namespace.
func (p *Policy) MayHold(namespace string) bool {
	return p.HoldsOwners && (p.ID.Namespace == "" || p.ID.Namespace == namespace)
}

// IsBroken reports whether the spec was unreadable. The policy then keeps its values everywhere, selected or not.
func (p *Policy) IsBroken() bool { return len(p.Invalid) > 0 }
