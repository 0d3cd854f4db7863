// Package rollout has the gate that tuning adds to the gates of a write: whether a target may restart its pods for tuned
// values now. Places limit the targets of a policy that do so at the same time, and the constraints of the cluster are asked:
// PodDisruptionBudgets (budgets.go), LimitRanges and ResourceQuotas (rooms.go), watched while they are needed.
package rollout

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/reconcile/gate"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Constraints are the PodDisruptionBudgets, LimitRanges and ResourceQuotas of the cluster.
type Constraints interface {
	// Ask returns the obstacle to restarting a target's pods now, or "" if there is none. The target is queued when the
	// obstacle may be gone. more is true if the target gets more memory. template has the requests and limits of the
	// replacement pods. It is nil if pods are not replaced.
	Ask(ctx context.Context, ref workload.Ref, more bool, template workload.Allocations) (waits string)
	// Waits returns the obstacle found by the last Ask for a target.
	Waits(ref workload.Ref) string
	// Forget drops all records about a target.
	Forget(ref workload.Ref)
}

// Queue has the targets to be decided.
type Queue interface {
	// Add queues targets. AddAfter queues a target after a pause. SetDeadline queues a target at an instant, beside the
	// instant of its own decision; zero: it no longer does.
	Add(refs ...workload.Ref)
	AddAfter(ref workload.Ref, pause time.Duration)
	SetDeadline(ref workload.Ref, at time.Time)
}

// Gate lets a roll-out of tuned values through once its policy has a place for it, and no budget of the cluster prevents it.
// Restarts by changes in place need a place too.
type Gate struct {
	*Places
	world   *world.World
	queue   Queue
	members workload.Fleets
	budgets Constraints
	clock   clock.PassiveClock

	mu sync.Mutex
	// targets has the number of tuned targets of each policy.
	targets map[workload.Policy]int
	// took has the targets whose write, on its way through the gates, has taken a place.
	took map[workload.Ref]struct{}
}

// New returns a Gate without a roll-out. It observes the world from now on. clock is the clock for decisions.
func New(w *world.World, q Queue, m workload.Fleets, b Constraints, clock clock.PassiveClock) *Gate {
	g := &Gate{Places: NewPlaces(q.Add), world: w, queue: q, members: m, budgets: b, clock: clock, took: map[workload.Ref]struct{}{}}
	w.Observe(g)
	return g
}

// AfterPublish implements world.Observer. It drops policies that are gone.
func (r *Gate) AfterPublish(_ *world.Snapshot, c *world.Change) {
	for _, p := range c.Policies {
		if p.New == nil {
			r.Places.Forget(p.ID)
		}
	}
}

// SetTargets replaces the numbers of tuned targets of the policies.
func (r *Gate) SetTargets(targets map[workload.Policy]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.targets = targets
}

// waitsForOthers is the message for a target that waits before it restarts pods.
const waitsForOthers = "waits for other targets to roll out (spec.guard.maxDisruption)"

// TakeRestart takes a roll-out place of the policy for a target that is about to restart pods by in-place changes. It
// returns the obstacle, or "" if the target may restart pods.
func (r *Gate) TakeRestart(ctx context.Context, ref workload.Ref, id workload.Policy, need Need) (waits string) {
	p := r.world.Snapshot().Find(id)
	if p == nil || p.Tuner == nil {
		return "" // the policy tunes no more, and its values are restored
	}
	if waits := r.askBudgets(ctx, ref, p, need.Memory, nil); waits != "" {
		return waits
	}
	now := r.clock.Now()
	r.Resume(id, now, func() []Turn { return r.unsettled(p) })
	took, ok := r.Take(id, Turn{Ref: ref, InPlace: true}, "", need, r.limitOf(p), now)
	if !ok {
		return waitsForOthers
	}
	if took {
		r.queue.Add(ref) // the next decision sets the deadline of the roll-out
	}
	return ""
}

// NoteRestart records the progress of a target that restarts pods by in-place changes. A target that waited for its
// turn must call TakeRestart again.
func (r *Gate) NoteRestart(ref workload.Ref, settled bool) {
	turn := Turn{Ref: ref, InPlace: true}
	r.Record(turn, "", func() bool { return settled }, r.clock.Now())
	r.EndWait(turn)
}

// limitOf returns the number of a policy's targets that may restart pods at the same time.
func (r *Gate) limitOf(p *world.Policy) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(1, r.targets[p.ID]*p.Tuner.MaxDisruption()/100)
}

// Enter implements gate.Gate.
func (r *Gate) Enter(ctx context.Context, w *gate.Write) *gate.Wait {
	took, waits := r.takeTemplate(ctx, w)
	if waits != "" {
		return &gate.Wait{Outcome: status.Outcome{Waiting: waits}}
	}
	if took {
		r.mu.Lock()
		r.took[w.Ref] = struct{}{}
		r.mu.Unlock()
		r.queue.SetDeadline(w.Ref, r.Deadline(w.Ref))
	}
	return nil
}

// Leave implements gate.Gate. A roll-out keeps its place until the target has settled. A write that was not applied
// returns the place that it has taken.
func (r *Gate) Leave(w *gate.Write, end gate.End) *gate.Wait {
	r.mu.Lock()
	_, took := r.took[w.Ref]
	delete(r.took, w.Ref)
	r.mu.Unlock()
	if took && end.Outcome != apply.Applied {
		r.Return(Turn{Ref: w.Ref})
		r.queue.SetDeadline(w.Ref, r.Deadline(w.Ref))
	}
	return nil
}

