package world

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// Objects are the objects of a kind in the memory of a watch.
type Objects interface {
	Get(namespace, name string) *workload.Object
	Range(yield func(*workload.Object) bool)
	RangeNamespace(namespace string, yield func(*workload.Object) bool)
	HasSynced() bool
	Len() int
}

// LiveKind is a kind in use, with its objects.
type LiveKind struct {
	*decide.Kind
	Live *Live
}

// Live holds the objects of one watch and three indexes: the objects with ledgers, the autoscalers by scale target, and
// the owners by the objects that they apply.
// A new watch of the kind gets a new Live, so late events of the old watch have no effect.
//
// Objects change too often for a transaction per change. So a Snapshot points to its Lives, and each Live has its own
// lock.
type Live struct {
	Objects
	gk schema.GroupKind

	mu          sync.RWMutex
	adapter     *adapter.Adapter
	ledgers     ledgerIndex
	autoscalers autoscalerIndex
	owners      ownerIndex
}

// NewLive returns the Live for a new watch of an adapter's kind.
func NewLive(a *adapter.Adapter) *Live {
	return &Live{gk: a.GroupKind(), adapter: a, ledgers: newLedgerIndex(), autoscalers: newAutoscalerIndex(),
		owners: newOwnerIndex()}
}

// change updates the indexes after a change of an object. The returned targets are the object, its old and new scale targets, and the
// objects that it applies. A scale target is spelled as in the object's reference (see Snapshot.Referent).
func (l *Live) change(ref workload.Ref, old, cur *workload.Object) (e Effects) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Emptied, e.FirstOrLast = l.ledgers.update(ref, cur)
	e.Targets = append([]workload.Ref{ref}, l.autoscalers.update(ref, l.target(cur))...)
	owned := l.owners.update(ref, l.adapter.Owned(cur), sameState(old, cur))
	e.Targets, e.Owner = append(e.Targets, owned...), len(owned) > 0
	return e
}

// target returns the scale target of an object, or the zero Ref if the object has none.
func (l *Live) target(obj *workload.Object) workload.Ref {
	if obj == nil || !l.adapter.CanGovern() {
		return workload.Ref{}
	}
	target, _ := l.adapter.Governs(obj)
	return target
}

// Adapt replaces the adapter and keeps the objects. It reads their scale targets again with the new adapter.
func (l *Live) Adapt(a *adapter.Adapter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.adapter = a
	l.autoscalers, l.owners = newAutoscalerIndex(), newOwnerIndex()
	l.Range(func(obj *workload.Object) bool {
		ref := workload.Ref{GroupKind: l.gk, Namespace: obj.Namespace, Name: obj.Name}
		l.autoscalers.update(ref, l.target(obj))
		l.owners.update(ref, a.Owned(obj), false)
		return true
	})
}

// inherit copies from the predecessor the policies of ledgers that have become unreadable, because they cannot be
// read again.
func (l *Live) inherit(old *Live) {
	old.mu.RLock()
	known := maps.Clone(old.ledgers.by)
	old.mu.RUnlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	for ref, names := range l.ledgers.by {
		if slices.Equal(names, unreadable) && len(known[ref]) > 0 {
			l.ledgers.set(ref, known[ref])
		}
	}
}

// Ledgers returns the number of objects with a ledger.
func (l *Live) Ledgers() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.ledgers.by)
}

// WithLedgers returns the objects with a ledger, in order.
func (l *Live) WithLedgers() []workload.Ref {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.SortedFunc(maps.Keys(l.ledgers.by), workload.Ref.Compare)
}

func (l *Live) ledgersOf(id workload.Policy) int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.ledgers.byPolicy[id.String()]
}

func (l *Live) eachLedgerOf(id workload.Policy, yield func(workload.Ref)) {
	name := id.String()
	l.mu.RLock()
	var refs []workload.Ref
	if l.ledgers.byPolicy[name] > 0 {
		for ref, names := range l.ledgers.by {
			if slices.Contains(names, name) {
				refs = append(refs, ref)
			}
		}
	}
	l.mu.RUnlock()
	for _, ref := range refs {
		yield(ref)
	}
}

