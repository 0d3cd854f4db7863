package world

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/workload"
)

// Snapshot is the state at one moment. It is immutable except for the objects in its stores.
type Snapshot struct {
	policies  policyIndex
	calendars map[string]Calendar
	// texts are the files of calendars in ConfigMaps.
	texts map[v1alpha1.ConfigMapKey]text
	kinds map[schema.GroupKind]*LiveKind
	// governing are the kinds in use whose objects can be autoscalers, in order of their names.
	governing []*LiveKind
	// owning are the kinds in use whose objects can be owners, in order of their names.
	owning     []*LiveKind
	adapters   map[schema.GroupResource]*Adapter
	namespaces Objects
	set        *freeze.Set
	loaded     bool
	// leaving is true while pods changed in place may still have to be restored although no tuning policy is left.
	leaving bool
	// advice is the tuning advice of targets. All snapshots share it.
	advice *advice
	// uses is the knowledge of the use of targets. All snapshots share it.
	uses *uses
	// own are the objects in which Flyball itself runs.
	own sets.Set[workload.Ref]
	// settles is true in a dry run.
	settles bool
}

// Calendar is a Calendar object.
type Calendar struct {
	times.CompiledCalendar
	// Generation is the generation of the compiled spec.
	Generation int64
	// Invalid are the errors of the spec, of included calendars and of the file.
	Invalid field.ErrorList

	object *v1alpha1.Calendar
	// file is the last file that was read for the calendar.
	file *times.ReadFile
	// revision changes with every edit of the spec, and with the recreation of the object.
	revision string
}

// text is the value of a key of a ConfigMap, or the error of reading it.
type text struct {
	value string
	err   error
}

// Calendar returns a Calendar object, or false if it does not exist.
func (s *Snapshot) Calendar(name string) (Calendar, bool) {
	c, ok := s.calendars[name]
	return c, ok
}

// IncludedBy returns the names of the calendars that a calendar includes.
func (s *Snapshot) IncludedBy(name string) []string {
	if c, known := s.calendars[name]; known {
		return c.object.Spec.Include
	}
	return nil
}

// Texts returns the keys of ConfigMaps that calendars name, sorted.
func (s *Snapshot) Texts() []v1alpha1.ConfigMapKey {
	wanted := sets.New[v1alpha1.ConfigMapKey]()
	for _, c := range s.calendars {
		if key := textOf(c.object); key != nil {
			wanted.Insert(*key)
		}
	}
	return slices.SortedFunc(maps.Keys(wanted), func(a, b v1alpha1.ConfigMapKey) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key))
	})
}

// Text returns the last known value of a key of a ConfigMap. known is false if the key has not been read.
func (s *Snapshot) Text(key v1alpha1.ConfigMapKey) (value string, known bool) {
	found, known := s.texts[key]
	return found.value, known
}

func textOf(c *v1alpha1.Calendar) *v1alpha1.ConfigMapKey {
	if c.Spec.ICS == nil {
		return nil
	}
	return c.Spec.ICS.ConfigMap
}

// Adapter is an Adapter object, whether its kind is in use or not.
type Adapter struct {
	schema.GroupKind
	// Compiled classifies changes. It is the last form that compiled, or nil if no form has compiled.
	Compiled *adapter.Adapter
	// Sleeps is true if objects of the kind can be put to sleep.
	Sleeps bool
	// Serving is the knowledge whether the API server serves the kind.
	Serving Serving
	// Deleting is true if the object is being deleted.
	Deleting bool
	// revision changes with every edit of the spec, and with the recreation of the object.
	revision string
	// leftOut are the optional items without a field in the live schema.
	leftOut string
}

// Serving says whether the API server serves an adapter's kind.
type Serving uint8

// Values of Serving.
const (
	// MayBeServed means that the API server serves the kind, or that this is not known yet.
	MayBeServed Serving = iota
	// OtherVersions means that the API server serves the kind, but in none of the adapter's versions.
	OtherVersions
	// NotServed means that the API server does not serve the kind in any version.
	NotServed
)

