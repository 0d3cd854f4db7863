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
	"flyball.dev/flyball/engine/policy/target"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// Change is what a transaction has changed.
type Change struct {
	// Policies has one element for each policy that came, went or has another form.
	Policies []PolicyChange
	// Kinds lists the kinds that came into use, or whose use has changed: every object of them is concerned.
	Kinds []schema.GroupKind
	// Dropped lists the kinds that are not in use any more, with the objects that they had.
	Dropped []*Kind
	// Calendars lists the calendars that more or fewer policies name than before.
	Calendars []string
	// Judging says that something by which changes are judged has changed.
	Judging bool
	// Keys says that the annotations that policies look at or set are other ones.
	Keys bool
}

// PolicyChange is a policy before and after; nil where there was or is none.
type PolicyChange struct {
	ID       workload.Policy
	Old, New *Policy
}

// Tx is a transaction. It must not be used once Update has returned.
type Tx struct {
	scope        target.Scope
	read         readers
	authorsAsked bool
	before       *Snapshot
	next         Snapshot
	policies     *policyEditor
	change       Change
	// touched holds the policies as they were before the transaction.
	touched map[workload.Policy]*Policy
	// rules and exceptions are put into the set, gone are taken out, when the transaction ends.
	rules      map[workload.Policy]*freeze.Rule
	exceptions map[workload.Policy]*freeze.Exception
	gone       sets.Set[workload.Policy]
}

// readers compile the specs of objects that are no policies. Tests have others.
type readers struct {
	calendar func(name string, spec v1alpha1.CalendarSpec, at *field.Path) (timeline.Timeline, field.ErrorList)
	adapter  func(name string, spec v1alpha1.AdapterSpec, keys adapter.Keys) (*adapter.Adapter, field.ErrorList)
}

func newTx(scope target.Scope, read readers, before *Snapshot) *Tx {
	tx := &Tx{
		scope: scope, read: read, before: before, next: *before, policies: edit(before.policies), touched: map[workload.Policy]*Policy{},
		rules: map[workload.Policy]*freeze.Rule{}, exceptions: map[workload.Policy]*freeze.Exception{}, gone: sets.New[workload.Policy](),
	}
	tx.next.calendars, tx.next.kinds, tx.next.adapters = maps.Clone(before.calendars), maps.Clone(before.kinds), maps.Clone(before.adapters)
	return tx
}

