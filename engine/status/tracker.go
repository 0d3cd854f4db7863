// Package status reports the state of policies: it collects tallies of targets and publishes conditions, events and
// metrics. It decides nothing about targets.
package status

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Mark is the state of a target under one policy.
type Mark uint8

// States of a target under a policy.
const (
	// None: the policy is not involved with the target.
	None Mark = iota
	Awake
	Asleep
	AlreadyAsleep
	// Pending: the target has still to be decided or changed.
	Pending
	Overridden
	Failed
	Set
	Unable
	FallingAsleep
	stateCount
)

// stateNames are the values of the metric label.
var stateNames = [stateCount]string{"", "awake", "asleep", "already_asleep", "pending", "overridden", "failed", "set", "unable",
	"falling_asleep"}

// TargetResult is the record of a target under one policy. Empty texts do not apply.
type TargetResult struct {
	Policy workload.Policy
	State  Mark
	// Failure is the error. Waiting is the obstacle. Falling is the part of falling asleep that is not done. Contested is
	// the other writer that resets the value. Conflict is the policy with a different claim of equal rank. Overruled is the
	// policy with a different claim if a priority decides. Unable is the impossible part of the claim. Override is the
	// reason why the policy lost. Paused is the reason why the target's controller does not act. A Tracker keeps only one of Failure, Waiting,
	// Falling, Unable and Override: the text that belongs to State.
	Failure, Waiting, Falling, Contested, Conflict, Overruled, Unable, Override, Paused string
	// Control is the control of a target left alone because of a missing adapter.
	Control decide.Control
	// Applied are the values in place.
	Applied Applied
}

// Applied are a policy's values in place on a target, as text; empty: none.
type Applied struct {
	Min, Max, Replicas string
	// Reached is true if an Override has its effect on the target. Yielding names the schedules that yield.
	Reached  bool
	Yielding string
}

// Tracker counts the targets of each policy by state, keeps the messages of some targets, and measures the lag of
// transitions. It collects the policies with a status that may be outdated.
type Tracker struct {
	world   *world.World
	clock   clock.PassiveClock
	metrics *Metrics
	// signal receives a value when a policy becomes dirty.
	signal chan struct{}

	mu      sync.Mutex
	tallies map[workload.Policy]*counts
	// records has the states of each target under the policies that select it.
	records map[workload.Ref][]record
	// dirty has the policies with a status that may be outdated, by namespace.
	dirty        map[string]map[workload.Policy]bool
	transitioned map[workload.Policy]*transition
	// unmatched holds the policies with terms that match nothing. looking is true while a new check of these policies
	// is scheduled.
	unmatched map[workload.Policy]bool
	looking   bool
}

type record struct {
	policy workload.Policy
	state  Mark
	// undecided is true while a decision about the target is outstanding.
	undecided bool
}

// NewTracker returns an empty Tracker. clock is the clock for decisions.
func NewTracker(w *world.World, clock clock.PassiveClock, m *Metrics) *Tracker {
	return &Tracker{
		world: w, clock: clock, metrics: m, signal: make(chan struct{}, 1), tallies: map[workload.Policy]*counts{},
		records: map[workload.Ref][]record{}, dirty: map[string]map[workload.Policy]bool{}, transitioned: map[workload.Policy]*transition{},
		unmatched: map[workload.Policy]bool{},
	}
}

// Dirty schedules a check of a policy's status.
func (b *Tracker) Dirty(id workload.Policy) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.setDirty(id)
}

func (b *Tracker) setDirty(id workload.Policy) {
	if b.dirty[id.Namespace] == nil {
		b.dirty[id.Namespace] = map[workload.Policy]bool{}
	}
	b.dirty[id.Namespace][id] = true
	workers.Poke(b.signal)
}

func (b *Tracker) isDirty(id workload.Policy) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dirty[id.Namespace][id]
}

// takeDirty removes and returns one dirty policy of each namespace, and all of the cluster, except for busy ones.
func (b *Tracker) takeDirty(busy func(workload.Policy) bool) (due []workload.Policy) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for namespace, ids := range b.dirty {
		for id := range ids {
			if busy(id) {
				continue
			}
			due = append(due, id)
			if namespace != "" {
				break
			}
		}
	}
	for _, id := range due {
		b.setClean(id)
	}
	return due
}

func (b *Tracker) setClean(id workload.Policy) {
	delete(b.dirty[id.Namespace], id)
	if len(b.dirty[id.Namespace]) == 0 {
		delete(b.dirty, id.Namespace)
	}
}

// Count records a target under the policies of the marks and removes it from the policies of its former marks.
func (b *Tracker) Count(ref workload.Ref, marks []TargetResult) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.records[ref]
	for _, r := range old {
		if !slices.ContainsFunc(marks, func(m TargetResult) bool { return m.Policy == r.policy }) {
			b.counts(r.policy).move(ref, r, TargetResult{})
			b.setDirty(r.policy)
		}
	}
	for _, m := range marks {
		if b.counts(m.Policy).move(ref, recordUnder(old, m.Policy), m) {
			b.setDirty(m.Policy)
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

// Await counts targets as pending under all their policies until the next Count, because after a transition most
// targets need a change. A failed target stays failed until a newer result is known.
func (b *Tracker) Await(refs []workload.Ref) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ref := range refs {
		records := b.records[ref]
		for i, r := range records {
			if r.state == None || r.state == Failed || r.undecided {
				continue
			}
			b.counts(r.policy).await(ref, r.state)
			records[i].state, records[i].undecided = Pending, true
		}
	}
}

// Expect counts a target as pending under a policy without a record of it.
func (b *Tracker) Expect(id workload.Policy, ref workload.Ref) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if recordUnder(b.records[ref], id).state == None {
		others := slices.DeleteFunc(b.records[ref], func(r record) bool { return r.policy == id })
		b.records[ref] = append(others, record{policy: id, state: Pending, undecided: true})
		b.counts(id).await(ref, None)
	}
}

