package decide

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// Sandbox is a World of changeable objects in memory.
type Sandbox interface {
	World
	// EachObject yields every object of every kind in use.
	EachObject(yield func(workload.Ref))
	// Apply changes an object as the API server would. It returns the objects that must be decided again.
	Apply(ref workload.Ref, patch *workload.Patch) ([]workload.Ref, error)
	// BatchOpened returns the time at which the last batch of a policy's rate limit was opened, or zero if there was no
	// batch.
	BatchOpened(id workload.Policy, d workload.Direction) time.Time
}

// Write is a write of a simulation.
type Write struct {
	// At is the instant of the write.
	At     time.Time
	Target workload.Ref
	// By is the policy charged with the write.
	By        workload.Policy
	Direction workload.Direction
	// Message describes the change, e.g. "replicas 3 -> 0".
	Message string
	// Edits are the changes of fields. They are empty if the write only changes the ledger.
	Edits []adapter.Edit
	// Wave is the name of the target's wave in the order of the policy. It is empty if the policy has no order. Place is
	// the number of waves before this wave.
	Wave  string
	Place int
}

// ErrRestless is wrapped by the error about a target that is written again and again at one instant.
var ErrRestless = errors.New("the policies do not come to rest")

// maxWritesAtOnce is the maximum number of writes to a target at one instant. With more writes, two decisions
// probably undo each other.
const maxWritesAtOnce = 16

// Simulate returns the writes between two instants, both included. See Writes. The error is the first fault of the
// Sandbox, beside the writes before the fault.
func Simulate(w Sandbox, from, to time.Time) ([]Write, error) {
	var all []Write
	for write, err := range Writes(w, from, to) {
		if err != nil {
			return all, err
		}
		all = append(all, write)
	}
	return all, nil
}

// Writes yields the writes of a world's policies between two instants, both included. It applies each write to the
// world before it yields the write. It steps from one instant with a possible change to the next. Nothing else
// changes the objects: no autoscaler acts and no user deploys. An error comes last, without a write.
func Writes(w Sandbox, from, to time.Time) iter.Seq2[Write, error] {
	return func(yield func(Write, error) bool) {
		s := &simulation{w: w, targets: map[workload.Ref]*simulated{}, batches: map[batchKey]*batch{}, yield: yield}
		w.EachObject(func(ref workload.Ref) { s.due = append(s.due, s.target(ref)) })
		for now := from; !now.After(to); {
			err := s.settle(now)
			if s.stopped {
				return
			}
			if err != nil {
				yield(Write{}, err)
				return
			}
			next := s.advance(now)
			if next.IsZero() {
				return
			}
			now = next
		}
	}
}

// simulation is a run of Writes.
type simulation struct {
	w   Sandbox
	due []*simulated
	// targets has the targets by their references. all has them in the order of their first decisions: the search for the next instant
	// reads them all, and a list takes a tenth of a map's time.
	targets map[workload.Ref]*simulated
	all     []*simulated
	// queues is the number of queues so far.
	queues int
	yield  func(Write, error) bool
	// stopped is true after the consumer has stopped the iteration.
	stopped bool
	// batches has the latest batch of each policy with a rate limit, for each direction.
	batches map[batchKey]*batch
	// waits are the targets that wait for waves.
	waits Waits
}

// simulated is a target in a simulation.
type simulated struct {
	ref workload.Ref
	// wake is the next instant of a decision; zero: none.
	wake time.Time
	// queue is the last queue with a decision about the target.
	queue int
	// written is the instant of the last write, and writes the number of writes at this instant.
	written time.Time
	writes  int
}

// target returns the state of a target.
func (s *simulation) target(ref workload.Ref) *simulated {
	t := s.targets[ref]
	if t == nil {
		t = &simulated{ref: ref}
		s.targets[ref], s.all = t, append(s.all, t)
	}
	return t
}

// addDue makes targets due.
func (s *simulation) addDue(refs ...workload.Ref) {
	for _, ref := range refs {
		s.due = append(s.due, s.target(ref))
	}
}

// write counts a write at an instant. It returns the number of writes at this instant.
func (t *simulated) write(at time.Time) int {
	if !t.written.Equal(at) {
		t.written, t.writes = at, 0
	}
	t.writes++
	return t.writes
}

type batchKey struct {
	policy    workload.Policy
	direction workload.Direction
}

type batch struct {
	opened time.Time
	used   int
}

// advance makes the targets with the next wake time due, and returns this time, or zero if there is no wake time
// after now.
func (s *simulation) advance(now time.Time) time.Time {
	var next time.Time
	for _, t := range s.all {
		if t.wake.After(now) {
			next = timeline.Earliest(next, t.wake)
		}
	}
	if next.IsZero() {
		return next
	}
	for _, t := range s.all {
		if t.wake.Equal(next) {
			s.due, t.wake = append(s.due, t), time.Time{}
		}
	}
	return next
}

