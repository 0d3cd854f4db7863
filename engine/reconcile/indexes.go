package reconcile

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// ledgers knows which objects carry a ledger and on whose behalf. Updates are idempotent, so that two watches of one kind
// may feed it while one takes over from the other.
type ledgers struct {
	mu       sync.RWMutex
	by       map[workload.Ref][]string
	byPolicy map[string]int
	byKind   map[schema.GroupKind]int
}

func newLedgers() *ledgers {
	return &ledgers{by: map[workload.Ref][]string{}, byPolicy: map[string]int{}, byKind: map[schema.GroupKind]int{}}
}

// Update takes over the ledger of an object, nil if it has none or is gone. It returns the policies that have none left
// where that has just become so, and reports whether the kind has just got its first or lost its last.
func (l *ledgers) Update(ref workload.Ref, ledger workload.Ledger) (emptied []workload.Policy, kindTurned bool) {
	var names []string
	for i := range ledger {
		if !slices.Contains(names, ledger[i].By) {
			names = append(names, ledger[i].By)
		}
	}
	slices.Sort(names)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set(ref, names)
}

// Unreadable takes over an object whose ledger cannot be read: it counts for its kind, and for the policies that it was
// known to be of.
func (l *ledgers) Unreadable(ref workload.Ref) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.by[ref]) == 0 {
		l.set(ref, []string{""})
	}
}

// Of lists the policies that an object carries a ledger of.
func (l *ledgers) Of(ref workload.Ref) []workload.Policy {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var out []workload.Policy
	for _, name := range l.by[ref] {
		out = append(out, workload.ParsePolicy(name))
	}
	return out
}

func (l *ledgers) set(ref workload.Ref, names []string) (emptied []workload.Policy, kindTurned bool) {
	old := l.by[ref]
	if slices.Equal(old, names) {
		return nil, false
	}
	for _, n := range names {
		l.byPolicy[n]++
	}
	for _, n := range old {
		if l.byPolicy[n]--; l.byPolicy[n] == 0 {
			delete(l.byPolicy, n)
			emptied = append(emptied, workload.ParsePolicy(n))
		}
	}
	switch {
	case len(names) == 0:
		delete(l.by, ref)
		l.byKind[ref.GroupKind]--
		kindTurned = l.byKind[ref.GroupKind] == 0
	case len(old) == 0:
		l.byKind[ref.GroupKind]++
		kindTurned = l.byKind[ref.GroupKind] == 1
		fallthrough
	default:
		l.by[ref] = names
	}
	return emptied, kindTurned
}

// DropKind forgets every object of a kind.
func (l *ledgers) DropKind(gk schema.GroupKind) {
	l.mu.RLock()
	var refs []workload.Ref
	for ref := range l.by {
		if ref.GroupKind == gk {
			refs = append(refs, ref)
		}
	}
	l.mu.RUnlock()
	for _, ref := range refs {
		l.Update(ref, nil)
	}
}

// OfKind counts the objects of a kind that carry a ledger.
func (l *ledgers) OfKind(gk schema.GroupKind) int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.byKind[gk]
}

// OfPolicy counts the objects that carry a ledger on behalf of a policy.
func (l *ledgers) OfPolicy(p workload.Policy) int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.byPolicy[p.String()]
}

// Refs lists the objects that carry a ledger on behalf of a policy.
func (l *ledgers) Refs(p workload.Policy) []workload.Ref {
	name := p.String()
	l.mu.RLock()
	defer l.mu.RUnlock()
	var refs []workload.Ref
	for ref, names := range l.by {
		if slices.Contains(names, name) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// governors knows, for each object, which others own its replicas.
type governors struct {
	mu   sync.RWMutex
	of   map[workload.Ref]map[workload.Ref]struct{}
	what map[workload.Ref]workload.Ref
}

func newGovernors() *governors {
	return &governors{of: map[workload.Ref]map[workload.Ref]struct{}{}, what: map[workload.Ref]workload.Ref{}}
}

// Set says what a governor governs; a zero target says nothing any more. It returns what it governed before.
func (g *governors) Set(governor, target workload.Ref) (before workload.Ref) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before = g.what[governor]
	if before == target {
		return before
	}
	if before != (workload.Ref{}) {
		delete(g.of[before], governor)
		if len(g.of[before]) == 0 {
			delete(g.of, before)
		}
	}
	if target == (workload.Ref{}) {
		delete(g.what, governor)
		return before
	}
	g.what[governor] = target
	if g.of[target] == nil {
		g.of[target] = map[workload.Ref]struct{}{}
	}
	g.of[target][governor] = struct{}{}
	return before
}

// Of lists the governors of an object.
func (g *governors) Of(target workload.Ref) []workload.Ref {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if len(g.of[target]) == 0 {
		return nil
	}
	return slices.Collect(maps.Keys(g.of[target]))
}

// Governed gives what an object governs, the zero Ref if nothing.
func (g *governors) Governed(governor workload.Ref) workload.Ref {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.what[governor]
}

// DropKind forgets the governors of a kind.
func (g *governors) DropKind(gk schema.GroupKind) {
	g.mu.RLock()
	var refs []workload.Ref
	for ref := range g.what {
		if ref.GroupKind == gk {
			refs = append(refs, ref)
		}
	}
	g.mu.RUnlock()
	for _, ref := range refs {
		g.Set(ref, workload.Ref{})
	}
}

// policyIndex finds the policies that can reach a namespace.
type policyIndex struct {
	named map[string]map[workload.Policy]*entry
	broad map[workload.Policy]*entry
	all   map[workload.Policy]*entry
}

func newPolicyIndex() policyIndex {
	return policyIndex{named: map[string]map[workload.Policy]*entry{}, broad: map[workload.Policy]*entry{}, all: map[workload.Policy]*entry{}}
}

func (x policyIndex) add(e *entry) {
	x.all[e.id] = e
	named, broad := e.policy.Target.Namespaces()
	for _, ns := range named {
		if x.named[ns] == nil {
			x.named[ns] = map[workload.Policy]*entry{}
		}
		x.named[ns][e.id] = e
	}
	if broad {
		x.broad[e.id] = e
	}
}

func (x policyIndex) remove(e *entry) {
	delete(x.all, e.id)
	delete(x.broad, e.id)
	named, _ := e.policy.Target.Namespaces()
	for _, ns := range named {
		delete(x.named[ns], e.id)
		if len(x.named[ns]) == 0 {
			delete(x.named, ns)
		}
	}
}

// each yields the policies that can reach a namespace; for objects outside namespaces, all of them.
func (x policyIndex) each(namespace string, yield func(*entry)) {
	if namespace == "" {
		for _, e := range x.all {
			yield(e)
		}
		return
	}
	for _, e := range x.named[namespace] {
		yield(e)
	}
	for id, e := range x.broad {
		if _, twice := x.named[namespace][id]; !twice {
			yield(e)
		}
	}
}
