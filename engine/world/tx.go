package world

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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

// Change lists the differences made by a transaction.
type Change struct {
	// Policies has one element for each policy that was added, removed or changed.
	Policies []PolicyChange
	// Kinds lists the kinds that are newly in use or in use in a different way. All their objects are affected.
	Kinds []schema.GroupKind
	// Dropped lists the kinds that are no longer in use, with their former objects.
	Dropped []*LiveKind
	// Calendars lists the calendars that were compiled, or that are used by more or fewer policies than before.
	Calendars []string
	// Judging is true if an input of admission verdicts has changed.
	Judging bool
	// Keys is true if policies need other parts of objects in memory than before: annotations, amounts, ready predicates
	// or records of owners.
	Keys bool
}

// MovesClaims reports whether claims on targets may have come or gone without a change of an object.
func (c *Change) MovesClaims() bool {
	return len(c.Policies) > 0 || len(c.Kinds) > 0 || len(c.Dropped) > 0 || c.Judging
}

// PolicyChange is a policy before and after a transaction. Old is nil for a new policy. New is nil for a removed
// policy.
type PolicyChange struct {
	ID       workload.Policy
	Old, New *Policy
}

// Tx is a transaction of World.Update. It must not be used after Update has returned.
type Tx struct {
	scope        selector.Scope
	read         readers
	authorsAsked bool
	before       *Snapshot
	next         Snapshot
	policies     *policyEditor
	change       Change
	// touched holds the state of the touched policies before the transaction.
	touched map[workload.Policy]*Policy
	// compiled holds the names of the calendars that were compiled in this transaction.
	compiled map[string]bool
	// files are read files of calendars, by the name of the calendar.
	files map[string]*times.ReadFile
	// rules and exceptions are added to the set at the end of the transaction. The policies in gone are removed from it.
	rules      map[workload.Policy]*freeze.Rule
	exceptions map[workload.Policy]*freeze.Exception
	gone       sets.Set[workload.Policy]
}

// readers compile the specs of objects other than policies. Tests replace them.
type readers struct {
	calendar func(name string, spec v1alpha1.CalendarSpec, from times.Sources, at *field.Path) (times.CompiledCalendar, field.ErrorList)
	adapter  func(name string, spec v1alpha1.AdapterSpec, keys adapter.Keys) (*adapter.Adapter, field.ErrorList)
	file     func(text, timeZone string) *times.ReadFile
}

func newTx(scope selector.Scope, read readers, before *Snapshot) *Tx {
	tx := &Tx{
		scope: scope, read: read, before: before, next: *before, policies: edit(before.policies), touched: map[workload.Policy]*Policy{},
		compiled: map[string]bool{},
		rules:    map[workload.Policy]*freeze.Rule{}, exceptions: map[workload.Policy]*freeze.Exception{}, gone: sets.New[workload.Policy](),
	}
	tx.next.calendars, tx.next.kinds, tx.next.adapters = maps.Clone(before.calendars), maps.Clone(before.kinds), maps.Clone(before.adapters)
	tx.next.texts = maps.Clone(before.texts)
	return tx
}

// commit returns the snapshot to publish and its differences.
func (tx *Tx) commit() (*Snapshot, *Change) {
	tx.next.policies = tx.policies.done()
	tx.commitSet()
	tx.next.findRelating()
	used := tx.compiled
	for id, old := range tx.touched {
		now := tx.policies.all[id]
		if old == nil && now == nil {
			continue
		}
		tx.change.Policies = append(tx.change.Policies, PolicyChange{ID: id, Old: old, New: now})
		for name := range calendarsOf(old).SymmetricDifference(calendarsOf(now)) {
			used[name] = true
		}
	}
	slices.SortFunc(tx.change.Policies, func(a, b PolicyChange) int { return a.ID.Compare(b.ID) })
	tx.change.Calendars = slices.Sorted(maps.Keys(used))
	if tuned := (need{part: autoscalers}); tx.before.policies.keys[tuned] > 0 && tx.next.policies.keys[tuned] == 0 {
		tx.next.leaving = true
	}
	tx.change.Keys = !sameKeys(tx.before.policies.keys, tx.next.policies.keys) || tx.before.leaving != tx.next.leaving ||
		!slices.Equal(tx.before.set.AnnotationKeys(), tx.next.set.AnnotationKeys())
	// The result must not point into the transaction. Otherwise the transaction's field before, and with it every
	// earlier snapshot, would stay in memory.
	next, change := tx.next, tx.change
	return &next, &change
}

func calendarsOf(p *Policy) sets.Set[string] {
	if p == nil {
		return nil
	}
	return sets.New(p.Calendars...)
}

