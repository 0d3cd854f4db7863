package reconcile

import (
	"cmp"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

type capability = v1alpha1.Capability

// entry is one policy object as the engine knows it: the compiled spec, and what its targets are in. It is immutable but for
// the tally: a change of the object makes a new entry with the same tally.
type entry struct {
	id     workload.Policy
	policy *policy.Policy
	object client.Object
	// deleting is true once the object has a deletion timestamp; orphan says that nothing is to be given back then.
	deleting bool
	orphan   bool
	// refused says why the policy could not be given the finalizer; empty: it has it. Without it nothing is changed.
	refused string
	// calendars are the names of those that the object uses.
	calendars []string
	tally     *tally
}

// status is the state of one target under one policy.
type status uint8

const (
	statusNone status = iota
	statusAwake
	statusAsleep
	statusAlreadyAsleep
	statusPending
	statusOverridden
	statusFailed
	statusSet
	statusUnable
	statusCount
)

var statusNames = [statusCount]string{"", "awake", "asleep", "already_asleep", "pending", "overridden", "failed", "set", "unable"}

// tally counts the targets of a policy by state and remembers those worth naming.
type tally struct {
	mu        sync.Mutex
	counts    [statusCount]int32
	failures  map[workload.Ref]string
	waiting   map[workload.Ref]string
	contested map[workload.Ref]string
	conflicts map[workload.Ref]string
	unable    map[workload.Ref]string
	applied   map[workload.Ref]applied
	// held says why the policy, which is being deleted, is not gone yet.
	held string
}

// applied are the values that a policy has in place on a target, for policies that report them.
type applied struct{ min, max, replicas string }

func newTally() *tally {
	return &tally{
		failures: map[workload.Ref]string{}, waiting: map[workload.Ref]string{},
		contested: map[workload.Ref]string{}, conflicts: map[workload.Ref]string{},
		unable: map[workload.Ref]string{}, applied: map[workload.Ref]applied{},
	}
}

// hold remembers why the policy is not gone yet and reports whether that has changed.
func (t *tally) hold(why string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	changed := t.held != why
	t.held = why
	return changed
}

// note is what is remembered of one target under one policy.
type note struct {
	status    status
	failure   string
	waiting   string
	contested string
	conflict  string
	unable    string
	applied   applied
}

// move counts a target out of one state and into another and reports whether anything that status shows has changed.
func (t *tally) move(ref workload.Ref, from status, n note) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	changed := from != n.status
	if from != statusNone {
		t.counts[from]--
	}
	if n.status != statusNone {
		t.counts[n.status]++
	}
	changed = put(t.failures, ref, n.failure) || changed
	changed = put(t.waiting, ref, n.waiting) || changed
	changed = put(t.contested, ref, n.contested) || changed
	changed = put(t.unable, ref, n.unable) || changed
	changed = put(t.applied, ref, n.applied) || changed
	return put(t.conflicts, ref, n.conflict) || changed
}

// put keeps what is to be said of a target; the zero value is nothing.
func put[T comparable](m map[workload.Ref]T, ref workload.Ref, said T) bool {
	if m[ref] == said {
		return false
	}
	var nothing T
	if said == nothing {
		delete(m, ref)
	} else {
		m[ref] = said
	}
	return true
}

// named is one target with what is to be said of it.
type named[T any] struct {
	ref  workload.Ref
	text T
}

func compareRefs(a, b workload.Ref) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// first gives at most n of a map's targets, in order of kind, namespace and name.
func first[T any](m map[workload.Ref]T, n int) []named[T] {
	out := make([]named[T], 0, len(m))
	for ref, text := range m {
		out = append(out, named[T]{ref, text})
	}
	slices.SortFunc(out, func(a, b named[T]) int { return compareRefs(a.ref, b.ref) })
	return out[:min(n, len(out))]
}

// record is what the engine remembers of one target: its state under each policy that selects it.
type record struct {
	under []underPolicy
}

type underPolicy struct {
	id     workload.Policy
	tally  *tally
	status status
}
