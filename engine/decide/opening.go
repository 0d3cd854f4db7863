package decide

import (
	"fmt"
	"slices"
	"time"

	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/workload"
)

// Openings returns the writes to the object's autoscalers that must come directly before the write of a verdict. They
// are needed if the write takes the object out of the bounds: to a sleeping size above zero, back from such a size,
// or to a size set once. Otherwise the autoscaler could undo the write. Each opening extends the bounds to the new
// count and changes nothing else. The other claims on the autoscaler are written after the object has its count.
// Autoscalers with a closed gate are left out.
func Openings(w World, v *Verdict, now time.Time) (all []Verdict) {
	d := decider{w: w, now: now}
	d.eachOpening(v, func(gv Verdict) {
		if gv.Result.Patch != nil && gv.Kind.Blocked == "" && d.freezeGate(gv.Kind, gv.Object, &gv).Kind == GateOpen {
			all = append(all, gv)
		}
	})
	return all
}

// roomGate returns the gate of an autoscaler whose bounds have room for the next count of an object, while its controller has
// not seen them: it would bring the object back into the former bounds.
func (d decider) roomGate(v *Verdict) (gate Gate) {
	if d.settles {
		return gate
	}
	d.eachOpening(v, func(gv Verdict) {
		if gate.Kind != GateOpen || gv.Result.Patch != nil || gv.Kind.Adapter.HoldsAnySize {
			return
		}
		if why := gv.Kind.Adapter.NotSeen(gv.Object); why != "" {
			gate = Gate{Kind: GateUnreported, Reason: fmt.Sprintf("waits until the controller of %s has seen its bounds: %s",
				gv.Kind.Ref(gv.Object), why)}
		}
	})
	return gate
}

// eachOpening yields the autoscalers whose bounds must include the object's next count, with the write that extends them. The write is
// nil if they do.
func (d decider) eachOpening(v *Verdict, yield func(Verdict)) {
	if v.Kind == nil || v.Err != nil || !v.Result.Sized {
		return
	}
	after := countAfter(v)
	if after <= 0 {
		return
	}
	d.eachAutoscaler(v.Kind.Ref(v.Object), func(gk *Kind, autoscaler *workload.Object) {
		if gk.Releasing {
			return // everything is being restored, and a new value might stay for ever
		}
		if v.Plan.Asleep() && holdsAnySize(gk, autoscaler) {
			return // it is held instead
		}
		by := v.Result.By
		if !v.Plan.Asleep() {
			from := d.sleepers(v.Kind, v.Object, gk, autoscaler)
			i := slices.IndexFunc(from, func(id workload.Policy) bool { return isBoundBy(gk, autoscaler, id) })
			switch {
			case i >= 0:
				by = from[i]
			case v.Plan.Size != nil && v.Plan.Size.Once:
				by = v.Plan.Size.By
			default:
				return
			}
		}
		gv := Verdict{Kind: gk, Object: autoscaler}
		gv.Plan, gv.Conflicts = pipeline.Merge(append(keepEverything(autoscaler), opening(gk, autoscaler, by, after))...)
		if gv.Result, gv.Err = gk.Adapter.Render(autoscaler, gv.Plan); gv.Err == nil {
			yield(gv)
		}
	})
}

// opening returns the claim to extend an autoscaler's bounds to a count. If the bounds already include the count, the
// claim has no bounds.
func opening(k *Kind, autoscaler *workload.Object, by workload.Policy, count int64) workload.Intent {
	in := workload.Intent{By: by, Class: workload.ClassSet, Override: true, Enforce: true}
	if b := inForce(k, autoscaler).Bounds; b.Min != nil && count < *b.Min {
		in.Min = &count
	} else if b.Max != nil && count > *b.Max {
		in.Max = &count
	}
	return in
}

// countAfter returns the replicas of an object after its size is written according to its plan.
func countAfter(v *Verdict) int64 {
	// Observe returns the originals in place of values set by policies, so these are the counts of the owner.
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

// inForce returns an autoscaler with its current values, including values set by policies.
func inForce(k *Kind, autoscaler *workload.Object) workload.Observed {
	bare := *autoscaler
	bare.Ledger = nil
	return k.Adapter.Observe(&bare)
}

// Governed returns a count of an object as its autoscalers keep it: inside their bounds in force. An autoscaler leaves a count
// of zero alone, and every count while it is held.
func Governed(w World, ref workload.Ref, count int64) int64 {
	if count <= 0 {
		return count
	}
	decider{w: w}.eachAutoscaler(ref, func(gk *Kind, autoscaler *workload.Object) {
		if o := inForce(gk, autoscaler); !o.Held {
			count = o.Bounds.Clamp(count)
		}
	})
	return count
}

// isBoundBy reports whether a policy has set bounds of an autoscaler.
func isBoundBy(k *Kind, autoscaler *workload.Object, id workload.Policy) bool {
	by := id.String()
	return slices.ContainsFunc(autoscaler.Ledger, func(en workload.Entry) bool { return en.By == by && k.Adapter.IsBound(en.Pointer) })
}