func sameKeys(a, b map[need]int) bool {
	for key := range a {
		if b[key] == 0 {
			return false
		}
	}
	return len(a) == len(b)
}

// SetPolicy stores a new or changed policy object. If nothing that matters for decisions has changed, it only
// replaces the object.
func (tx *Tx) SetPolicy(kind policy.Row, obj policy.Object) {
	id := workload.Policy{Kind: kind.Name, Namespace: obj.GetNamespace(), Name: obj.GetName()}
	old := tx.policies.all[id]
	refused := ""
	if old != nil && old.Object.GetUID() == obj.GetUID() {
		if decidesAlike(old.Object, obj, kind) {
			next := *old
			next.Object = obj
			tx.policies.put(&next)
			return
		}
		if !isSecured(kind, obj) {
			refused = old.Refused // the finalizer is still missing
		}
	}
	tx.setPolicy(kind, obj, refused)
}

// RefuseFinalizer records why the finalizer could not be added to a policy object. The next change of the object that
// matters for decisions clears the record.
func (tx *Tx) RefuseFinalizer(id workload.Policy, why string) {
	if p := tx.policies.all[id]; p != nil && !isSecured(p.Kind, p.Object) {
		tx.setPolicy(p.Kind, p.Object, fmt.Sprintf("nothing is changed while the finalizer %s cannot be put on this policy: %s",
			v1alpha1.FinalizerRestore, why))
	}
}

// setPolicy compiles and stores a policy object. refused is the reason why the finalizer could not be added. Empty
// means that no reason is known.
func (tx *Tx) setPolicy(kind policy.Row, obj policy.Object, refused string) {
	id := workload.Policy{Kind: kind.Name, Namespace: obj.GetNamespace(), Name: obj.GetName()}
	old := tx.policies.all[id]
	tx.touch(id)
	compiled, errs := compileSafely(kind, id, obj, tx.context())
	parts := kind.Meta(obj)
	next := &Policy{
		Policy:  decide.Policy{Policy: compiled, Deleting: !obj.GetDeletionTimestamp().IsZero(), Orphan: parts.Orphan},
		Kind:    kind,
		Object:  obj,
		Secured: isSecured(kind, obj),
		Refused: refused, Calendars: parts.Calendars,
	}
	tx.judgeBy(id, old, next, len(errs) > 0)
	if !next.Secured && refused == "" && old != nil && old.Secured && old.Object.GetUID() == obj.GetUID() {
		next.Secured = true // a user removed the finalizer; the policy's controller adds it again or reports the failure
	}
	if !next.Secured && !compiled.IsBroken() {
		next.Policy.Policy = withoutFinalizer(compiled, cmp.Or(refused, "the finalizer is about to be put on this policy"))
	}
	tx.policies.put(next)
}

// compileSafely compiles a policy object. After a panic only this policy is unreadable.
func compileSafely(kind policy.Row, id workload.Policy, obj policy.Object, ctx policy.Context) (compiled *policy.Policy,
	errs field.ErrorList) {
	if fault := safely(func() { compiled, errs = kind.Compile(obj, ctx) }); fault != nil {
		errs = field.ErrorList{fault}
		compiled = policy.Broken(id, errs)
	}
	return compiled, errs
}

// safely calls a function that reads a spec. It returns a panic as a fault of the spec, or nil if there was no panic.
func safely(read func()) (fault *field.Error) {
	defer func() {
		if r := recover(); r != nil {
			fault = field.InternalError(field.NewPath("spec"), fmt.Errorf("a fault in Flyball, please report it: %v", r))
		}
	}()
	read()
	return nil
}

// RemovePolicy removes a deleted policy object.
func (tx *Tx) RemovePolicy(id workload.Policy) {
	tx.touch(id)
	tx.policies.remove(id)
	tx.stopJudgingBy(id)
}

// SetOwn stores the objects in which Flyball itself runs. It is called before the work on targets begins, so
// observers are not notified.
func (tx *Tx) SetOwn(refs []workload.Ref) { tx.next.own = sets.New(refs...) }

// touch stores the state of a policy before the transaction.
func (tx *Tx) touch(id workload.Policy) {
	if _, again := tx.touched[id]; !again {
		tx.touched[id] = tx.policies.all[id]
	}
}

// context returns the context for compilation, with all changes made by the transaction so far.
func (tx *Tx) context() policy.Context {
	return policy.Context{
		Stored:    true,
		Scope:     tx.scope,
		Calendars: tx.next.Days, Lost: tx.next.Lost,
		Kinds: func(gk schema.GroupKind) (policy.AdaptedKind, bool) {
			k := tx.next.kinds[gk]
			if k == nil {
				return policy.AdaptedKind{}, false
			}
			return policy.Adapted(k.Adapter, k.Resource.Version), true
		},
		AuthorsAsked: tx.authorsAsked,
	}
}