func emptySnapshot() *Snapshot {
	return &Snapshot{
		policies: newPolicyIndex(), calendars: map[string]Calendar{}, texts: map[v1alpha1.ConfigMapKey]text{},
		kinds:    map[schema.GroupKind]*LiveKind{},
		adapters: map[schema.GroupResource]*Adapter{}, set: &freeze.Set{}, advice: &advice{}, uses: &uses{},
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

// InUse returns a kind in use with its objects, or nil if the kind is not in use.
func (s *Snapshot) InUse(gk schema.GroupKind) *LiveKind { return s.kinds[gk] }

// IsSettled reports whether all objects of a kind are known, or the kind has no adapter. A kind that has an adapter
// and is not in use is not settled, because it may come into use soon.
func (s *Snapshot) IsSettled(gk schema.GroupKind) bool {
	if k := s.InUse(gk); k != nil {
		return k.Live.HasSynced()
	}
	_, adapted := s.AdaptedKind(gk)
	return !adapted
}

// Serves reports whether the snapshot uses the given Live for its kind.
func (s *Snapshot) Serves(l *Live) bool {
	k := s.kinds[l.gk]
	return k != nil && k.Live == l
}

// Kinds returns the kinds in use, in order of their names.
func (s *Snapshot) Kinds() []*LiveKind {
	return slices.SortedFunc(maps.Values(s.kinds), func(a, b *LiveKind) int { return compareKinds(a.GroupKind, b.GroupKind) })
}

// findRelating updates the lists of kinds whose objects can be autoscalers or owners.
func (s *Snapshot) findRelating() {
	s.governing = slices.DeleteFunc(s.Kinds(), func(k *LiveKind) bool { return !k.Adapter.CanGovern() })
	s.owning = slices.DeleteFunc(s.Kinds(), func(k *LiveKind) bool { return !k.Adapter.CanOwn() })
}

func compareKinds(a, b schema.GroupKind) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
}

// Adapts implements decide.World.
func (s *Snapshot) Adapts(gk schema.GroupKind) decide.Adapts {
	can := map[bool]decide.Adapts{true: decide.CanSleep, false: decide.CannotSleep}
	if k := s.kinds[gk]; k != nil {
		return can[k.Can([]v1alpha1.Capability{v1alpha1.CapabilitySuspend, v1alpha1.CapabilityScale})]
	}
	for _, a := range s.adapters {
		if a.GroupKind == gk {
			return can[a.Sleeps]
		}
	}
	return decide.NoAdapter
}

// Adapters returns the Adapter objects by resource. The caller must not change the map.
func (s *Snapshot) Adapters() map[schema.GroupResource]*Adapter { return s.adapters }

// AdaptedKind returns the properties of a kind from its adapter. The kind need not be in use.
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

// Autoscalers implements decide.World. An autoscaler that is controlled by another one of the object, such as the autoscaler that
// KEDA generates for a ScaledObject, is left out: the controlling autoscaler would undo writes to it.
func (s *Snapshot) Autoscalers(ref workload.Ref) []workload.Ref {
	all := s.autoscalers(ref)
	if len(all) > 1 {
		before := slices.Clone(all)
		all = slices.DeleteFunc(all, func(g workload.Ref) bool { return slices.Contains(before, s.controller(g)) })
		slices.SortFunc(all, workload.Ref.Compare)
	}
	return all
}

// Generated implements decide.World.
func (s *Snapshot) Generated(ref, by workload.Ref) []workload.Ref {
	return slices.DeleteFunc(s.autoscalers(ref), func(g workload.Ref) bool { return s.controller(g) != by })
}

// autoscalers returns all autoscalers of an object, in no order.
func (s *Snapshot) autoscalers(ref workload.Ref) (all []workload.Ref) {
	for _, k := range s.governing {
		all = append(all, k.Live.autoscalersOf(ref)...)
	}
	return all
}

// controller returns the controlling owner of an object, or nothing.
func (s *Snapshot) controller(ref workload.Ref) workload.Ref {
	obj := s.Object(ref)
	if obj == nil || obj.OwnerReference == nil {
		return workload.Ref{}
	}
	return workload.Ref{GroupKind: obj.OwnerReference.GroupKind, Namespace: ref.Namespace, Name: obj.OwnerReference.Name}
}

// EachPolicyFor implements decide.World, in order of the policies' names.
func (s *Snapshot) EachPolicyFor(gk schema.GroupKind, obj *workload.Object, namespace workload.Pairs, now time.Time,
	yield func(*decide.Policy)) {
	q := selector.Query{Kind: gk, Sides: []*workload.Object{obj}, Spaces: []workload.Pairs{namespace}}
	for _, p := range s.policies.index.Find(&q, now.Unix()) {
		yield(&p.Policy)
	}
}

// EachPolicy yields the policies that can reach a namespace, in no order. For the empty namespace (cluster-scoped
// objects) it yields all policies. It takes time in proportion to the number of all policies.
func (s *Snapshot) EachPolicy(namespace string, yield func(*decide.Policy)) {
	for _, p := range s.policies.all {
		if namespace == "" || p.Selection().MayReach(namespace) || p.Target.MayReach(namespace) {
			yield(&p.Policy)
		}
	}
}

// Policy implements decide.World.
func (s *Snapshot) Policy(id workload.Policy) *decide.Policy {
	if p := s.policies.all[id]; p != nil {
		return &p.Policy
	}
	return nil
}

// Find returns a policy with its object, or nil if there is no policy of this name.
func (s *Snapshot) Find(id workload.Policy) *Policy { return s.policies.all[id] }

// Policies yields every policy, in no order.
func (s *Snapshot) Policies(yield func(*Policy) bool) {
	maps.Values(s.policies.all)(yield)
}

// HasBroken reports whether a broken policy may have claims in a namespace. It counts only the policies for which the
// function of returns true.
func (s *Snapshot) HasBroken(namespace string, of func(*Policy) bool) bool {
	for p := range s.Policies {
		if p.IsBroken() && !p.Deleting && (p.ID.Namespace == "" || p.ID.Namespace == namespace) && of(p) {
			return true
		}
	}
	return false
}

// PolicyCount returns the number of policies.
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
	return decide.Namespace{Labels: obj.Labels, Terminating: obj.Deleting}
}

