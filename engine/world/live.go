package world

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// Objects are the objects of one kind, as a watch keeps them.
type Objects interface {
	Get(namespace, name string) *workload.Object
	Range(yield func(*workload.Object) bool)
	RangeNamespace(namespace string, yield func(*workload.Object) bool)
	HasSynced() bool
	Len() int
}

// Kind is a kind in use with its objects.
type Kind struct {
	*decide.Kind
	Live *Live
}

// Live are the objects of one watch, with what follows from them: which carry ledgers, and which govern what. It belongs to
// its watch: where another watch takes over, another Live does, so that nothing late from the old one can be seen.
//
// Objects change too often for each change to be a transaction of its own. So a Snapshot points to its Lives, and a Live
// keeps itself.
type Live struct {
	Objects
	gk schema.GroupKind

	mu        sync.RWMutex
	adapter   *adapter.Adapter
	ledgers   ledgerIndex
	governors governorIndex
}

// NewLive makes the Live of a watch that is about to start for an adapter.
func NewLive(a *adapter.Adapter) *Live {
	return &Live{gk: a.GroupKind(), adapter: a, ledgers: newLedgerIndex(), governors: newGovernorIndex()}
}

// Effects are what a change of one object means to others.
type Effects struct {
	// Targets are to be looked at again: the object, and what it governs or governed, as its references say that (Snapshot.Referent).
	Targets []workload.Ref
	// Emptied lists the policies that have just lost their last ledger on objects of the kind.
	Emptied []workload.Policy
	// FirstOrLast says that the kind has just got its first ledger or lost its last.
	FirstOrLast bool
}

// Change takes over a change of one object. An addition has no old, a deletion no cur.
func (l *Live) Change(old, cur *workload.Object) Effects {
	obj := cmp.Or(cur, old)
	ref := workload.Ref{GroupKind: l.gk, Namespace: obj.Namespace, Name: obj.Name}
	e := Effects{Targets: []workload.Ref{ref}}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Emptied, e.FirstOrLast = l.ledgers.update(ref, cur)
	e.Targets = append(e.Targets, l.governors.update(ref, l.target(cur))...)
	return e
}

// target is what an object governs; zero: nothing.
func (l *Live) target(obj *workload.Object) workload.Ref {
	if obj == nil || !l.adapter.CanGovern() {
		return workload.Ref{}
	}
	target, _ := l.adapter.Governs(obj)
	return target
}

// Adapt has other rules over the same objects: what governs what may be different by them.
func (l *Live) Adapt(a *adapter.Adapter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.adapter = a
	l.governors = newGovernorIndex()
	l.Range(func(obj *workload.Object) bool {
		l.governors.update(workload.Ref{GroupKind: l.gk, Namespace: obj.Namespace, Name: obj.Name}, l.target(obj))
		return true
	})
}

// inherit takes over from the Live that this one follows what only that one knows: of ledgers that cannot be read any more,
// the policies that they were of.
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

// Ledgers counts the objects that carry a ledger.
func (l *Live) Ledgers() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.ledgers.by)
}

// WithLedgers lists the objects that carry a ledger, in order.
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

// policiesOn lists the policies that an object carries a ledger of.
func (l *Live) policiesOn(ref workload.Ref) []workload.Policy {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var out []workload.Policy
	for _, name := range l.ledgers.by[ref] {
		out = append(out, workload.ParsePolicy(name))
	}
	return out
}

func (l *Live) governorsOf(ref workload.Ref) []workload.Ref {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.governors.of) == 0 {
		return nil
	}
	all := slices.Collect(maps.Keys(l.governors.of[ref]))
	if lower := strings.ToLower(ref.Kind); lower != ref.Kind {
		ref.Kind = lower // the other spelling that references have (workload.Names)
		all = slices.AppendSeq(all, maps.Keys(l.governors.of[ref]))
	}
	return all
}

func (l *Live) governedBy(ref workload.Ref) workload.Ref {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.governors.what[ref]
}

// ledgerIndex knows which objects carry a ledger and on whose behalf.
type ledgerIndex struct {
	by       map[workload.Ref][]string
	byPolicy map[string]int
}

// unreadable stands for the policies of a ledger that cannot be read and of which nothing was known before.
var unreadable = []string{""}

func newLedgerIndex() ledgerIndex {
	return ledgerIndex{by: map[workload.Ref][]string{}, byPolicy: map[string]int{}}
}

// update takes over the ledger of an object; nil is one that is gone. An object that is being deleted needs no giving back, so its ledger
// does not count, however long a finalizer keeps the object. A ledger that cannot be read goes on to count for the policies that it was known
// to be of.
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

// governorIndex knows, for each object, which others own its replicas.
type governorIndex struct {
	of   map[workload.Ref]map[workload.Ref]struct{}
	what map[workload.Ref]workload.Ref
}

func newGovernorIndex() governorIndex {
	return governorIndex{of: map[workload.Ref]map[workload.Ref]struct{}{}, what: map[workload.Ref]workload.Ref{}}
}

// update says what a governor governs; a zero target is nothing. It returns what it governs and governed.
func (x *governorIndex) update(governor, target workload.Ref) (touched []workload.Ref) {
	none := workload.Ref{}
	before := x.what[governor]
	if target != none {
		touched = append(touched, target)
	}
	if before == target {
		return touched
	}
	if before != none {
		touched = append(touched, before)
		delete(x.of[before], governor)
		if len(x.of[before]) == 0 {
			delete(x.of, before)
		}
	}
	if target == none {
		delete(x.what, governor)
		return touched
	}
	x.what[governor] = target
	if x.of[target] == nil {
		x.of[target] = map[workload.Ref]struct{}{}
	}
	x.of[target][governor] = struct{}{}
	return touched
}
