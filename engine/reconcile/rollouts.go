package reconcile

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/podplan"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Members returns the pods of targets.
type Members interface {
	// Fleet returns the active pods of a target; false: not everything is known yet.
	Fleet(ref workload.Ref) (*podplan.Fleet, bool)
}

// Budgets are the PodDisruptionBudgets, LimitRanges and ResourceQuotas of the cluster.
type Budgets interface {
	// Ask returns the obstacle to restarting a target's pods now, or "" if there is none. The target is queued when the
	// obstacle may be gone. more is true if the target gets more memory. template has the requests and limits of the
	// replacement pods. It is nil if pods are not replaced.
	Ask(ctx context.Context, ref workload.Ref, more bool, template workload.Allocations) (waits string)
	// Waits returns the obstacle found by the last Ask for a target.
	Waits(ref workload.Ref) string
	// Forget drops all records about a target.
	Forget(ref workload.Ref)
}

// Rollouts decides whether a target may restart its pods for tuned values now: it limits the targets of a policy that
// do so at the same time, and asks the budgets.
type Rollouts struct {
	*apply.Rollouts
	world   *world.World
	queue   *Queue
	members Members
	budgets Budgets
	clock   clock.PassiveClock

	mu sync.Mutex
	// targets has the number of tuned targets of each policy.
	targets map[workload.Policy]int
}

// NewRollouts returns Rollouts without a roll-out. clock is the clock for decisions.
func NewRollouts(w *world.World, q *Queue, m Members, b Budgets, clock clock.PassiveClock) *Rollouts {
	return &Rollouts{Rollouts: apply.NewRollouts(q.Add), world: w, queue: q, members: m, budgets: b, clock: clock}
}

// SetTargets replaces the numbers of tuned targets of the policies.
func (r *Rollouts) SetTargets(targets map[workload.Policy]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.targets = targets
}

// waitsForOthers is the message for a target that waits before it restarts pods.
const waitsForOthers = "waits for other targets to roll out (spec.guard.maxDisruption)"

// TakeRestart takes a roll-out place of the policy for a target that is about to restart pods by in-place changes. It
// returns the obstacle, or "" if the target may restart pods.
func (r *Rollouts) TakeRestart(ctx context.Context, ref workload.Ref, id workload.Policy, need apply.Need) (waits string) {
	p := r.world.Snapshot().Find(id)
	if p == nil || p.Tuner == nil {
		return "" // the policy tunes no more, and its values are restored
	}
	if waits := r.askBudgets(ctx, ref, p, need.Memory, nil); waits != "" {
		return waits
	}
	now := r.clock.Now()
	r.Resume(id, now, func() []apply.Turn { return r.unsettled(p) })
	took, ok := r.Take(id, apply.Turn{Ref: ref, InPlace: true}, "", need, r.limitOf(p), now)
	if !ok {
		return waitsForOthers
	}
	if took {
		r.queue.Add(ref) // the next decision sets the deadline of the roll-out
	}
	return ""
}

// LookRestart records the progress of a target that restarts pods by in-place changes. A target that waited for its
// turn must call TakeRestart again.
func (r *Rollouts) LookRestart(ref workload.Ref, settled bool) {
	turn := apply.Turn{Ref: ref, InPlace: true}
	r.Look(turn, "", func() bool { return settled }, r.clock.Now())
	r.Looked(turn)
}

// limitOf returns the number of a policy's targets that may restart pods at the same time.
func (r *Rollouts) limitOf(p *world.Policy) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(1, r.targets[p.ID]*p.Tuner.MaxDisruption()/100)
}

