package decide

import (
	"slices"
	"time"

	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/workload"
)

// Openings are the writes that the governors of an object need right before the write of a verdict about it, where that takes the object out of
// their bounds: to a size above zero as it goes to sleep, back from one, or to a size that is set once. A governor that looked in between would undo it. Each takes the new
// count into the bounds and touches nothing else. What the governor needs besides follows once the object has its count. A governor whose write
// has to wait for something is left out.
func Openings(w World, v *Verdict, now time.Time) []Verdict {
	if v.Kind == nil || v.Err != nil || !v.Result.Sized {
		return nil
	}
	after := countAfter(v)
	if after <= 0 {
		return nil
	}
	d := decider{w: w, now: now}
	var all []Verdict
	d.eachGovernor(v.Kind.Ref(v.Object), func(gk *Kind, governor *workload.Object) {
		if gk.Releasing {
			return // it gives everything back, and nothing must come after that
		}
		by := v.Result.By
		if !v.Plan.Asleep() {
			from := d.sleepers(v.Kind, v.Object, gk, governor)
			i := slices.IndexFunc(from, func(id workload.Policy) bool { return isBoundBy(gk, governor, id) })
			switch {
			case i >= 0:
				by = from[i]
			case v.Plan.Size != nil && v.Plan.Size.Once:
				by = v.Plan.Size.By
			default:
				return
			}
		}
		gv := Verdict{Kind: gk, Object: governor}
		gv.Plan, gv.Conflicts = pipeline.Merge(append(keepEverything(governor), opening(gk, governor, by, after))...)
		gv.Result, gv.Err = gk.Adapter.Render(governor, gv.Plan)
		if gv.Err == nil && gv.Result.Patch != nil && gk.Blocked == "" && d.freezeGate(gk, governor, &gv).Kind == GateOpen {
			all = append(all, gv)
		}
	})
	return all
}

// opening asks of a governor to take a count into its bounds. Where it has it already, it asks for nothing.
func opening(k *Kind, governor *workload.Object, by workload.Policy, count int64) workload.Intent {
	in := workload.Intent{By: by, Class: workload.ClassSet, Override: true, Enforce: true}
	if b := boundsInForce(k, governor); b.Min != nil && count < *b.Min {
		in.Min = &count
	} else if b.Max != nil && count > *b.Max {
		in.Max = &count
	}
	return in
}

// countAfter is how many replicas an object has once its size is written as its plan asks.
func countAfter(v *Verdict) int64 {
	// What is observed looks through the ledger: these are the counts as their owner has them.
	observed := v.Kind.Adapter.Observe(v.Object)
	if v.Plan.Size != nil {
		size := v.Plan.Size.Value
		if v.Plan.Size.Once && v.Plan.Within != nil {
			size.Replicas = v.Plan.Within.Clamp(size.Replicas)
		}
		return observed.Capacity(size)
	}
	var own int64
	for _, c := range observed.Components {
		if v.Plan.Within != nil && c.Replicas > 0 {
			c.Replicas = v.Plan.Within.Clamp(c.Replicas)
		}
		own += c.Replicas
	}
	return own
}

// boundsInForce are the bounds of a governor as they are, whoever has set them.
func boundsInForce(k *Kind, governor *workload.Object) workload.Bounds {
	bare := *governor
	bare.Ledger = nil
	return k.Adapter.Observe(&bare).Bounds
}

// isBoundBy says whether a policy has set bounds of a governor.
func isBoundBy(k *Kind, governor *workload.Object, id workload.Policy) bool {
	by := id.String()
	return slices.ContainsFunc(governor.Ledger, func(en workload.Entry) bool { return en.By == by && k.Adapter.IsBound(en.Pointer) })
}