// Forget drops a deleted policy.
func (b *Tracker) Forget(id workload.Policy) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.tallies, id)
	b.setClean(id)
	delete(b.transitioned, id)
	delete(b.unmatched, id)
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

// Delay records why a policy being deleted is not gone yet.
func (b *Tracker) Delay(id workload.Policy, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.counts(id); t.delayed != why {
		t.delayed = why
		b.setDirty(id)
	}
}

// read calls a function with the counts of a policy. The counts do not change during the call.
func (b *Tracker) read(id workload.Policy, fn func(*counts)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fn(b.counts(id))
}

func (b *Tracker) counts(id workload.Policy) *counts {
	t := b.tallies[id]
	if t == nil {
		t = newCounts()
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

// counts holds the number of targets of a policy in each state, and the messages about some of them. Status, metrics, events
// and messages are made from it.
type counts struct {
	counts [stateCount]int32
	// undecided is the number of pending targets not decided yet.
	undecided                                                                               int32
	failures, waiting, falling, contested, conflicts, overruled, unable, overridden, paused map[workload.Ref]string
	applied                                                                                 map[workload.Ref]Applied
	controlled                                                                              map[workload.Ref]decide.Control
	// delayed is the reason why the policy, being deleted, is not gone yet.
	delayed string
}

func newCounts() *counts {
	return &counts{
		failures: map[workload.Ref]string{}, waiting: map[workload.Ref]string{}, falling: map[workload.Ref]string{},
		contested: map[workload.Ref]string{},
		conflicts: map[workload.Ref]string{}, overruled: map[workload.Ref]string{}, unable: map[workload.Ref]string{},
		overridden: map[workload.Ref]string{}, paused: map[workload.Ref]string{},
		applied: map[workload.Ref]Applied{}, controlled: map[workload.Ref]decide.Control{},
	}
}

// copy returns a copy of the counts that can be read while the counts change.
func (t *counts) copy() counts {
	c := *t
	c.failures, c.waiting, c.contested = maps.Clone(t.failures), maps.Clone(t.waiting), maps.Clone(t.contested)
	c.conflicts, c.overruled, c.unable, c.overridden = maps.Clone(t.conflicts), maps.Clone(t.overruled), maps.Clone(t.unable),
		maps.Clone(t.overridden)
	c.falling, c.paused = maps.Clone(t.falling), maps.Clone(t.paused)
	c.controlled = maps.Clone(t.controlled)
	c.applied = nil
	return c
}

// total returns the number of targets.
func (t *counts) total() (n int32) {
	for _, in := range t.counts {
		n += in
	}
	return n
}

// inState returns the mark without the texts that belong to other states, so the lists of targets agree with the
// counts.
func (m TargetResult) inState() TargetResult {
	for _, said := range []struct {
		text *string
		in   Mark
	}{{&m.Failure, Failed}, {&m.Waiting, Pending}, {&m.Falling, FallingAsleep}, {&m.Unable, Unable}, {&m.Override, Overridden}} {
		if m.State != said.in {
			*said.text = ""
		}
	}
	return m
}

// move moves a target from the state of a record to the state of a mark. It reports whether status data has changed.
func (t *counts) move(ref workload.Ref, from record, m TargetResult) bool {
	m = m.inState()
	changed := from.state != m.State || from.undecided
	if from.state != None {
		t.counts[from.state]--
	}
	if from.undecided {
		t.undecided--
	}
	if m.State != None {
		t.counts[m.State]++
	}
	changed = put(t.failures, ref, m.Failure) || changed
	changed = put(t.waiting, ref, m.Waiting) || changed
	changed = put(t.falling, ref, m.Falling) || changed
	changed = put(t.contested, ref, m.Contested) || changed
	changed = put(t.unable, ref, m.Unable) || changed
	changed = put(t.overridden, ref, m.Override) || changed
	changed = put(t.paused, ref, m.Paused) || changed
	changed = put(t.overruled, ref, m.Overruled) || changed
	changed = put(t.applied, ref, m.Applied) || changed
	changed = put(t.controlled, ref, m.Control) || changed
	return put(t.conflicts, ref, m.Conflict) || changed
}

// await moves a target to pending. Messages of its former state are dropped; Contested, Conflict and Overruled stay
// until the next decision.
func (t *counts) await(ref workload.Ref, from Mark) {
	if from != None {
		t.counts[from]--
	}
	t.counts[Pending]++
	t.undecided++
	delete(t.waiting, ref)
	delete(t.falling, ref)
	delete(t.unable, ref)
	delete(t.overridden, ref)
	delete(t.paused, ref)
}

// put sets the message of a target; the zero value removes it.
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

// named is a target with its message.
type named[T any] struct {
	ref  workload.Ref
	said T
}

// first returns at most n targets of a map, in order of kind, namespace and name.
func first[T any](m map[workload.Ref]T, n int) []named[T] {
	out := make([]named[T], 0, len(m))
	for ref, said := range m {
		out = append(out, named[T]{ref, said})
	}
	slices.SortFunc(out, func(a, b named[T]) int { return a.ref.Compare(b.ref) })
	return out[:min(n, len(out))]
}