// commit gives the snapshot to publish and what is different in it.
func (tx *Tx) commit() (*Snapshot, *Change) {
	tx.next.policies = tx.policies.policyIndex
	tx.commitSet()
	tx.next.findGoverning()
	used := map[string]bool{}
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
	// A pointer into the transaction would keep all of it, and by way of before every snapshot that there has ever been.
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

// SetPolicy takes over a policy object, new or changed. Where nothing has changed that matters to deciding, the newer object
// takes the place of the older one and that is all.
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

// RefuseFinalizer remembers why the finalizer could not be put on a policy object. It is forgotten with the next form of the
// object.
func (tx *Tx) RefuseFinalizer(id workload.Policy, why string) {
	if p := tx.policies.all[id]; p != nil && !isSecured(p.Kind, p.Object) {
		tx.setPolicy(p.Kind, p.Object, fmt.Sprintf("nothing is changed while the finalizer %s cannot be put on this policy: %s", v1alpha1.FinalizerRestore, why))
	}
}

// setPolicy compiles a policy object and takes it over. refused says why it could not be given the finalizer; empty: nothing is known to
// stand in the way.
func (tx *Tx) setPolicy(kind policy.Kind, obj policy.Object, refused string) {
	id := workload.Policy{Kind: kind.Name, Namespace: obj.GetNamespace(), Name: obj.GetName()}
	old := tx.policies.all[id]
	tx.touch(id)
	compiled, errs := compileSafely(kind, id, obj, tx.context())
	parts := kind.Parts(obj)
	next := &Policy{
		Policy:  decide.Policy{Policy: compiled, Deleting: !obj.GetDeletionTimestamp().IsZero(), Orphan: parts.Orphan},
		Kind:    kind,
		Object:  obj,
		Secured: isSecured(kind, obj),
		Refused: refused, Calendars: parts.Calendars,
	}
	tx.judgeBy(id, old, next, len(errs) > 0)
	if !next.Secured && refused == "" && old != nil && old.Secured && old.Object.GetUID() == obj.GetUID() {
		next.Secured = true // somebody took the finalizer off: its controller puts it back, or says that it cannot
	}
	if !next.Secured && !compiled.IsBroken() {
		next.Policy.Policy = withoutFinalizer(compiled, cmp.Or(refused, "the finalizer is about to be put on this policy"))
	}
	tx.policies.put(next)
}

// compileSafely compiles an object. One that makes Flyball panic is one that cannot be read, and stops no other.
func compileSafely(kind policy.Kind, id workload.Policy, obj policy.Object, ctx policy.Context) (compiled *policy.Policy, errs field.ErrorList) {
	if fault := safely(func() { compiled, errs = kind.Compile(obj, ctx) }); fault != nil {
		errs = field.ErrorList{fault}
		compiled = policy.Broken(id, errs)
	}
	return compiled, errs
}

// safely reads a spec. A panic is a fault of that spec; nil: there was none.
func safely(read func()) (fault *field.Error) {
	defer func() {
		if r := recover(); r != nil {
			fault = field.InternalError(field.NewPath("spec"), fmt.Errorf("a fault in Flyball, please report it: %v", r))
		}
	}()
	read()
	return nil
}

// RemovePolicy forgets a policy object that is gone.
func (tx *Tx) RemovePolicy(id workload.Policy) {
	tx.touch(id)
	tx.policies.remove(id)
	tx.stopJudgingBy(id)
}

// SetOwn takes over the objects that Flyball itself runs in. Nobody is told of the change: it comes before any target is worked on.
func (tx *Tx) SetOwn(refs []workload.Ref) { tx.next.own = sets.New(refs...) }

// touch remembers a policy as it was before the transaction, before the first change of it.
func (tx *Tx) touch(id workload.Policy) {
	if _, again := tx.touched[id]; !again {
		tx.touched[id] = tx.policies.all[id]
	}
}

// context is what compiling sees: the state as the transaction has made it.
func (tx *Tx) context() policy.Context {
	return policy.Context{
		Stored: true,
		Scope:  tx.scope,
		Calendars: func(name string) (timeline.Timeline, bool) {
			c := tx.next.calendars[name]
			return c.days, c.valid
		},
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

// recompile takes over again the policies that a function picks.
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

// SetCalendar takes over a calendar, new or changed, and compiles the policies again that name it. It returns what is wrong
// with its days.
func (tx *Tx) SetCalendar(c *v1alpha1.Calendar) field.ErrorList {
	var days timeline.Timeline
	var errs field.ErrorList
	if fault := safely(func() { days, errs = tx.read.calendar(c.Name, c.Spec, field.NewPath("spec")) }); fault != nil {
		errs = field.ErrorList{fault}
	}
	revision := revisionOf(c.UID, c.Generation)
	if tx.next.calendars[c.Name].revision == revision {
		return errs
	}
	// Policies that name an unreadable calendar become invalid, which changes nothing on their targets.
	tx.next.calendars[c.Name] = calendar{revision: revision, days: days, valid: len(errs) == 0}
	tx.recompile(func(p *Policy) bool { return slices.Contains(p.Calendars, c.Name) })
	return errs
}

// RemoveCalendar forgets a calendar that is gone.
func (tx *Tx) RemoveCalendar(name string) {
	if _, known := tx.next.calendars[name]; !known {
		return
	}
	delete(tx.next.calendars, name)
	tx.recompile(func(p *Policy) bool { return slices.Contains(p.Calendars, name) })
}

func revisionOf(uid types.UID, generation int64) string { return fmt.Sprintf("%s/%d", uid, generation) }

// SetNamespaces says where namespaces are found.
func (tx *Tx) SetNamespaces(objects Objects) { tx.next.namespaces = objects }

// SetAdapter takes over an Adapter object, new or changed; serving says what is known of its kind. Policies that could not be
// read are compiled again: which kinds there are may be what was missing.
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
	if fault == nil && len(errs) == 0 { // else its controller says why
		next.Compiled = compiled
	}
	next.Sleeps = len(a.Spec.Scale)+len(a.Spec.Suspend) > 0
	tx.change.Judging = true // changes are judged by adapters
	tx.next.adapters[resource] = next
	tx.recompile(func(p *Policy) bool { return p.Secured && p.IsBroken() })
}

// RemoveAdapter forgets an Adapter object that is gone.
func (tx *Tx) RemoveAdapter(name string) {
	tx.change.Judging = true
	delete(tx.next.adapters, schema.ParseGroupResource(name))
}

// UseKind puts a kind to use, in place of an older form of it. Policies that depend on it are compiled again.
func (tx *Tx) UseKind(k *Kind) {
	old := tx.next.kinds[k.GroupKind]
	if old != nil && old.Live != k.Live {
		k.Live.inherit(old.Live)
	}
	tx.changeKind(k)
	tx.recompile(func(p *Policy) bool {
		return p.Secured && p.IsBroken() || slices.Contains(p.Kind.Parts(p.Object).Kinds, k.GroupKind)
	})
}

// BlockKind stops new writes for a kind whose adapter has gone bad. What is asleep stays so, with its ledger.
func (tx *Tx) BlockKind(gk schema.GroupKind, adapterName, why string) {
	if k := tx.kindOf(gk, adapterName); k != nil && k.Blocked != why {
		next := *k.Kind
		next.Blocked = why
		tx.changeKind(&Kind{Kind: &next, Live: k.Live})
	}
}

// ReleaseKind gives back everything on a kind whose Adapter object is being deleted.
func (tx *Tx) ReleaseKind(gk schema.GroupKind, adapterName string) {
	if k := tx.kindOf(gk, adapterName); k != nil && !k.Releasing {
		next := *k.Kind
		next.Releasing = true
		tx.changeKind(&Kind{Kind: &next, Live: k.Live})
	}
}

// kindOf is the kind in use whose adapter has a name; nil: there is none, or another adapter has taken it over.
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