// Freezes implements decide.World.
func (s *Snapshot) Freezes() *freeze.Set {
	if !s.loaded {
		return nil
	}
	return s.set
}

// Settles implements decide.Settling.
func (s *Snapshot) Settles() bool { return s.settles }

// RunsFlyball implements decide.Host.
func (s *Snapshot) RunsFlyball(ref workload.Ref) bool { return s.own.Has(ref) }

// LastKnown implements decide.Recaller.
func (s *Snapshot) LastKnown(ref workload.Ref) []workload.Policy {
	if k := s.kinds[ref.GroupKind]; k != nil {
		return k.Live.policiesOn(ref)
	}
	return nil
}

// LedgersOf returns the number of objects with a ledger entry of a policy.
func (s *Snapshot) LedgersOf(id workload.Policy) int {
	n := 0
	for _, k := range s.kinds {
		n += k.Live.ledgersOf(id)
	}
	return n
}

// EachLedgerOf yields the objects with a ledger entry of a policy.
func (s *Snapshot) EachLedgerOf(id workload.Policy, yield func(workload.Ref)) {
	for _, k := range s.kinds {
		k.Live.eachLedgerOf(id, yield)
	}
}

// EachTarget yields the targets of a policy and the objects that it has changed. It may yield an object twice.
func (s *Snapshot) EachTarget(p *Policy, yield func(workload.Ref)) {
	s.EachLedgerOf(p.ID, yield)
	for _, k := range s.kinds {
		s.eachSelected(p.Policy.Policy, k, "", func(obj *workload.Object) {
			if !decide.FollowsOwner(s, obj) {
				yield(k.Ref(obj))
			}
		})
	}
}

// EachSelected yields the objects of a kind that a policy selects. Some are no targets, because they follow their controllers.
func (s *Snapshot) EachSelected(p *Policy, k *LiveKind, yield func(workload.Ref)) {
	s.eachSelected(p.Policy.Policy, k, "", func(obj *workload.Object) { yield(k.Ref(obj)) })
}

// EachOf implements decide.World.
func (s *Snapshot) EachOf(p *decide.Policy, namespace string, yield func(*decide.Kind, *workload.Object)) {
	for _, k := range s.kinds {
		s.eachSelected(p.Policy, k, namespace, func(obj *workload.Object) { yield(k.Kind, obj) })
	}
}

// Selects reports whether a policy selects at least one object of a kind in use.
func (s *Snapshot) Selects(p *policy.Policy, k *LiveKind) bool {
	found := false
	s.eachSelected(p, k, "", func(*workload.Object) { found = true })
	return found
}