// recompile compiles again the policies for which the function pick returns true.
func (tx *Tx) recompile(pick func(*Policy) bool) {
	var again []*Policy
	for _, p := range tx.policies.all {
		if pick(p) {
			again = append(again, p)
		}
	}
	for _, p := range again {
		tx.setPolicy(p.Kind, p.Object, p.Refused)
	}
}

func revisionOf(uid types.UID, generation int64) string { return fmt.Sprintf("%s/%d", uid, generation) }

// SetNamespaces sets the store of namespaces.
func (tx *Tx) SetNamespaces(objects Objects) { tx.next.namespaces = objects }

// SetAdapter stores a new or changed Adapter object. serving says whether the API server serves its kind. Unreadable
// policies are compiled again, because they may have lacked this adapter.
func (tx *Tx) SetAdapter(a *v1alpha1.Adapter, serving Serving) {
	resource := schema.ParseGroupResource(a.Name)
	next := &Adapter{GroupKind: a.Spec.Target.GroupKind(), Serving: serving,
		Deleting: !a.DeletionTimestamp.IsZero(), revision: revisionOf(a.UID, a.Generation), leftOut: strings.Join(a.Status.LeftOut, " ")}
	spec := adapter.Served(a)
	if old := tx.next.adapters[resource]; old != nil {
		if old.revision == next.revision && old.leftOut == next.leftOut && old.Serving == serving && old.Deleting == next.Deleting {
			return
		}
		next.Compiled = old.Compiled
	}
	var compiled *adapter.Adapter
	var errs field.ErrorList
	fault := safely(func() { compiled, errs = tx.read.adapter(a.Name, spec, adapter.Keys{}) })
	if fault == nil && len(errs) == 0 { // the adapter's controller reports the errors
		next.Compiled = compiled
	}
	next.Sleeps = len(spec.Scale)+len(spec.Suspend) > 0
	tx.change.Judging = true // the adapter decides which changes admission judges
	tx.next.adapters[resource] = next
	tx.recompile(func(p *Policy) bool { return p.Secured && p.IsBroken() })
}

// RemoveAdapter removes a deleted Adapter object.
func (tx *Tx) RemoveAdapter(name string) {
	tx.change.Judging = true
	delete(tx.next.adapters, schema.ParseGroupResource(name))
}

// UseKind puts a kind to use, or replaces its current form. Policies that depend on the kind are compiled again.
func (tx *Tx) UseKind(k *LiveKind) {
	old := tx.next.kinds[k.GroupKind]
	if old != nil && old.Live != k.Live {
		k.Live.inherit(old.Live)
	}
	tx.changeKind(k)
	tx.recompile(func(p *Policy) bool {
		return p.Secured && p.IsBroken() || slices.Contains(p.Kind.Meta(p.Object).Kinds, k.GroupKind)
	})
}

// BlockKind stops new writes for a kind whose adapter has become unusable. Sleeping targets stay asleep and keep
// their ledgers.
func (tx *Tx) BlockKind(gk schema.GroupKind, adapterName, why string) {
	if k := tx.kindOf(gk, adapterName); k != nil && k.Blocked != why {
		next := *k.Kind
		next.Blocked = why
		tx.changeKind(&LiveKind{Kind: &next, Live: k.Live})
	}
}

// ReleaseKind marks a kind whose Adapter object is being deleted, so that all its objects are restored.
func (tx *Tx) ReleaseKind(gk schema.GroupKind, adapterName string) {
	if k := tx.kindOf(gk, adapterName); k != nil && !k.Releasing {
		next := *k.Kind
		next.Releasing = true
		tx.changeKind(&LiveKind{Kind: &next, Live: k.Live})
	}
}

// kindOf returns the kind in use with an adapter of the given name. It returns nil if the kind is not in use or has a
// different adapter by now.
func (tx *Tx) kindOf(gk schema.GroupKind, adapterName string) *LiveKind {
	if k := tx.next.kinds[gk]; k != nil && k.Adapter.Name() == adapterName {
		return k
	}
	return nil
}

func (tx *Tx) changeKind(k *LiveKind) {
	tx.next.kinds[k.GroupKind] = k
	if !slices.Contains(tx.change.Kinds, k.GroupKind) {
		tx.change.Kinds = append(tx.change.Kinds, k.GroupKind)
	}
}

// DropKind takes the kind of an adapter out of use.
func (tx *Tx) DropKind(adapterName string) {
	for gk, k := range tx.next.kinds {
		if k.Adapter.Name() == adapterName {
			delete(tx.next.kinds, gk)
			tx.change.Dropped = append(tx.change.Dropped, k)
			return
		}
	}
}
