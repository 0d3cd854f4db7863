package target

import (
	"context"
	"fmt"
	"time"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// waitsForOthers is what is told of a target that has to wait before it restarts pods.
const waitsForOthers = "waits for other targets to roll out (spec.guard.maxDisruption)"

// TakeRestart takes a place among the roll-outs of a policy for a target whose pods are to be restarted by changes in place. It says what that
// waits for; empty: for nothing.
func (l *Loop) TakeRestart(ctx context.Context, ref workload.Ref, id workload.Policy, need apply.Need) (waits string) {
	p := l.world.Snapshot().Find(id)
	if l.tuned == nil || p == nil || p.Tuner() == nil {
		return "" // what it asks for is about to be given back
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
		l.Queue(ref) // which sets the instant at which it is late
	}
	return ""
}

// LookRestart takes note of how far a target is whose pods are restarted by changes in place. If it has waited for a place, it has to ask again.
func (l *Loop) LookRestart(ref workload.Ref, settled bool) {
	turn := apply.Turn{Ref: ref, InPlace: true}
	l.rollouts.Look(turn, "", func() bool { return settled }, l.opts.Clock.Now())
	l.rollouts.Looked(turn)
}

// limitOf is how many targets of a policy may restart pods at once.
func (l *Loop) limitOf(p *world.Policy) int {
	return max(1, l.tuned.Targets(p.ID)*p.Tuner().MaxDisruption()/100)
}

// takeRollout takes a place among the roll-outs of the policy that tunes a target, if the write is one. waits says what the target has to wait
// for first; empty: for nothing.
func (l *Loop) takeRollout(ctx context.Context, ref workload.Ref, v *decide.Verdict, now time.Time) (took bool, waits string) {
	id := v.Result.By
	p := l.world.Snapshot().Find(id)
	if l.tuned == nil || p == nil || p.Deleting || p.Tuner() == nil || !v.Result.Actions.Has(workload.ChangeRollOut) {
		return false, ""
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
	took, ok := l.rollouts.Take(id, apply.Turn{Ref: ref}, v.Object.ResourceVersion, need, l.limitOf(p), now)
	if !ok {
		return false, waitsForOthers
	}
	return took, ""
}

// budgetRetry is after how long budgets are asked again, besides when one changes: the pods may be others, or have other labels.
const budgetRetry = time.Minute

// askBudgets says which PodDisruptionBudget, LimitRange or ResourceQuota keeps a policy from restarting pods of a target, for those of another template
// if there is one; empty: none does. What is given back by a policy that does not act any more waits for none.
func (l *Loop) askBudgets(ctx context.Context, ref workload.Ref, p *world.Policy, more bool, template workload.Allocations) (waits string) {
	if l.budgets == nil || !p.Tuner().Acts() {
		return ""
	}
	if waits = l.budgets.Ask(ctx, ref, more, template); waits != "" {
		l.queue.AddAfter(ref, budgetRetry)
	}
	return waits
}

// unsettled lists the targets on which a policy has set something and that have not settled, and those whose pods are restarted by changes in
// place: an earlier manager may have begun that.
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
				// An autoscaler has no pods of its own to roll out.
				if o := k.Adapter.Observe(obj); !o.Settled && len(o.Allocations) > 0 {
					turns = append(turns, apply.Turn{Ref: ref})
				}
				return
			}
		}
	})
	return turns
}

// look takes note of how far the roll-out of a target is.
func (l *Loop) look(ref workload.Ref, v *decide.Verdict, now time.Time) {
	settled := func() bool { return v.Kind.Adapter.Observe(v.Object).Settled }
	l.rollouts.Look(apply.Turn{Ref: ref}, v.Object.ResourceVersion, settled, now)
}

// giveBack gives back the places of a write that is known not to have come about.
func (l *Loop) giveBack(ref workload.Ref, s sent) {
	l.batches.Return(s.place)
	if s.rolls {
		l.rollouts.Return(apply.Turn{Ref: ref})
	}
}

// markRollout names a target whose roll-out is late.
func (l *Loop) markRollout(marks []status.Mark, ref workload.Ref) {
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

// Waiting says what keeps what is tuned from a target; empty: nothing does that the loop knows of.
func (l *Loop) Waiting(ref workload.Ref) string {
	if l.rollouts.Waits(apply.Turn{Ref: ref}) {
		return waitsForOthers
	}
	if l.budgets != nil {
		return l.budgets.Waits(ref)
	}
	return ""
}

// Held says which PodDisruptionBudget, LimitRange or ResourceQuota keeps what is tuned from a target, as Waiting says it; empty: none does.
func (l *Loop) Held(ref workload.Ref) string {
	if l.budgets == nil {
		return ""
	}
	return l.budgets.Waits(ref)
}

// Rollouts counts the targets of a policy that restart pods for what was tuned, that wait for others, and that are late.
func (l *Loop) Rollouts(id workload.Policy) (running, waiting, late int) {
	return l.rollouts.Counts(id)
}