// eachSelected yields every object of a kind that a policy selects. With a namespace, it yields only those in the namespace and
// those outside of namespaces.
func (s *Snapshot) eachSelected(p *policy.Policy, k *LiveKind, namespace string, yield func(*workload.Object)) {
	if !p.Target.MatchesKind(k.GroupKind) || !k.Can(p.Needs) {
		return
	}
	visit := func(obj *workload.Object) bool {
		if p.Target.Matches(k.GroupKind, obj, s.Namespace(obj.Namespace).Labels) {
			yield(obj)
		}
		return true
	}
	if namespace != "" {
		k.Live.RangeNamespace(namespace, visit)
		k.Live.RangeNamespace("", visit)
		return
	}
	named, others := p.Target.Namespaces()
	if others || len(named) == 0 {
		k.Live.Range(visit)
		return
	}
	for _, ns := range named {
		k.Live.RangeNamespace(ns, visit)
	}
}

// Related yields an object, its scale target, its autoscalers, its owners, the objects that it applies, and the objects
// related by Follows, to the scale target too.
func (s *Snapshot) Related(ref workload.Ref, yield func(workload.Ref)) {
	yield(ref)
	if k := s.kinds[ref.GroupKind]; k != nil {
		if governed := k.Live.governedBy(ref); governed != (workload.Ref{}) {
			governed = s.Referent(governed)
			yield(governed)
			s.eachFollowed(governed, yield)
		}
		for _, owned := range k.Live.owned(ref) {
			yield(owned)
		}
	}
	owners, _ := s.Owners(ref)
	for _, owner := range owners {
		yield(owner)
	}
	for _, g := range s.Autoscalers(ref) {
		yield(g)
	}
	s.eachFollowed(ref, yield)
	s.EachFollower(ref, yield)
}

// eachFollowed yields the object that an object follows, and so on.
func (s *Snapshot) eachFollowed(ref workload.Ref, yield func(workload.Ref)) {
	for range decide.MaxFollowed {
		k, obj := s.kinds[ref.GroupKind], s.Object(ref)
		if k == nil || obj == nil {
			return
		}
		by, ok := k.Adapter.Follows(obj)
		if !ok {
			return
		}
		if s.Object(by) == nil {
			by.Namespace = ""
		}
		ref = by
		yield(ref)
	}
}

// EachFollower yields the followers of an object, their autoscalers and their followers. It searches the objects of a
// namespace, or all objects of the kinds of followers if the object is in none.
func (s *Snapshot) EachFollower(ref workload.Ref, yield func(workload.Ref)) {
	s.eachFollower(ref, decide.MaxFollowed, yield)
}

func (s *Snapshot) eachFollower(ref workload.Ref, most int, yield func(workload.Ref)) {
	if most == 0 {
		return
	}
	for _, k := range s.kinds {
		if k.Adapter.FollowedKind() != ref.GroupKind {
			continue
		}
		visit := func(obj *workload.Object) bool {
			if by, ok := k.Adapter.Follows(obj); ok && by.Name == ref.Name {
				yield(k.Ref(obj))
				for _, g := range s.Autoscalers(k.Ref(obj)) {
					yield(g)
				}
				s.eachFollower(k.Ref(obj), most-1, yield)
			}
			return true
		}
		if ref.Namespace == "" {
			k.Live.Range(visit)
		} else {
			k.Live.RangeNamespace(ref.Namespace, visit)
		}
	}
}

// Keys returns the annotation keys that policies read or set on objects of a kind, and whether they read other
// fields, such as requests or the records of owners. The watch must keep these in addition to the fields read by the adapter.
func (s *Snapshot) Keys(gk schema.GroupKind) adapter.Keys {
	var keys adapter.Keys
	for _, p := range s.policies.all {
		if p.mayTouch(gk) {
			keys.Match = append(keys.Match, p.matchedAnnotations()...)
			keys.Set = append(keys.Set, p.SetAnnotations...)
			keys.Ready = keys.Ready || p.Sleeps()
		}
		keys.Amounts = keys.Amounts || s.keepsAmounts(gk, p)
		keys.Owned = keys.Owned || p.HoldsOwners
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
