package world

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// Snapshot is the state at one moment. It is immutable, but for the objects that its stores hold.
type Snapshot struct {
	policies  policyIndex
	calendars map[string]calendar
	kinds     map[schema.GroupKind]*Kind
	// governing are the kinds in use whose objects govern others, in order of their names.
	governing  []*Kind
	adapters   map[schema.GroupResource]*Adapter
	namespaces Objects
	set        *freeze.Set
	loaded     bool
	// leaving says that pods may have still to be given back that were changed in place, and that no policy is left for which they were.
	leaving bool
	// advice is what was found for targets; all snapshots share it.
	advice *advice
	// own are the objects that Flyball itself runs in.
	own sets.Set[workload.Ref]
}

// calendar is a Calendar object.
type calendar struct {
	// revision tells forms of the object apart.
	revision string
	days     timeline.Timeline
	// valid is false where the days cannot be read.
	valid bool
}

// Adapter is an Adapter object, whether its kind is in use or not.
type Adapter struct {
	schema.GroupKind
	// Compiled classifies changes. It is the last form that could be compiled; nil: none could.
	Compiled *adapter.Adapter
	// Sleeps is true where objects of the kind can be put to sleep.
	Sleeps bool
	// Serving is what is known of whether the API server serves the kind.
	Serving Serving
	// Deleting says that the object is about to go.
	Deleting bool
	// revision tells forms of the object apart.
	revision string
}

// Serving is what is known of whether the API server serves the kind of an adapter.
type Serving uint8

// What is known.
const (
	// MayBeServed: it serves the kind, or nothing is known yet.
	MayBeServed Serving = iota
	// OtherVersions: it serves the kind in versions that the adapter does not list, and in none that it lists.
	OtherVersions
	// NotServed: it serves the kind in no version.
	NotServed
)

func emptySnapshot() *Snapshot {
	return &Snapshot{
		policies: newPolicyIndex(), calendars: map[string]calendar{}, kinds: map[schema.GroupKind]*Kind{},
		adapters: map[schema.GroupResource]*Adapter{}, set: &freeze.Set{}, advice: &advice{},
	}
}

var (
	_ decide.World    = (*Snapshot)(nil)
	_ decide.Recaller = (*Snapshot)(nil)
	_ decide.Host     = (*Snapshot)(nil)
)

// Kind implements decide.World.
func (s *Snapshot) Kind(gk schema.GroupKind) *decide.Kind {
	if k := s.kinds[gk]; k != nil {
		return k.Kind
	}
	return nil
}

// InUse gives a kind in use with its objects; nil: it is not in use.
func (s *Snapshot) InUse(gk schema.GroupKind) *Kind { return s.kinds[gk] }

// IsSettled says whether it is known which objects of a kind there are to work on: all of them are read, or nobody adapts it. One whose adapter is not
// in use may be about to be.
func (s *Snapshot) IsSettled(gk schema.GroupKind) bool {
	if k := s.InUse(gk); k != nil {
		return k.Live.HasSynced()
	}
	_, adapted := s.AdaptedKind(gk)
	return !adapted
}

// Serves says whether the objects of a watch are those that are looked at.
func (s *Snapshot) Serves(l *Live) bool {
	k := s.kinds[l.gk]
	return k != nil && k.Live == l
}

// Kinds lists the kinds in use, in order of their names.
func (s *Snapshot) Kinds() []*Kind {
	return slices.SortedFunc(maps.Values(s.kinds), func(a, b *Kind) int { return compareKinds(a.GroupKind, b.GroupKind) })
}

// findGoverning looks which kinds in use govern others.
func (s *Snapshot) findGoverning() {
	s.governing = slices.DeleteFunc(s.Kinds(), func(k *Kind) bool { return !k.Adapter.CanGovern() })
}

func compareKinds(a, b schema.GroupKind) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
}

// Adapts implements decide.World.
func (s *Snapshot) Adapts(gk schema.GroupKind) bool {
	if k := s.kinds[gk]; k != nil {
		return k.Can([]v1alpha1.Capability{v1alpha1.CapabilitySuspend, v1alpha1.CapabilityScale})
	}
	for _, a := range s.adapters {
		if a.GroupKind == gk {
			return a.Sleeps
		}
	}
	return false
}

