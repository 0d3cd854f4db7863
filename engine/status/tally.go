// Package status tells what policies have come to: tallies of targets come in, and conditions, events and metrics go out. It
// decides nothing about targets.
package status

import (
	"maps"
	"slices"
	"sync"

	"flyball.dev/flyball/engine/workload"
)

// State is what one target is in under one policy.
type State uint8

// States of a target under a policy.
const (
	// None: the policy has nothing to do with the target.
	None State = iota
	Awake
	Asleep
	AlreadyAsleep
	// Pending: the target has still to be looked at or changed.
	Pending
	Overridden
	Failed
	Set
	Unable
	stateCount
)

// stateNames are the values of the metric label.
var stateNames = [stateCount]string{"", "awake", "asleep", "already_asleep", "pending", "overridden", "failed", "set", "unable"}

// Mark is what is remembered of one target under one policy. A text is empty where there is nothing to say.
type Mark struct {
	Policy workload.Policy
	State  State
	// Failure says what went wrong, Waiting what the target waits for, Contested which other writer resets it, Conflict which other
	// policy asks for something else with the same right, Overruled the same where a priority decides, Unable what cannot be done on it, Override why
	// the policy does not have its way, Ignored which annotations cannot be read. Of Failure, Waiting, Unable and Override a Book takes the one that
	// goes with State.
	Failure, Waiting, Contested, Conflict, Overruled, Unable, Override, Ignored string
	// Applied are the values in place.
	Applied Applied
}

// Applied are the values that a policy has in place on a target, as text; empty where it has none.
type Applied struct{ Min, Max, Replicas string }

// Book counts the targets of each policy by state, and remembers those worth naming.
type Book struct {
	mu      sync.Mutex
	tallies map[workload.Policy]*tally
	// records has, for each target, its state under each policy that selects it.
	records map[workload.Ref][]record
	// dirty is called with a policy of which something that status shows has changed.
	dirty func(workload.Policy)
}

type record struct {
	policy workload.Policy
	state  State
	// unseen is true where the target was not looked at since it is known that it has to be.
	unseen bool
}

// NewBook makes an empty Book. dirty is called with a policy of which something that status shows has changed; it must not call
// back.
func NewBook(dirty func(workload.Policy)) *Book {
	return &Book{tallies: map[workload.Policy]*tally{}, records: map[workload.Ref][]record{}, dirty: dirty}
}

// Count counts a target under the policies of the marks, and out of those that it was counted under before.
func (b *Book) Count(ref workload.Ref, marks []Mark) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.records[ref]
	for _, r := range old {
		if !slices.ContainsFunc(marks, func(m Mark) bool { return m.Policy == r.policy }) {
			b.tally(r.policy).move(ref, r, Mark{})
			b.dirty(r.policy)
		}
	}
	for _, m := range marks {
		if b.tally(m.Policy).move(ref, recordUnder(old, m.Policy), m) {
			b.dirty(m.Policy)
		}
	}
	if len(marks) == 0 {
		delete(b.records, ref)
		return
	}
	next := make([]record, len(marks))
	for i, m := range marks {
		next[i] = record{policy: m.Policy, state: m.State}
	}
	b.records[ref] = next
}

// Await counts targets as pending, under every policy that counts them, until they are counted again. Until then nobody knows
// whether they are as they should be: after a transition, most of them are not. A target that failed has failed until
// something better is known.
func (b *Book) Await(refs []workload.Ref) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ref := range refs {
		records := b.records[ref]
		for i, r := range records {
			if r.state == None || r.state == Failed || r.unseen {
				continue
			}
			b.tally(r.policy).await(ref, r.state)
			records[i].state, records[i].unseen = Pending, true
		}
	}
}

// Expect counts a target as pending under a policy that it was not counted under before.
func (b *Book) Expect(id workload.Policy, ref workload.Ref) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if recordUnder(b.records[ref], id).state == None {
		others := slices.DeleteFunc(b.records[ref], func(r record) bool { return r.policy == id })
		b.records[ref] = append(others, record{policy: id, state: Pending, unseen: true})
		b.tally(id).await(ref, None)
	}
}

// Forget drops a policy that is gone.
func (b *Book) Forget(id workload.Policy) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.tallies, id)
	for ref, records := range b.records {
		if !slices.ContainsFunc(records, func(r record) bool { return r.policy == id }) {
			continue
		}
		if left := slices.DeleteFunc(records, func(r record) bool { return r.policy == id }); len(left) > 0 {
			b.records[ref] = left
		} else {
			delete(b.records, ref)
		}
	}
}

