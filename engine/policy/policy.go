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
	"flyball.dev/flyball/engine/podplan"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// Limit bounds the changes of a policy in one direction. A batch has at most Batch changes. The next batch begins at the
// earliest Delay after the begin of this batch. The zero Limit is no limit.
type Limit struct {
	Batch int
	Delay time.Duration
}

// State is the state of a policy at an instant, independent of targets.
type State struct {
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
	State func(now time.Time) State
	// Down limits the changes that reduce capacity. Up limits the changes that restore capacity.
	Down, Up Limit
	// Order is the order in which targets wake; nil: all at once.
	Order *Order
	// SetAnnotations lists the annotation keys that the policy may set on targets.
	SetAnnotations []string
	// Extras implements optional interfaces: any of Reporter, FieldNamer, Maker, Judge, PodOrderer and Tuner.
	// Nil: none.
	Extras any
	// Invalid are the errors of the spec. An invalid policy only keeps its values.
	Invalid field.ErrorList
}

// Reporter is an extra of policies with a status part of their own.
type Reporter interface {
	// Condition returns the type of the condition that is true while State.Active names an alternative. It replaces the
	// condition Asleep.
	Condition() string
	// AppliedLimit returns the number of targets listed in the status with their values; 0: no list.
	AppliedLimit() int
	// FillStatus edits the kind's own part of an object's status. It returns the formerly active alternative
	// from the status.
	FillStatus(obj Object, state State, applied []Applied) (activeBefore string)
}

// Applied has the values of a policy that are in place on one target; nil: no such value is.
type Applied struct {
	Target             workload.Ref
	Min, Max, Replicas *int64
}

// FieldNamer is an extra of policies that know the field of the spec behind a bound.
type FieldNamer interface {
	// Field returns the name of the field that asks for a facet ("min" or "max") at an instant; empty: none.
	Field(now time.Time, facet string) string
}

// Maker is an extra of policies that may create an object.
type Maker interface {
	// Template returns the object to create if missing; nil: none.
	Template() *Template
}

// Leaver is an extra of policies that may leave their created object in place when they no longer want it.
type Leaver interface {
	// LeavesMade reports whether the object stays. It then loses its owner reference.
	LeavesMade() bool
}

// LeavesMade reports whether the policy's created object stays when the policy no longer wants it.
func (p *Policy) LeavesMade() bool {
	l, ok := p.Extras.(Leaver)
	return ok && l.LeavesMade()
}

// Judge is an extra of policies that judge changes at admission.
type Judge interface {
	// JudgedKinds returns the kinds named by the policy; empty: every adapted kind.
	JudgedKinds() []schema.GroupKind
	// JudgedBy returns the selector of the objects whose changes are judged.
	JudgedBy() *selector.Selector
}

// Selection returns the selector of the policy's target section: the objects it acts on or the objects it judges.
func (p *Policy) Selection() *selector.Selector {
	if j, ok := p.Extras.(interface{ JudgedBy() *selector.Selector }); ok {
		return j.JudgedBy()
	}
	return p.Target
}

// SpeaksOf reports whether the policy acts on objects of a kind or judges their changes, so that its status
// depends on the kind.
func (p *Policy) SpeaksOf(gk schema.GroupKind) bool {
	return p.Target.MatchesKind(gk) || p.Selection().MatchesKind(gk)
}

// PodOrderer is an extra of policies that order the pods of their targets for deletion.
type PodOrderer interface {
	// NodeLabels returns the node labels used by planning, the label of the reported spread first.
	NodeLabels() []string
	// PlanCosts returns the changes of deletion costs on the pods of a target.
	PlanCosts(f *podplan.Fleet, now time.Time) podplan.Plan
	// WritesPerSecond returns the limit of changes per second for a policy with the given number of pods.
	WritesPerSecond(pods int) float64
	// FillPods edits the part of an object's status about pods. Told returns the status's number of writes in the last
	// hour and the time of the last write.
	FillPods(obj Object, pods PodSummary)
	Told(obj Object) (writes int, last time.Time)
}

// PodSummary is the state of the pods of a policy's targets.
type PodSummary struct {
	// Pods is the number of planned pods. Writes is the number of costs set in the last hour. LastWrite is the time of the
	// last write; zero: unknown.
	Pods, Writes int
	LastWrite    time.Time
	// Spread is the current unevenness of the most uneven target. SpreadAtHalf is this unevenness after each target is
	// scaled to half.
	Spread, SpreadAtHalf int
	// Foreign counts the pods with a cost from another writer, by field manager.
	Foreign map[string]int
}

// PodOrderer returns the policy's PodOrderer; nil: none.
func (p *Policy) PodOrderer() PodOrderer {
	o, _ := p.Extras.(PodOrderer)
	return o
}

// Template returns the object created by the policy; nil: none.
func (p *Policy) Template() *Template {
	if m, ok := p.Extras.(Maker); ok {
		return m.Template()
	}
	return nil
}

// Wants reports whether a capability is among the needed capabilities.
func (p *Policy) Wants(c v1alpha1.Capability) bool { return slices.Contains(p.Needs, c) }

// Tuner returns the policy's Tuner; nil: none.
func (p *Policy) Tuner() Tuner {
	t, _ := p.Extras.(Tuner)
	return t
}

// Reporter returns the policy's Reporter; nil: none.
func (p *Policy) Reporter() Reporter {
	r, _ := p.Extras.(Reporter)
	return r
}

// SetsValues reports whether the policy sets values on its targets without putting them to sleep or waking them.
func (p *Policy) SetsValues() bool {
	r := p.Reporter()
	return r != nil && r.AppliedLimit() > 0 || p.Tuner() != nil
}

// Field returns the name of the field of the spec that asks for a facet at an instant; empty: none or unknown.
func (p *Policy) Field(now time.Time, facet string) string {
	if n, ok := p.Extras.(FieldNamer); ok {
		return n.Field(now, facet)
	}
	return ""
}

// Broken returns the policy for an unreadable spec: it selects and changes nothing new and restores nothing.
func Broken(id workload.Policy, errs field.ErrorList) *Policy {
	return &Policy{
		ID:      id,
		Target:  selector.Nothing(),
		Invalid: errs,
		State: func(time.Time) State {
			return State{Name: "Invalid", Message: errs.ToAggregate().Error()}
		},
	}
}

// IsBroken reports whether the spec was unreadable. The policy then keeps its values everywhere, selected or not.
func (p *Policy) IsBroken() bool { return len(p.Invalid) > 0 }
