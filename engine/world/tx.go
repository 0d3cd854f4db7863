package world

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

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
	"flyball.dev/flyball/engine/policy/when"
	"flyball.dev/flyball/engine/workload"
)

// Change lists the differences made by a transaction.
type Change struct {
	// Policies has one element for each policy that was added, removed or changed.
	Policies []PolicyChange
	// Kinds lists the kinds newly in use and the kinds with a changed use: all their objects are affected.
	Kinds []schema.GroupKind
	// Dropped lists the kinds no longer in use, with their former objects.
	Dropped []*Kind
	// Calendars lists the calendars that were compiled, or that are used by more or fewer policies than before.
	Calendars []string
	// Judging is true if an input of admission verdicts has changed.
	Judging bool
	// Keys is true if the set of annotation keys read or set by policies has changed.
	Keys bool
}

// PolicyChange is a policy before and after a transaction; nil if absent.
type PolicyChange struct {
	ID       workload.Policy
	Old, New *Policy
}

// Tx is a transaction. It must not be used after Update has returned.
type Tx struct {
	scope        selector.Scope
	read         readers
	authorsAsked bool
	before       *Snapshot
	next         Snapshot
	policies     *policyEditor
	change       Change
	// touched holds the policies as they were before the transaction.
	touched map[workload.Policy]*Policy
	// compiled holds the names of the calendars that were compiled in this transaction.
	compiled map[string]bool
	// At the end of the transaction, rules and exceptions are added to the set and gone are removed.
	rules      map[workload.Policy]*freeze.Rule
	exceptions map[workload.Policy]*freeze.Exception
	gone       sets.Set[workload.Policy]
}

// readers compile the specs of objects other than policies. Tests replace them.
type readers struct {
	calendar func(name string, spec v1alpha1.CalendarSpec, from when.Sources, at *field.Path) (when.CompiledCalendar, field.ErrorList)
	adapter  func(name string, spec v1alpha1.AdapterSpec, keys adapter.Keys) (*adapter.Adapter, field.ErrorList)
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
	tx.next.findGoverning()
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
	if tx.before.policies.keys[amountsKey] > 0 && tx.next.policies.keys[amountsKey] == 0 {
		tx.next.leaving = true
	}
	tx.change.Keys = !sameKeys(tx.before.policies.keys, tx.next.policies.keys) || tx.before.leaving != tx.next.leaving ||
		!slices.Equal(tx.before.set.AnnotationKeys(), tx.next.set.AnnotationKeys())
	// The copies keep the transaction from being referenced: by its field before it would hold every earlier
	// snapshot in memory.
	next, change := tx.next, tx.change
	return &next, &change
}

func calendarsOf(p *Policy) sets.Set[string] {
	if p == nil {
		return nil
	}
	return sets.New(p.Calendars...)
}

func sameKeys(a, b map[string]int) bool {
	for key := range a {
		if b[key] == 0 {
			return false
		}
	}
	return len(a) == len(b)
}

// SetPolicy stores a new or changed policy object. If nothing relevant to decisions has changed, the newer object
// simply replaces the older.
func (tx *Tx) SetPolicy(kind policy.Kind, obj policy.Object) {
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
			refused = old.Refused // the finalizer is not there yet
		}
	}
	tx.setPolicy(kind, obj, refused)
}

// RefuseFinalizer records why the finalizer could not be added to a policy object. The next form of the object
// clears the record.
func (tx *Tx) RefuseFinalizer(id workload.Policy, why string) {
	if p := tx.policies.all[id]; p != nil && !isSecured(p.Kind, p.Object) {
		tx.setPolicy(p.Kind, p.Object, fmt.Sprintf("nothing is changed while the finalizer %s cannot be put on this policy: %s",
			v1alpha1.FinalizerRestore, why))
	}
}

// setPolicy compiles and stores a policy object. The text refused is the reason why the finalizer could not be added;
// empty: no known reason.
func (tx *Tx) setPolicy(kind policy.Kind, obj policy.Object, refused string) {
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
		next.Secured = true // somebody removed the finalizer; the policy's controller adds it again or reports the failure
	}
	if !next.Secured && !compiled.IsBroken() {
		next.Policy.Policy = withoutFinalizer(compiled, cmp.Or(refused, "the finalizer is about to be put on this policy"))
	}
	tx.policies.put(next)
}

