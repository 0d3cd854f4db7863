package target

import (
	"context"
	"fmt"
	"math"
	"time"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// waitsForOthers is the message for a target that waits before it restarts pods.
const waitsForOthers = "waits for other targets to roll out (spec.guard.maxDisruption)"

// TakeRestart takes a roll-out place of the policy for a target that is about to restart pods by in-place changes. It
// returns the obstacle, or "" if the target may restart pods.
func (l *Loop) TakeRestart(ctx context.Context, ref workload.Ref, id workload.Policy, need apply.Need) (waits string) {
	p := l.world.Snapshot().Find(id)
	if l.tuned == nil || p == nil || p.Tuner == nil {
		return "" // the policy tunes no more, and its values are restored
	}
	if waits := l.askBudgets(ctx, ref, p, need.Memory, nil); waits != "" {
		return waits
	}
	now := l.opts.Clock.Now()
	l.rollouts.Resume(id, now, func() []apply.Turn { return l.unsettled(p) })
	took, ok := l.rollouts.Take(id, apply.Turn{Ref: ref, InPlace: true}, "", need, l.limitOf(p), now)
	if !ok {
		return waitsForOthers
	}
	if took {
		l.Queue(ref) // the next decision sets the deadline of the roll-out
	}
	return ""
}

// LookRestart records the progress of a target that restarts pods by in-place changes. A target that waited for its
// turn must call TakeRestart again.
func (l *Loop) LookRestart(ref workload.Ref, settled bool) {
	turn := apply.Turn{Ref: ref, InPlace: true}
	l.rollouts.Look(turn, "", func() bool { return settled }, l.opts.Clock.Now())
	l.rollouts.Looked(turn)
}

// limitOf returns the number of a policy's targets that may restart pods at the same time.
func (l *Loop) limitOf(p *world.Policy) int {
	return max(1, l.tuned.Targets(p.ID)*p.Tuner.MaxDisruption()/100)
}

// takeRollout takes a roll-out place of the tuning policy for a target, if the write is a roll-out. waits is the
// obstacle, or "" if the write need not wait.
func (l *Loop) takeRollout(ctx context.Context, ref workload.Ref, v *decide.Verdict, now time.Time) (took bool, waits string) {
	id := v.Result.By
	p := l.world.Snapshot().Find(id)
	if l.tuned == nil || p == nil || p.Deleting || p.Tuner == nil || !v.Result.Actions.Has(workload.ChangeRollOut) {
		return false, ""
	}
	limit := l.limitOf(p)
	if a := l.world.Snapshot().Advice(ref); a != nil && a.By == id && a.Back {
		// The write takes a failed roll-out back. Budgets would refuse it while pods are missing, so they are not asked,
		// and the target keeps the place of this roll-out.
		took, _ = l.rollouts.Take(id, apply.Turn{Ref: ref}, v.Object.ResourceVersion, apply.Need{}, math.MaxInt, now)
		return took, ""
	}
	template := adapter.InTemplate(v.Plan.Amounts, v.Kind.Adapter.Observe(v.Object).Allocations)
	if waits := l.askBudgets(ctx, ref, p, v.Result.MoreMemory, template); waits != "" {
		return false, waits
	}
	l.rollouts.Resume(id, now, func() []apply.Turn { return l.unsettled(p) })
	need := apply.Need{Memory: v.Result.MoreMemory}
	for key, claim := range v.Plan.Amounts {
		if key.Kind == workload.AmountRequest && claim.By == id {
			need.Since = claim.Since
		}
	}
	took, ok := l.rollouts.Take(id, apply.Turn{Ref: ref}, v.Object.ResourceVersion, need, limit, now)
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
func (l *Loop) askBudgets(ctx context.Context, ref workload.Ref, p *world.Policy, more bool, template workload.Allocations) (waits string) {
	if l.budgets == nil || !p.Tuner.ActsOnTargets() {
		return ""
	}
	if waits = l.budgets.Ask(ctx, ref, more, template); waits != "" {
		l.queue.AddAfter(ref, budgetRetry)
	}
	return waits
}

// unsettled returns the targets that a policy has changed and that have not settled yet, and the targets whose pods
// are being restarted by in-place changes. An earlier manager may have begun these roll-outs.
func (l *Loop) unsettled(p *world.Policy) (turns []apply.Turn) {
	s := l.world.Snapshot()
	s.EachTarget(p, func(ref workload.Ref) {
		k, obj := s.Kind(ref.GroupKind), s.Object(ref)
		if k == nil || obj == nil {
			return
		}
		if l.resized != nil && l.resized.IsRestarting(ref) {
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

// look records the progress of a target's roll-out.
func (l *Loop) look(ref workload.Ref, v *decide.Verdict, now time.Time) {
	settled := func() bool { return v.Kind.Adapter.Observe(v.Object).Settled }
	l.rollouts.Look(apply.Turn{Ref: ref}, v.Object.ResourceVersion, settled, now)
}

// giveBack returns the batch place and the roll-out place of a write that had no effect.
func (l *Loop) giveBack(ref workload.Ref, s sent) {
	l.batches.Return(s.place)
	if s.rolls {
		l.rollouts.Return(apply.Turn{Ref: ref})
	}
}

// markRollout marks a target as failed if its roll-out takes too long.
func (l *Loop) markRollout(marks []status.TargetResult, ref workload.Ref) {
	by, late := l.rollouts.Late(ref)
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
func (l *Loop) Waiting(ref workload.Ref) string {
	if l.rollouts.Waits(apply.Turn{Ref: ref}) {
		return waitsForOthers
	}
	if l.budgets != nil {
		return l.budgets.Waits(ref)
	}
	return ""
}

// Held returns the PodDisruptionBudget, LimitRange or ResourceQuota that prevents writing tuned values to a target,
// or "" if none does. The text is the same as in Waiting.
func (l *Loop) Held(ref workload.Ref) string {
	if l.budgets == nil {
		return ""
	}
	return l.budgets.Waits(ref)
}

// Rollouts returns the number of a policy's targets that restart pods for tuned values, that wait for others, and
// that are late.
func (l *Loop) Rollouts(id workload.Policy) (running, waiting, late int) {
	return l.rollouts.Counts(id)
}