// Adapters lists the Adapter objects by the resource they speak of. The caller must not change the map.
func (s *Snapshot) Adapters() map[schema.GroupResource]*Adapter { return s.adapters }

// AdaptedKind says what is known of a kind by its adapter, in use or not.
func (s *Snapshot) AdaptedKind(gk schema.GroupKind) (policy.AdaptedKind, bool) {
	for _, a := range s.adapters {
		if a.GroupKind == gk && a.Compiled != nil {
			return policy.Adapted(a.Compiled, ""), true
		}
	}
	return policy.AdaptedKind{}, false
}

// Object implements decide.World.
func (s *Snapshot) Object(ref workload.Ref) *workload.Object {
	k := s.kinds[ref.GroupKind]
	if k == nil || !k.Live.HasSynced() {
		return nil
	}
	return k.Live.Get(ref.Namespace, ref.Name)
}

// Referent implements decide.World.
func (s *Snapshot) Referent(ref workload.Ref) workload.Ref {
	if s.kinds[ref.GroupKind] != nil {
		return ref
	}
	found := schema.GroupKind{}
	for gk := range s.kinds {
		if workload.Names(ref.GroupKind, gk) {
			found = gk
		}
	}
	for _, a := range s.adapters {
		if workload.Names(ref.GroupKind, a.GroupKind) {
			found = a.GroupKind
		}
	}
	if !found.Empty() {
		ref.GroupKind = found
	}
	return ref
}

// Governors implements decide.World.
func (s *Snapshot) Governors(ref workload.Ref) []workload.Ref {
	var all []workload.Ref
	for _, k := range s.governing {
		all = append(all, k.Live.governorsOf(ref)...)
	}
	if len(all) > 1 {
		all = s.deleteControlled(all)
		slices.SortFunc(all, workload.Ref.Compare)
	}
	return all
}

// deleteControlled edits a list of what governs an object: it leaves out what another of them controls, as the autoscaler that KEDA makes of a
// ScaledObject. That has what its owner says, so its owner is the lever, and what is written to it would only be undone.
func (s *Snapshot) deleteControlled(all []workload.Ref) []workload.Ref {
	before := slices.Clone(all)
	return slices.DeleteFunc(all, func(g workload.Ref) bool {
		obj := s.Object(g)
		return obj != nil && obj.Owner != nil && slices.Contains(before, workload.Ref{GroupKind: obj.Owner.GroupKind, Namespace: g.Namespace, Name: obj.Owner.Name})
	})
}

// EachPolicy implements decide.World.
func (s *Snapshot) EachPolicy(namespace string, yield func(*decide.Policy)) {
	s.policies.each(namespace, func(p *Policy) { yield(&p.Policy) })
}

// Policy implements decide.World.
func (s *Snapshot) Policy(id workload.Policy) *decide.Policy {
	if p := s.policies.all[id]; p != nil {
		return &p.Policy
	}
	return nil
}

// Find gives a policy with its object; nil: there is none of that name.
func (s *Snapshot) Find(id workload.Policy) *Policy { return s.policies.all[id] }

// Policies yields every policy, in no order.
func (s *Snapshot) Policies(yield func(*Policy) bool) {
	maps.Values(s.policies.all)(yield)
}

// HasBroken says whether one of some policies cannot be read and may have asked for something in a namespace.
func (s *Snapshot) HasBroken(namespace string, of func(*Policy) bool) bool {
	for p := range s.Policies {
		if p.IsBroken() && !p.Deleting && (p.ID.Namespace == "" || p.ID.Namespace == namespace) && of(p) {
			return true
		}
	}
	return false
}

// PolicyCount is how many policies there are.
func (s *Snapshot) PolicyCount() int { return len(s.policies.all) }

// Namespace implements decide.World.
func (s *Snapshot) Namespace(name string) decide.Namespace {
	if s.namespaces == nil {
		return decide.Namespace{Unknown: true}
	}
	obj := s.namespaces.Get("", name)
	if obj == nil {
		return decide.Namespace{Unknown: true}
	}
	return decide.Namespace{Labels: obj.Labels, Terminating: obj.Deleting, AwakeUntil: obj.Annotations.Get(v1alpha1.AnnotationAwakeUntil)}
}