// compileSafely compiles an object. A panic makes this policy unreadable and does not stop other policies.
func compileSafely(kind policy.Kind, id workload.Policy, obj policy.Object, ctx policy.Context) (compiled *policy.Policy,
	errs field.ErrorList) {
	if fault := safely(func() { compiled, errs = kind.Compile(obj, ctx) }); fault != nil {
		errs = field.ErrorList{fault}
		compiled = policy.Broken(id, errs)
	}
	return compiled, errs
}

// safely reads a spec. It returns a panic as a fault of that spec; nil: no panic.
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

// SetOwn stores the objects in which Flyball itself runs. Observers are not notified: the call comes before work on
// targets begins.
func (tx *Tx) SetOwn(refs []workload.Ref) { tx.next.own = sets.New(refs...) }

// touch remembers a policy's form from before the transaction.
func (tx *Tx) touch(id workload.Policy) {
	if _, again := tx.touched[id]; !again {
		tx.touched[id] = tx.policies.all[id]
	}
}

// context returns the context of compilation: the state as changed by the transaction so far.
func (tx *Tx) context() policy.Context {
	return policy.Context{
		Stored:    true,
		Scope:     tx.scope,
		Calendars: tx.next.Days, Unreadable: tx.next.IsUnreadable,
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

// recompile compiles the picked policies again.
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

// SetAdapter stores a new or changed Adapter object; serving is the state of the kind on the API server. Unreadable
// policies are compiled again, because the kind may have been the missing part.
func (tx *Tx) SetAdapter(a *v1alpha1.Adapter, serving Serving) {
	resource := schema.ParseGroupResource(a.Name)
	next := &Adapter{GroupKind: a.Spec.Target.GroupKind(), Serving: serving,
		Deleting: !a.DeletionTimestamp.IsZero(), revision: revisionOf(a.UID, a.Generation)}
	if old := tx.next.adapters[resource]; old != nil {
		if old.revision == next.revision && old.Serving == serving && old.Deleting == next.Deleting {
			return
		}
		next.Compiled = old.Compiled
	}
	var compiled *adapter.Adapter
	var errs field.ErrorList
	fault := safely(func() { compiled, errs = tx.read.adapter(a.Name, a.Spec, adapter.Keys{}) })
	if fault == nil && len(errs) == 0 { // the adapter's controller reports the errors
		next.Compiled = compiled
	}
	next.Sleeps = len(a.Spec.Scale)+len(a.Spec.Suspend) > 0
	tx.change.Judging = true // adapters classify changes for admission
	tx.next.adapters[resource] = next
	tx.recompile(func(p *Policy) bool { return p.Secured && p.IsBroken() })
}

// RemoveAdapter removes a deleted Adapter object.
func (tx *Tx) RemoveAdapter(name string) {
	tx.change.Judging = true
	delete(tx.next.adapters, schema.ParseGroupResource(name))
}

// UseKind puts a kind to use and replaces its older form. Policies that depend on the kind are compiled again.
func (tx *Tx) UseKind(k *Kind) {
	old := tx.next.kinds[k.GroupKind]
	if old != nil && old.Live != k.Live {
		k.Live.inherit(old.Live)
	}
	tx.changeKind(k)
	tx.recompile(func(p *Policy) bool {
		return p.Secured && p.IsBroken() || slices.Contains(p.Kind.Meta(p.Object).Kinds, k.GroupKind)
	})
}

// BlockKind stops new writes for a kind whose adapter has become unusable. Sleeping targets keep sleeping and keep
// their ledgers.
func (tx *Tx) BlockKind(gk schema.GroupKind, adapterName, why string) {
	if k := tx.kindOf(gk, adapterName); k != nil && k.Blocked != why {
		next := *k.Kind
		next.Blocked = why
		tx.changeKind(&Kind{Kind: &next, Live: k.Live})
	}
}

// ReleaseKind restores everything on a kind whose Adapter object is being deleted.
func (tx *Tx) ReleaseKind(gk schema.GroupKind, adapterName string) {
	if k := tx.kindOf(gk, adapterName); k != nil && !k.Releasing {
		next := *k.Kind
		next.Releasing = true
		tx.changeKind(&Kind{Kind: &next, Live: k.Live})
	}
}

// kindOf returns the kind in use with an adapter of the given name; nil: no such kind, or another adapter now
// serves the kind.
func (tx *Tx) kindOf(gk schema.GroupKind, adapterName string) *Kind {
	if k := tx.next.kinds[gk]; k != nil && k.Adapter.Name() == adapterName {
		return k
	}
	return nil
}

func (tx *Tx) changeKind(k *Kind) {
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
