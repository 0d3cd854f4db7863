package world

import (
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// Policy is a policy object with its compiled form. It is immutable: each change creates a new Policy.
type Policy struct {
	decide.Policy
	Kind   policy.Row
	Object policy.Object
	// Secured is true if the object stays until everything is restored, because it has the finalizer or needs none. A
	// policy that is not secured keeps the values it has set and makes no other write.
	Secured bool
	// Refused is the reason why the finalizer could not be added to the object. Empty means that no attempt has failed.
	Refused string
	// Calendars are the names of the calendars used by the object.
	Calendars []string
}

// mayTouch reports whether the policy can select or create objects of a kind.
func (p *Policy) mayTouch(gk schema.GroupKind) bool {
	if t := p.Template; t != nil && t.GroupKind() == gk {
		return true
	}
	return p.Target.MatchesKind(gk)
}

// matchedAnnotations returns the keys of the annotations that the policy's selections match on.
func (p *Policy) matchedAnnotations() []string {
	keys := slices.Concat(p.Target.AnnotationKeys(), p.Template.AnnotationKeys())
	if p.Bounded != nil {
		keys = append(keys, p.Bounded.AnnotationKeys()...)
	}
	return keys
}

// decidesAlike reports whether two forms of an object lead to the same decisions. They may still differ, for example
// in their status.
func decidesAlike(a, b policy.Object, kind policy.Row) bool {
	return sameSpec(a, b) && maps.Equal(a.GetAnnotations(), b.GetAnnotations()) && isSecured(kind, a) == isSecured(kind, b) &&
		a.GetDeletionTimestamp().IsZero() == b.GetDeletionTimestamp().IsZero() &&
		equality.Semantic.DeepEqual(kind.Meta(a).Recalls, kind.Meta(b).Recalls)
}

func sameSpec(a, b policy.Object) bool {
	return a.GetUID() == b.GetUID() && a.GetGeneration() == b.GetGeneration()
}

// isSecured reports whether an object stays until everything is restored. An object being deleted counts as secured,
// because only its controller removes the finalizer.
func isSecured(kind policy.Row, obj policy.Object) bool {
	return !obj.GetDeletionTimestamp().IsZero() || !kind.NeedsFinalizer(obj) || slices.Contains(obj.GetFinalizers(), v1alpha1.FinalizerRestore)
}

// withoutFinalizer returns the form of a policy whose object lacks the finalizer. Like a broken policy, it keeps the
// values it has set.
func withoutFinalizer(p *policy.Policy, why string) *policy.Policy {
	broken := policy.Broken(p.ID, field.ErrorList{field.InternalError(field.NewPath("metadata", "finalizers"), errors.New(why))})
	broken.State = func(time.Time) policy.Summary { return policy.Summary{Name: "Blocked", Message: why} }
	broken.Extras = p.Extras
	if p.Bounds != nil {
		broken.Bounded = p.Target
	}
	return broken
}

// policyIndex finds the policies that may act on an object or judge its changes. It is immutable once published.
type policyIndex struct {
	all   map[workload.Policy]*Policy
	index selector.Index[*Policy]
	// keys has the number of policies that need something of objects.
	keys map[need]int
}

// need is a part of the objects of a kind that policies read or set. The zero kind means every kind.
type need struct {
	part part
	key  string // of the annotation, for matched and written
	kind schema.GroupKind
}

// part is a part of objects that is in memory only for policies that need it. Each has its field in adapter.Keys.
type part int

const (
	matched     part = iota // an annotation that a selection matches on
	written                 // an annotation that a policy sets
	settled                 // the fields of the ready predicates
	amounts                 // requests and target utilisations
	autoscalers             // the same of the autoscalers of tuned targets, and of kinds that their policy no longer selects
	records                 // of the owners that apply the object
)

func newPolicyIndex() policyIndex {
	return policyIndex{all: map[workload.Policy]*Policy{}, keys: map[need]int{}}
}

// FiledUnder implements selector.Filed.
func (p *Policy) FiledUnder() []*selector.Selector {
	all := []*selector.Selector{p.Target}
	if s := p.Selection(); s != p.Target {
		all = append(all, s)
	}
	if p.Bounded != nil {
		all = append(all, p.Bounded)
	}
	return all
}

// FiledAs implements selector.Filed.
func (p *Policy) FiledAs() workload.Policy { return p.ID }

// FiledUntil implements selector.Filed. Only an Override is over before its deletion. All other policies have claims until then.
func (p *Policy) FiledUntil() int64 {
	if p.Override == nil || p.Override.Until.IsZero() {
		return math.MaxInt64
	}
	return p.Override.Until.Add(time.Second - 1).Unix()
}

// policyEditor changes a policyIndex that is not published yet. It copies the maps before the first change.
type policyEditor struct {
	policyIndex
	editor *selector.Editor[*Policy] // nil before the first change
}

func edit(x policyIndex) *policyEditor { return &policyEditor{policyIndex: x} }

func (e *policyEditor) beginChange() {
	if e.editor == nil {
		e.all, e.keys, e.editor = maps.Clone(e.all), maps.Clone(e.keys), e.index.Edit()
	}
}

func (e *policyEditor) put(p *Policy) {
	e.remove(p.ID)
	e.beginChange()
	e.all[p.ID] = p
	e.editor.Add(p)
	e.count(p, 1)
}

func (e *policyEditor) remove(id workload.Policy) {
	old := e.all[id]
	if old == nil {
		return
	}
	e.beginChange()
	delete(e.all, id)
	e.editor.Remove(old)
	e.count(old, -1)
}

// done returns the changed index.
func (e *policyEditor) done() policyIndex {
	if e.editor != nil {
		e.index = e.editor.Done()
	}
	return e.policyIndex
}

// count adds by to the count of each need of a policy.
func (e *policyEditor) count(p *Policy, by int) {
	kinds := p.Target.Kinds()
	if len(kinds) == 0 {
		kinds = append(kinds, schema.GroupKind{})
	}
	if p.Template != nil {
		kinds = append(kinds, p.Template.GroupKind())
	}
	for _, kind := range kinds {
		for _, key := range p.matchedAnnotations() {
			e.add(need{matched, key, kind}, by)
		}
		for _, key := range p.SetAnnotations {
			e.add(need{written, key, kind}, by)
		}
		if p.Sleeps() {
			e.add(need{part: settled, kind: kind}, by)
		}
		if readsAmounts(p.Policy.Policy) {
			e.add(need{part: amounts, kind: kind}, by)
		}
	}
	if p.Tuner != nil {
		e.add(need{part: autoscalers}, by)
	}
	if p.HoldsOwners {
		e.add(need{part: records}, by)
	}
}

func (e *policyEditor) add(n need, by int) {
	if e.keys[n] += by; e.keys[n] == 0 {
		delete(e.keys, n)
	}
}