// policiesOn returns the policies with entries in an object's ledger.
func (l *Live) policiesOn(ref workload.Ref) []workload.Policy {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var out []workload.Policy
	for _, name := range l.ledgers.by[ref] {
		out = append(out, workload.ParsePolicy(name))
	}
	return out
}

func (l *Live) autoscalersOf(ref workload.Ref) []workload.Ref {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.autoscalers.of) == 0 {
		return nil
	}
	all := slices.Collect(maps.Keys(l.autoscalers.of[ref]))
	if lower := strings.ToLower(ref.Kind); lower != ref.Kind {
		ref.Kind = lower // references may spell the kind in lower case (workload.Names)
		all = slices.AppendSeq(all, maps.Keys(l.autoscalers.of[ref]))
	}
	return all
}

func (l *Live) governedBy(ref workload.Ref) workload.Ref {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.autoscalers.what) == 0 {
		return workload.Ref{}
	}
	return l.autoscalers.what[ref]
}

// ledgerIndex has the policies in the ledger of each object, and the number of objects of each policy.
type ledgerIndex struct {
	by       map[workload.Ref][]string
	byPolicy map[string]int
}

// unreadable is the list of policies for a ledger that was never readable.
var unreadable = []string{""}

func newLedgerIndex() ledgerIndex {
	return ledgerIndex{by: map[workload.Ref][]string{}, byPolicy: map[string]int{}}
}

// update applies the ledger of an object. nil means that the object was deleted. The ledger of an object being
// deleted does not count, because nothing needs to be restored on it, even if a finalizer keeps the object for long.
// An unreadable ledger counts for the policies that it named when it was last readable.
func (x *ledgerIndex) update(ref workload.Ref, obj *workload.Object) (emptied []workload.Policy, firstOrLast bool) {
	before := len(x.by)
	switch {
	case obj == nil || obj.Deleting:
		emptied = x.set(ref, nil)
	case obj.LedgerError == "":
		emptied = x.set(ref, namesIn(obj.Ledger))
	case len(x.by[ref]) == 0:
		emptied = x.set(ref, unreadable)
	}
	return emptied, (before == 0) != (len(x.by) == 0)
}

func namesIn(ledger workload.Ledger) []string {
	var names []string
	for i := range ledger {
		if !slices.Contains(names, ledger[i].By) {
			names = append(names, ledger[i].By)
		}
	}
	slices.Sort(names)
	return names
}

func (x *ledgerIndex) set(ref workload.Ref, names []string) (emptied []workload.Policy) {
	old := x.by[ref]
	if slices.Equal(old, names) {
		return nil
	}
	for _, n := range names {
		x.byPolicy[n]++
	}
	for _, n := range old {
		if x.byPolicy[n]--; x.byPolicy[n] == 0 {
			delete(x.byPolicy, n)
			emptied = append(emptied, workload.ParsePolicy(n))
		}
	}
	if len(names) == 0 {
		delete(x.by, ref)
	} else {
		x.by[ref] = names
	}
	return emptied
}

// autoscalerIndex has the autoscalers of each object (of), and the scale target of each autoscaler (what).
type autoscalerIndex struct {
	of   map[workload.Ref]map[workload.Ref]struct{}
	what map[workload.Ref]workload.Ref
}

func newAutoscalerIndex() autoscalerIndex {
	return autoscalerIndex{of: map[workload.Ref]map[workload.Ref]struct{}{}, what: map[workload.Ref]workload.Ref{}}
}

// update sets the scale target of an autoscaler. The zero Ref means that it has none. It returns the old and the new
// scale target.
func (x *autoscalerIndex) update(autoscaler, target workload.Ref) (touched []workload.Ref) {
	none := workload.Ref{}
	if len(x.what) == 0 && target == none {
		return nil
	}
	before := x.what[autoscaler]
	if target != none {
		touched = append(touched, target)
	}
	if before == target {
		return touched
	}
	if before != none {
		touched = append(touched, before)
		delete(x.of[before], autoscaler)
		if len(x.of[before]) == 0 {
			delete(x.of, before)
		}
	}
	if target == none {
		delete(x.what, autoscaler)
		return touched
	}
	x.what[autoscaler] = target
	if x.of[target] == nil {
		x.of[target] = map[workload.Ref]struct{}{}
	}
	x.of[target][autoscaler] = struct{}{}
	return touched
}
