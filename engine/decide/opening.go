package decide

import (
	"slices"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// opening is an object that is about to get another count, by a policy.
type opening struct {
	workload.Ref
	by    workload.Policy
	after int64
}

// Openings are the writes that the governors of an object need right before the write of a verdict about it, where that takes the object out of
// their bounds: to a size above zero as it goes to sleep, or back from one. A governor that looked in between would undo it. Each leaves the
// minimum at the lower one of both counts and gives the maximum back, so that the object is inside before and after. What else the governor
// needs follows once the object has its count.
func Openings(w World, v *Verdict, now time.Time) []Verdict {
	if v.Kind == nil || v.Err != nil || v.Result.Patch == nil {
		return nil
	}
	after := countAfter(v)
	if after == 0 {
		return nil
	}
	o := &opening{Ref: v.Kind.Ref(v.Object), by: v.Result.By, after: after}
	d := decider{w: w, now: now, opening: o}
	var all []Verdict
	d.eachGovernor(o.Ref, func(gk *Kind, governor *workload.Object) {
		if gk.Blocked != "" || isWithin(boundsInForce(gk, governor), after) || !v.Plan.Asleep() && !isBoundBy(gk, governor, v.Result.By) {
			return
		}
		gv := d.render(gk, governor, nil)
		if gv.Kind, gv.Object = gk, governor; gv.Err == nil && gv.Result.Patch != nil {
			all = append(all, gv)
		}
	})
	return all
}

// countAfter is how many replicas an object has after the write of a verdict that puts it to sleep or wakes it; 0: none, or it is another write.
func countAfter(v *Verdict) int64 {
	// What is observed looks through the ledger: these are the counts as their owner has them.
	observed := v.Kind.Adapter.Observe(v.Object)
	switch {
	case v.Plan.Asleep():
		return observed.Capacity(v.Plan.Size.Value)
	case v.Plan.Size != nil || v.Result.Direction != workload.DirectionUp:
		return 0
	}
	var own int64
	for _, c := range observed.Components {
		own += c.Replicas
	}
	if b := v.Plan.Within; b != nil {
		own = *lowest(highest(&own, b.Min), b.Max)
	}
	return own
}

// boundsInForce are the bounds of a governor as they are, whoever has set them.
func boundsInForce(k *Kind, governor *workload.Object) workload.Bounds {
	bare := *governor
	bare.Ledger = nil
	return k.Adapter.Observe(&bare).Bounds
}

func isWithin(b workload.Bounds, n int64) bool {
	return (b.Min == nil || *b.Min <= n) && (b.Max == nil || n <= *b.Max)
}

// isBoundBy says whether a policy has set bounds of a governor.
func isBoundBy(k *Kind, governor *workload.Object, id workload.Policy) bool {
	by := id.String()
	return slices.ContainsFunc(governor.Ledger, func(en workload.Entry) bool { return en.By == by && k.Adapter.IsBound(en.Pointer) })
}

func (o *opening) is(ref workload.Ref) bool { return o != nil && o.Ref == ref }

// intents ask of a governor to let the object have its count before and after the change.
func (o *opening) intents(k *Kind, governor *workload.Object) []workload.Intent {
	in := workload.Intent{By: o.by, Class: workload.ClassSet, Override: true, Enforce: true, Reason: o.String() + " is about to get another count"}
	own := k.Adapter.Observe(governor).Bounds.Min
	if least := lowest(boundsInForce(k, governor).Min, &o.after); own != nil && *own != *least {
		in.Min = least
	}
	return []workload.Intent{in}
}