// Delay remembers why a policy that is being deleted is not gone yet.
func (b *Book) Delay(id workload.Policy, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.tally(id); t.delayed != why {
		t.delayed = why
		b.dirty(id)
	}
}

// read calls a function with the tally of a policy, which does not change meanwhile.
func (b *Book) read(id workload.Policy, fn func(*tally)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fn(b.tally(id))
}

func (b *Book) tally(id workload.Policy) *tally {
	t := b.tallies[id]
	if t == nil {
		t = newTally()
		b.tallies[id] = t
	}
	return t
}

func recordUnder(records []record, id workload.Policy) record {
	for _, r := range records {
		if r.policy == id {
			return r
		}
	}
	return record{}
}

// tally counts the targets of one policy by state and has what is to be said of some of them. Status, metrics, events and
// messages are all made of it.
type tally struct {
	counts [stateCount]int32
	// unseen is how many of the pending ones were not looked at.
	unseen                                                                          int32
	failures, waiting, contested, conflicts, overruled, unable, overridden, ignored map[workload.Ref]string
	applied                                                                         map[workload.Ref]Applied
	// delayed says why the policy, which is being deleted, is not gone yet.
	delayed string
}

func newTally() *tally {
	return &tally{
		failures: map[workload.Ref]string{}, waiting: map[workload.Ref]string{}, contested: map[workload.Ref]string{},
		conflicts: map[workload.Ref]string{}, overruled: map[workload.Ref]string{}, unable: map[workload.Ref]string{}, overridden: map[workload.Ref]string{},
		ignored: map[workload.Ref]string{}, applied: map[workload.Ref]Applied{},
	}
}

// copy gives a tally that others may read while this one goes on to change.
func (t *tally) copy() tally {
	c := *t
	c.failures, c.waiting, c.contested = maps.Clone(t.failures), maps.Clone(t.waiting), maps.Clone(t.contested)
	c.conflicts, c.overruled, c.unable, c.overridden = maps.Clone(t.conflicts), maps.Clone(t.overruled), maps.Clone(t.unable), maps.Clone(t.overridden)
	c.ignored = maps.Clone(t.ignored)
	c.applied = nil
	return c
}

// total is how many targets there are.
func (t *tally) total() (n int32) {
	for _, in := range t.counts {
		n += in
	}
	return n
}

// inState leaves out what does not go with the state: several things may be known of a target, and the lists that name targets are of those
// counted in one state.
func (m Mark) inState() Mark {
	for _, said := range []struct {
		text *string
		in   State
	}{{&m.Failure, Failed}, {&m.Waiting, Pending}, {&m.Unable, Unable}, {&m.Override, Overridden}} {
		if m.State != said.in {
			*said.text = ""
		}
	}
	return m
}

// move counts a target out of the state of a record and into another and reports whether anything that status shows has changed.
func (t *tally) move(ref workload.Ref, from record, m Mark) bool {
	m = m.inState()
	changed := from.state != m.State || from.unseen
	if from.state != None {
		t.counts[from.state]--
	}
	if from.unseen {
		t.unseen--
	}
	if m.State != None {
		t.counts[m.State]++
	}
	changed = put(t.failures, ref, m.Failure) || changed
	changed = put(t.waiting, ref, m.Waiting) || changed
	changed = put(t.contested, ref, m.Contested) || changed
	changed = put(t.unable, ref, m.Unable) || changed
	changed = put(t.overridden, ref, m.Override) || changed
	changed = put(t.overruled, ref, m.Overruled) || changed
	changed = put(t.ignored, ref, m.Ignored) || changed
	changed = put(t.applied, ref, m.Applied) || changed
	return put(t.conflicts, ref, m.Conflict) || changed
}

// await counts a target out of a state and as one that has still to be looked at. What was said of it in that state does not hold
// any more; who contests it, or asks for something else, is told until something better is known.
func (t *tally) await(ref workload.Ref, from State) {
	if from != None {
		t.counts[from]--
	}
	t.counts[Pending]++
	t.unseen++
	delete(t.waiting, ref)
	delete(t.unable, ref)
	delete(t.overridden, ref)
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
	said T
}

// first gives at most n of a map's targets, in order of kind, namespace and name.
func first[T any](m map[workload.Ref]T, n int) []named[T] {
	out := make([]named[T], 0, len(m))
	for ref, said := range m {
		out = append(out, named[T]{ref, said})
	}
	slices.SortFunc(out, func(a, b named[T]) int { return a.ref.Compare(b.ref) })
	return out[:min(n, len(out))]
}
