package target

import (
	"fmt"
	"time"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// waitsForOthers is what is told of a target whose roll-out has to wait.
const waitsForOthers = "waits for other targets to roll out (spec.guard.maxDisruption)"

// takeRollout takes a place among the roll-outs of the policy that tunes a target, if the write is one. Where ok is false the target waits.
func (l *Loop) takeRollout(ref workload.Ref, v *decide.Verdict, now time.Time) (took, ok bool) {
	id := v.Result.By
	p := l.world.Snapshot().Find(id)
	if l.tuned == nil || p == nil || p.Deleting || p.Tuner() == nil || !v.Result.Actions.Has(workload.ChangeRollOut) {
		return false, true
	}
	l.rollouts.Resume(id, now, func() []workload.Ref { return l.unsettled(p) })
	need := apply.Need{Memory: v.Result.MoreMemory}
	for key, claim := range v.Plan.Amounts {
		if key.Kind == workload.AmountRequest && claim.By == id {
			need.Since = claim.Since
		}
	}
	limit := max(1, l.tuned.Targets(id)*p.Tuner().MaxDisruption()/100)
	return l.rollouts.Take(id, ref, v.Object.ResourceVersion, need, limit, now)
}

// unsettled lists the targets on which a policy has set something and that have not settled: an earlier manager may have begun to roll them
// out.
func (l *Loop) unsettled(p *world.Policy) (refs []workload.Ref) {
	s := l.world.Snapshot()
	s.EachTarget(p, func(ref workload.Ref) {
		k, obj := s.Kind(ref.GroupKind), s.Object(ref)
		if k == nil || obj == nil {
			return
		}
		for i := range obj.Ledger {
			if obj.Ledger[i].By == p.ID.String() {
				// An autoscaler has no pods of its own to roll out.
				if o := k.Adapter.Observe(obj); !o.Settled && len(o.Allocations) > 0 {
					refs = append(refs, ref)
				}
				return
			}
		}
	})
	return refs
}

// look takes note of how far the roll-out of a target is.
func (l *Loop) look(ref workload.Ref, v *decide.Verdict, now time.Time) {
	settled := func() bool { return v.Kind.Adapter.Observe(v.Object).Settled }
	l.rollouts.Look(ref, v.Object.ResourceVersion, settled, now)
}

// giveBack gives back the places of a write that is known not to have come about.
func (l *Loop) giveBack(ref workload.Ref, s sent) {
	l.batches.Return(s.place)
	if s.rolls {
		l.rollouts.Return(ref)
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
	if l.rollouts.Waits(ref) {
		return waitsForOthers
	}
	return ""
}

// Rollouts counts the targets of a policy that roll out what was tuned, that wait for others, and that are late.
func (l *Loop) Rollouts(id workload.Policy) (running, waiting, late int) {
	return l.rollouts.Counts(id)
}