// Freezes implements decide.World.
func (s *Snapshot) Freezes() *freeze.Set {
	if !s.loaded {
		return nil
	}
	return s.set
}

// RunsFlyball implements decide.Host.
func (s *Snapshot) RunsFlyball(ref workload.Ref) bool { return s.own.Has(ref) }

// LastKnown implements decide.Recaller.
func (s *Snapshot) LastKnown(ref workload.Ref) []workload.Policy {
	if k := s.kinds[ref.GroupKind]; k != nil {
		return k.Live.policiesOn(ref)
	}
	return nil
}

// LedgersOf counts the objects that carry a ledger on behalf of a policy.
func (s *Snapshot) LedgersOf(id workload.Policy) int {
	n := 0
	for _, k := range s.kinds {
		n += k.Live.ledgersOf(id)
	}
	return n
}

// EachLedgerOf yields the objects that carry a ledger on behalf of a policy.
func (s *Snapshot) EachLedgerOf(id workload.Policy, yield func(workload.Ref)) {
	for _, k := range s.kinds {
		k.Live.eachLedgerOf(id, yield)
	}
}

// EachTarget yields the objects that a policy selects or has changed. An object may come twice.
func (s *Snapshot) EachTarget(p *Policy, yield func(workload.Ref)) {
	s.EachLedgerOf(p.ID, yield)
	for _, k := range s.kinds {
		s.EachSelected(p, k, yield)
	}
}

// EachSelected yields the objects of a kind that a policy selects.
func (s *Snapshot) EachSelected(p *Policy, k *Kind, yield func(workload.Ref)) {
	s.eachSelected(p.Policy.Policy, k, func(obj *workload.Object) { yield(k.Ref(obj)) })
}

// Selects says whether a policy selects any object of a kind in use.
func (s *Snapshot) Selects(p *policy.Policy, k *Kind) bool {
	found := false
	s.eachSelected(p, k, func(*workload.Object) { found = true })
	return found
}

// eachSelected yields every object of a kind that a policy selects.
func (s *Snapshot) eachSelected(p *policy.Policy, k *Kind, yield func(*workload.Object)) {
	if !p.Target.MatchesKind(k.GroupKind) || !k.Can(p.Needs) {
		return
	}
	visit := func(obj *workload.Object) bool {
		if p.Target.Matches(k.GroupKind, obj, s.Namespace(obj.Namespace).Labels) {
			yield(obj)
		}
		return true
	}
	named, byLabels := p.Target.Namespaces()
	if byLabels || len(named) == 0 {
		k.Live.Range(visit)
		return
	}
	for _, ns := range named {
		k.Live.RangeNamespace(ns, visit)
	}
}

// Related yields an object, what it governs and what governs it.
func (s *Snapshot) Related(ref workload.Ref, yield func(workload.Ref)) {
	yield(ref)
	if k := s.kinds[ref.GroupKind]; k != nil {
		if governed := k.Live.governedBy(ref); governed != (workload.Ref{}) {
			yield(s.Referent(governed))
		}
	}
	for _, g := range s.Governors(ref) {
		yield(g)
	}
}

// Keys are what policies look at and set on objects of a kind beside what its adapter reads anyway.
func (s *Snapshot) Keys(gk schema.GroupKind) adapter.Keys {
	var keys adapter.Keys
	for _, p := range s.policies.all {
		if p.mayTouch(gk) {
			keys.Match = append(keys.Match, p.Target.AnnotationKeys()...)
			keys.Match = append(keys.Match, p.Template().AnnotationKeys()...)
			keys.Set = append(keys.Set, p.SetAnnotations...)
		}
		keys.Amounts = keys.Amounts || s.keepsAmounts(gk, p)
	}
	if known, ok := s.AdaptedKind(gk); ok && known.Requests && s.leaving {
		keys.Amounts = true
	}
	keys.Match = append(keys.Match, s.set.AnnotationKeys()...)
	slices.Sort(keys.Match)
	slices.Sort(keys.Set)
	keys.Match, keys.Set = slices.Compact(keys.Match), slices.Compact(keys.Set)
	return keys
}
