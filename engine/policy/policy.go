// Package policy says what every compiled policy offers to the engine, whatever its kind: which targets it selects, the
// pipeline that decides for one of them, and what to show of it. A new policy is one package below this one that compiles
// its spec into a Policy.
package policy

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/fleet"
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
	// Governs is what the object is to govern: it is made only where nothing else does. Empty: it is made in any case.
	Governs workload.Ref
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
	// Extras implements what only some policies offer: any of Reporter, FieldNamer, Maker, Judge, PodOrderer and Tuner. Nil: nothing more.
	Extras any
	// Warnings say what of the spec is valid and surely not meant, each with its field.
	Warnings []string
	// Invalid says what is wrong with the spec. An invalid policy asks only that what it has set stays.
	Invalid field.ErrorList
}

// Reporter is an extra of policies whose status has more than what all policies share.
type Reporter interface {
	// Condition is the type of the condition that says whether State.Active names anything. It takes the place of Asleep.
	Condition() string
	// AppliedLimit is how many targets the status lists with the values in place on them; 0: it lists none.
	AppliedLimit() int
	// FillStatus edits the status of an object of the policy's kind: the part that only this kind has. It returns what the
	// status named as active before.
	FillStatus(obj Object, state State, applied []Applied) (activeBefore string)
}

// Applied are the values that a policy has in place on one target; nil where it has none.
type Applied struct {
	Target             workload.Ref
	Min, Max, Replicas *int64
}

// FieldNamer is an extra of policies that can say which field of the spec asks for a bound.
type FieldNamer interface {
	// Field names what in the spec asks for a facet ("min" or "max") at an instant; empty if nothing does.
	Field(now time.Time, facet string) string
}

// Maker is an extra of policies that may want an object to exist.
type Maker interface {
	// Template is the object to make if it is missing; nil: none.
	Template() *Template
}

// Leaver is an extra of policies that may leave what was made for them once they do not want it any more.
type Leaver interface {
	// LeavesMade says that the object stays, and belongs to nobody then.
	LeavesMade() bool
}

// LeavesMade says whether what was made for the policy stays once it does not want it any more.
func (p *Policy) LeavesMade() bool {
	l, ok := p.Extras.(Leaver)
	return ok && l.LeavesMade()
}

// Judge is an extra of policies by which changes are judged at admission.
type Judge interface {
	// JudgedKinds lists the kinds that the policy names; empty: every adapted kind.
	JudgedKinds() []schema.GroupKind
	// JudgedBy selects the objects whose changes are judged.
	JudgedBy() *target.Selector
}

// Selection is what the target section of the policy selects: what it acts on, or what is judged by it.
func (p *Policy) Selection() *target.Selector {
	if j, ok := p.Extras.(interface{ JudgedBy() *target.Selector }); ok {
		return j.JudgedBy()
	}
	return p.Target
}

// SpeaksOf says whether the status of the policy has to do with a kind: the policy acts on objects of it, or changes of them are judged by it.
func (p *Policy) SpeaksOf(gk schema.GroupKind) bool {
	return p.Target.MatchesKind(gk) || p.Selection().MatchesKind(gk)
}

// PodOrderer is an extra of policies that order the pods of their targets for deletion.
type PodOrderer interface {
	// NodeLabels lists the node labels that planning looks at, the one by which spreads are told first.
	NodeLabels() []string
	// PlanCosts gives the deletion costs to be changed on the pods of a target.
	PlanCosts(f *fleet.Fleet, now time.Time) fleet.Plan
	// WritesPerSecond is the most costs that may be changed in a second where the policy has that many pods.
	WritesPerSecond(pods int) float64
	// FillPods edits the status of an object of the policy's kind: the part that tells of pods. Told is how many writes of the last hour that
	// tells of, and when the last one was.
	FillPods(obj Object, pods PodSummary)
	Told(obj Object) (writes int, last time.Time)
}

// PodSummary is what has become of the pods of a policy's targets.
type PodSummary struct {
	// Pods is how many are planned for, Writes how many costs were set in the last hour, and LastWrite when the last one was; zero: not known.
	Pods, Writes int
	LastWrite    time.Time
	// Spread is how uneven the most uneven target is now; SpreadAtHalf is that once each target is scaled down to half.
	Spread, SpreadAtHalf int
	// Foreign counts the pods whose cost somebody else has set, by field manager.
	Foreign map[string]int
}

// PodOrderer gives what orders pods for deletion; nil: the policy does not.
func (p *Policy) PodOrderer() PodOrderer {
	o, _ := p.Extras.(PodOrderer)
	return o
}

// Template is the object that the policy wants to exist; nil: none.
func (p *Policy) Template() *Template {
	if m, ok := p.Extras.(Maker); ok {
		return m.Template()
	}
	return nil
}

// Wants says whether a capability is among those that an adapter needs.
func (p *Policy) Wants(c v1alpha1.Capability) bool { return slices.Contains(p.Needs, c) }

// Tuner gives what learns from the use of pods; nil: the policy does not.
func (p *Policy) Tuner() Tuner {
	t, _ := p.Extras.(Tuner)
	return t
}

// Reporter gives the policy's own part of the status; nil: it has none.
func (p *Policy) Reporter() Reporter {
	r, _ := p.Extras.(Reporter)
	return r
}

// SetsValues says whether the policy sets values on its targets and neither puts them to sleep nor wakes them.
func (p *Policy) SetsValues() bool {
	r := p.Reporter()
	return r != nil && r.AppliedLimit() > 0 || p.Tuner() != nil
}

// Field names what in the spec asks for a facet at an instant; empty if nothing does, or the policy cannot tell.
func (p *Policy) Field(now time.Time, facet string) string {
	if n, ok := p.Extras.(FieldNamer); ok {
		return n.Field(now, facet)
	}
	return ""
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

// IsBroken says whether the policy could not be read. It then keeps what it has set wherever that is, selected or not.
func (p *Policy) IsBroken() bool { return len(p.Invalid) > 0 }