// Withdraw implements gate.Gate. A target that asks for no roll-out no longer waits for a place.
func (r *Gate) Withdraw(ref workload.Ref) { r.EndWait(Turn{Ref: ref}) }

// Forget implements gate.Gate.
func (r *Gate) Forget(ref workload.Ref) {
	r.Return(Turn{Ref: ref})
	r.Return(Turn{Ref: ref, InPlace: true})
	r.queue.SetDeadline(ref, time.Time{})
	r.budgets.Forget(ref)
}

// takeTemplate takes a roll-out place of the tuning policy for a target, if the write is a roll-out. waits is the
// obstacle, or "" if the write need not wait. A target that has not asked for a place no longer waits for one.
func (r *Gate) takeTemplate(ctx context.Context, w *gate.Write) (took bool, waits string) {
	ref, v, now := w.Ref, w.Verdict, w.Now
	defer r.EndWait(Turn{Ref: ref})
	id := v.Result.By
	p := r.world.Snapshot().Find(id)
	if p == nil || p.Deleting || p.Tuner == nil || !v.Result.Actions.Has(workload.ChangeRollOut) {
		return false, ""
	}
	limit := r.limitOf(p)
	if a := r.world.Snapshot().Advice(ref); a != nil && a.By == id && a.Back {
		// The write takes a failed roll-out back. Budgets would refuse it while pods are missing, so they are not asked,
		// and the target keeps the place of this roll-out.
		took, _ = r.Take(id, Turn{Ref: ref}, v.Object.ResourceVersion, Need{}, math.MaxInt, now)
		return took, ""
	}
	template := podsize.InTemplate(v.Plan.Amounts, v.Kind.Adapter.Observe(v.Object).Allocations)
	if waits := r.askBudgets(ctx, ref, p, v.Result.MoreMemory, template); waits != "" {
		return false, waits
	}
	r.Resume(id, now, func() []Turn { return r.unsettled(p) })
	need := Need{Memory: v.Result.MoreMemory}
	for key, claim := range v.Plan.Amounts {
		if key.Kind == workload.AmountRequest && claim.By == id {
			need.Since = claim.Since
		}
	}
	took, ok := r.Take(id, Turn{Ref: ref}, v.Object.ResourceVersion, need, limit, now)
	if !ok {
		return false, waitsForOthers
	}
	return took, ""
}

// budgetRetry is the pause before budgets are asked again although no budget has changed. The pods or their labels
// may have changed instead.
const budgetRetry = time.Minute

// askBudgets returns the PodDisruptionBudget, LimitRange or ResourceQuota that prevents a policy from restarting a
// target's pods, or "" if there is none. template has the requests and limits of the replacement pods, or is nil. A
// policy that no longer acts only restores, and this need not wait.
func (r *Gate) askBudgets(ctx context.Context, ref workload.Ref, p *world.Policy, more bool,
	template workload.Allocations) (waits string) {
	if !p.Tuner.ActsOnTargets() {
		return ""
	}
	if waits = r.budgets.Ask(ctx, ref, more, template); waits != "" {
		r.queue.AddAfter(ref, budgetRetry)
	}
	return waits
}

// unsettled returns the targets that a policy has changed and that have not settled yet, and the targets whose pods
// are being restarted by in-place changes. An earlier manager may have begun these roll-outs.
func (r *Gate) unsettled(p *world.Policy) (turns []Turn) {
	s := r.world.Snapshot()
	s.EachTarget(p, func(ref workload.Ref) {
		k, obj := s.Kind(ref.GroupKind), s.Object(ref)
		if k == nil || obj == nil {
			return
		}
		if f, known := r.members.Fleet(ref); known && podsize.IsRestarting(f) {
			turns = append(turns, Turn{Ref: ref, InPlace: true})
		}
		for i := range obj.Ledger {
			if obj.Ledger[i].By == p.ID.String() {
				// An autoscaler does not count, because it has no pods of its own to roll out.
				if o := k.Adapter.Observe(obj); !o.Settled && len(o.Allocations) > 0 {
					turns = append(turns, Turn{Ref: ref})
				}
				return
			}
		}
	})
	return turns
}

// Decided records the progress of a target that rolls its template out.
func (r *Gate) Decided(ref workload.Ref, v *decide.Verdict) {
	if v.Object == nil {
		return
	}
	settled := func() bool { return v.Kind.Adapter.Observe(v.Object).Settled }
	r.Record(Turn{Ref: ref}, v.Object.ResourceVersion, settled, r.clock.Now())
	r.queue.SetDeadline(ref, r.Deadline(ref))
}

// Mark marks a target as failed if its roll-out takes too long.
func (r *Gate) Mark(ref workload.Ref, marks []status.TargetResult) {
	by, late := r.Late(ref)
	if !late {
		return
	}
	for i := range marks {
		if m := &marks[i]; m.Policy == by && m.Failure == "" {
			m.State, m.Failure = status.Failed, fmt.Sprintf("its pods with other requests are not ready after %s", Longest)
		}
	}
}

// Waiting returns the obstacle to writing tuned values to a target, or "" if none is known.
func (r *Gate) Waiting(ref workload.Ref) string {
	if r.Waits(Turn{Ref: ref}) {
		return waitsForOthers
	}
	return r.budgets.Waits(ref)
}

// Constraint returns the PodDisruptionBudget, LimitRange or ResourceQuota that prevents writing tuned values to a target,
// or "" if none does. The text is the same as in Waiting.
func (r *Gate) Constraint(ref workload.Ref) string {
	return r.budgets.Waits(ref)
}