// settle decides about all due targets, and about the targets affected by the writes. It returns when nothing is left
// to write at this instant.
func (s *simulation) settle(now time.Time) error {
	slices.SortFunc(s.due, func(a, b *simulated) int { return a.ref.Compare(b.ref) })
	for queued := s.due; len(queued) > 0; {
		s.due = nil
		s.queues++
		for _, t := range queued {
			if t.queue == s.queues {
				continue
			}
			t.queue = s.queues
			wrote, err := s.decide(t, now)
			if err != nil || s.stopped {
				return err
			}
			if wrote && t.write(now) > maxWritesAtOnce {
				return fmt.Errorf("simulate %s at %s: %w", t.ref, now.Format(time.RFC3339), ErrRestless)
			}
		}
		queued = s.due
	}
	return nil
}

// decide decides about a target and applies the write, if any.
func (s *simulation) decide(t *simulated, now time.Time) (wrote bool, err error) {
	v := decider{w: s.w, now: now, waits: &s.waits, settles: true}.target(t.ref, nil)
	t.wake = v.Wake
	s.addDue(s.waits.Decided(t.ref, &v, now)...)
	switch {
	case v.Object == nil || v.Err != nil || v.Result.Patch == nil:
		return false, nil //nolint:nilerr // only another form of the object can help, so nothing is written
	case v.Gate.Kind == GateOther:
		s.addDue(v.Gate.First) // its write makes the target due
		return false, nil
	case v.Gate.Kind != GateOpen:
		t.wake = timeline.Earliest(v.Wake, v.Gate.Until)
		return false, nil
	}
	if again := s.takePlace(&v, now); !again.IsZero() {
		t.wake = timeline.Earliest(v.Wake, again)
		return false, nil
	}
	for _, one := range append(Openings(s.w, &v, now), v) {
		if err := s.write(one.Kind.Ref(one.Object), &one, now); err != nil || s.stopped {
			return false, err
		}
	}
	return true, nil
}

// write applies the patch of a verdict and makes the affected targets due.
func (s *simulation) write(ref workload.Ref, v *Verdict, now time.Time) error {
	concerned, err := s.w.Apply(ref, v.Result.Patch)
	if err != nil {
		return fmt.Errorf("simulate %s at %s: %w", ref, now.Format(time.RFC3339), err)
	}
	s.addDue(concerned...)
	write := Write{At: now, Target: ref, By: v.Result.By, Direction: v.Result.Direction, Message: v.Result.Message, Edits: v.Result.Edits}
	if p := s.w.Policy(write.By); p != nil && p.Order != nil {
		place := decider{w: s.w, now: now}.place(p, v.Kind, v.Object)
		write.Wave, write.Place = p.Order.Waves[place].Name, len(p.Order.After(place, write.Direction))
	}
	s.stopped = !s.yield(write, nil)
	return nil
}

// takePlace takes a place in the batch of the policy behind a change. If the batch is full, it returns the time for
// another attempt. Otherwise it returns zero.
func (s *simulation) takePlace(v *Verdict, now time.Time) (again time.Time) {
	limit := LimitOf(s.w, v)
	if limit.Batch == 0 {
		return time.Time{}
	}
	key := batchKey{v.Result.By, v.Result.Direction}
	b := s.batches[key]
	if b == nil { // a batch from before the simulation counts as full, as for a restarted manager
		if opened := s.w.BatchOpened(key.policy, key.direction); !opened.IsZero() && !opened.After(now) {
			b = &batch{opened: opened, used: limit.Batch}
			s.batches[key] = b
		}
	}
	switch {
	case b == nil || !now.Before(b.opened.Add(limit.Delay)):
		s.batches[key] = &batch{opened: now, used: 1}
	case b.used >= limit.Batch:
		return b.opened.Add(limit.Delay)
	default:
		b.used++
	}
	return time.Time{}
}

// LimitOf returns the rate limit for the write of a verdict. A write to an autoscaler or an owner because of its target
// has no limit, because the write to the target has one. A restore for a deleted policy has no limit either.
func LimitOf(w World, v *Verdict) policy.Limit {
	_, governs := v.Kind.Adapter.Governs(v.Object)
	selects := func(o Opinion) bool { return o.Policy.ID == v.Result.By && !o.OnBehalf && !o.Left }
	if (governs || v.Kind.Adapter.CanOwn()) && !slices.ContainsFunc(v.Opinions, selects) {
		return policy.Limit{}
	}
	p := w.Policy(v.Result.By)
	switch {
	case p == nil || p.Deleting:
		return policy.Limit{}
	case v.Result.Direction == workload.DirectionDown:
		return p.Down
	case v.Result.Direction == workload.DirectionUp:
		return p.Up
	default:
		return policy.Limit{}
	}
}