// takeTemplate takes a roll-out place of the tuning policy for a target, if the write is a roll-out. waits is the
// obstacle, or "" if the write need not wait.
func (r *Rollouts) takeTemplate(ctx context.Context, ref workload.Ref, v *decide.Verdict, now time.Time) (took bool, waits string) {
	id := v.Result.By
	p := r.world.Snapshot().Find(id)
	if p == nil || p.Deleting || p.Tuner == nil || !v.Result.Actions.Has(workload.ChangeRollOut) {
		return false, ""
	}
	limit := r.limitOf(p)
	if a := r.world.Snapshot().Advice(ref); a != nil && a.By == id && a.Back {
		// The write takes a failed roll-out back. Budgets would refuse it while pods are missing, so they are not asked,
		// and the target keeps the place of this roll-out.
		took, _ = r.Take(id, apply.Turn{Ref: ref}, v.Object.ResourceVersion, apply.Need{}, math.MaxInt, now)
		return took, ""
	}
	template := podplan.InTemplate(v.Plan.Amounts, v.Kind.Adapter.Observe(v.Object).Allocations)
	if waits := r.askBudgets(ctx, ref, p, v.Result.MoreMemory, template); waits != "" {
		return false, waits
	}
	r.Resume(id, now, func() []apply.Turn { return r.unsettled(p) })
	need := apply.Need{Memory: v.Result.MoreMemory}
	for key, claim := range v.Plan.Amounts {
		if key.Kind == workload.AmountRequest && claim.By == id {
			need.Since = claim.Since
		}
	}
	took, ok := r.Take(id, apply.Turn{Ref: ref}, v.Object.ResourceVersion, need, limit, now)
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
func (r *Rollouts) askBudgets(ctx context.Context, ref workload.Ref, p *world.Policy, more bool,
	template workload.Allocations) (waits string) {
	if !p.Tuner.ActsOnTargets() {
		return ""
	}
	if waits = r.budgets.Ask(ctx, ref, more, template); waits != "" {
		r.queue.queue.AddAfter(ref, budgetRetry)
	}
	return waits
}

// unsettled returns the targets that a policy has changed and that have not settled yet, and the targets whose pods
// are being restarted by in-place changes. An earlier manager may have begun these roll-outs.
func (r *Rollouts) unsettled(p *world.Policy) (turns []apply.Turn) {
	s := r.world.Snapshot()
	s.EachTarget(p, func(ref workload.Ref) {
		k, obj := s.Kind(ref.GroupKind), s.Object(ref)
		if k == nil || obj == nil {
			return
		}
		if f, known := r.members.Fleet(ref); known && podplan.IsRestarting(f) {
			turns = append(turns, apply.Turn{Ref: ref, InPlace: true})
		}
		for i := range obj.Ledger {
			if obj.Ledger[i].By == p.ID.String() {
				// An autoscaler does not count, because it has no pods of its own to roll out.
				if o := k.Adapter.Observe(obj); !o.Settled && len(o.Allocations) > 0 {
					turns = append(turns, apply.Turn{Ref: ref})
				}
				return
			}
		}
	})
	return turns
}

// lookTemplate records the progress of a target that rolls its template out.
func (r *Rollouts) lookTemplate(ref workload.Ref, v *decide.Verdict, now time.Time) {
	settled := func() bool { return v.Kind.Adapter.Observe(v.Object).Settled }
	r.Look(apply.Turn{Ref: ref}, v.Object.ResourceVersion, settled, now)
}

// mark marks a target as failed if its roll-out takes too long.
func (r *Rollouts) mark(ref workload.Ref, marks []status.TargetResult) {
	by, late := r.Late(ref)
	if !late {
		return
	}
	for i := range marks {
		if m := &marks[i]; m.Policy == by && m.Failure == "" {
			m.State, m.Failure = status.Failed, fmt.Sprintf("its pods with other requests are not ready after %s", apply.RolloutTime)
		}
	}
}

// Waiting returns the obstacle to writing tuned values to a target, or "" if none is known.
func (r *Rollouts) Waiting(ref workload.Ref) string {
	if r.Waits(apply.Turn{Ref: ref}) {
		return waitsForOthers
	}
	return r.budgets.Waits(ref)
}

// Held returns the PodDisruptionBudget, LimitRange or ResourceQuota that prevents writing tuned values to a target,
// or "" if none does. The text is the same as in Waiting.
func (r *Rollouts) Held(ref workload.Ref) string {
	return r.budgets.Waits(ref)
}

// forgetTarget drops a deleted target.
func (r *Rollouts) forgetTarget(ref workload.Ref) {
	r.Return(apply.Turn{Ref: ref})
	r.Return(apply.Turn{Ref: ref, InPlace: true})
	r.budgets.Forget(ref)
}
