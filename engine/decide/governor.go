package decide

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// An autoscaler (a governor) and what it governs are two targets whose decisions depend on each other. This file has all of
// it. What the policies of a governor ask of the governed object is passed on to it. What the governed object is put to is
// asked of the governor on its behalf.

// passedOn gathers what the policies of an object's governors ask of the object itself, and says when that can next change. Without a
// /scale nothing governs the object but in name: who may make an autoscaler must not reach further with it than that could scale.
func (d decider) passedOn(k *Kind, obj *workload.Object) (intents []workload.Intent, wake time.Time) {
	if k.NoScale || k.Releasing || obj.Deleting || d.followsOwner(obj) {
		return nil, time.Time{}
	}
	d.eachGovernor(k.Ref(obj), func(gk *Kind, governor *workload.Object) {
		a := d.ask(gk, governor, nil)
		wake = timeline.Earliest(wake, a.wake)
		for _, in := range a.intents {
			if in.ForGoverned {
				in.ForGoverned = false
				intents = append(intents, in)
			}
		}
	})
	return intents, wake
}

// deleteForOthers edits a list of intents: it leaves out what is meant for the object that the target governs, or for what governs the
// target.
func deleteForOthers(intents []workload.Intent) []workload.Intent {
	return slices.DeleteFunc(intents, func(in workload.Intent) bool { return in.ForGoverned || in.ForGovernors })
}

// deleteAllButLasting edits a list of intents: it leaves out what is set once as well.
func deleteAllButLasting(intents []workload.Intent) []workload.Intent {
	return slices.DeleteFunc(intents, func(in workload.Intent) bool { return in.ForGoverned || in.ForGovernors || in.Once })
}

// fromGoverned gathers what the policies of the object that a governor governs ask of the governor, and says when that can next change.
func (d decider) fromGoverned(k *Kind, obj *workload.Object) (intents []workload.Intent, wake time.Time) {
	if k.Releasing || obj.Deleting {
		return nil, wake
	}
	tk, governed := d.governed(k, obj)
	if governed == nil {
		return nil, wake
	}
	a := d.ask(tk, governed, nil)
	for _, in := range a.intents {
		if in.ForGovernors {
			in.ForGovernors = false
			intents = append(intents, in)
		}
	}
	return intents, a.wake
}

// eachGovernor yields the governors of an object that are in use, in order.
func (d decider) eachGovernor(ref workload.Ref, yield func(*Kind, *workload.Object)) {
	for _, g := range d.w.Governors(ref) {
		k := d.w.Kind(g.GroupKind)
		if k == nil {
			continue
		}
		if obj := d.w.Object(g); obj != nil && !obj.Deleting {
			yield(k, obj)
		}
	}
}

// governed gives the object that another one governs; nil where there is none in use, or where the governor only has what its owner says.
func (d decider) governed(k *Kind, obj *workload.Object) (*Kind, *workload.Object) {
	target, ok := k.Adapter.Governs(obj)
	if !ok {
		return nil, nil
	}
	target = d.w.Referent(target)
	tk := d.w.Kind(target.GroupKind)
	if tk == nil || obj.Owner != nil && !slices.Contains(d.w.Governors(target), k.Ref(obj)) {
		return nil, nil
	}
	return tk, d.w.Object(target)
}

// boundsByGovernors gives the bounds that the governors of an object have once it is awake and their policies are carried
// out; nil where the plan has no use for them or there are none. Where several contradict each other, the minimum counts.
func (d decider) boundsByGovernors(k *Kind, obj *workload.Object, plan workload.Plan) *workload.Bounds {
	setOnce := plan.Size != nil && plan.Size.Once
	givenBack := plan.Size == nil && len(obj.Ledger) > 0
	if !setOnce && !givenBack {
		return nil
	}
	var all *workload.Bounds
	d.eachGovernor(k.Ref(obj), func(gk *Kind, governor *workload.Object) {
		a := d.ask(gk, governor, nil)
		fromGoverned, _ := d.fromGoverned(gk, governor)
		plan, _ := pipeline.Merge(slices.Concat(deleteForOthers(a.intents), fromGoverned, d.keepers(gk, governor))...)
		b, err := gk.Adapter.Bounds(governor, plan)
		if err != nil || b.Min == nil && b.Max == nil {
			return
		}
		if all == nil {
			all = &workload.Bounds{}
		}
		if b.Min != nil && (all.Min == nil || *b.Min > *all.Min) {
			all.Min = b.Min
		}
		if b.Max != nil && (all.Max == nil || *b.Max < *all.Max) {
			all.Max = b.Max
		}
	})
	return all
}

// onBehalf asks of a governor what the sleep of the governed object needs. At zero the governor is held, before the object is
// put there, so that it does not wake it. At a lower size its bounds are set to that size once the object's ledger has its
// own: a governor that was faster would scale the object itself, and nobody would know from where. Either stays until the
// object has been given back, or has another size.
func (d decider) onBehalf(k *Kind, obj *workload.Object) (intents []workload.Intent, wake time.Time) {
	if k.Releasing || obj.Deleting {
		return nil, wake
	}
	tk, governed := d.governed(k, obj)
	if governed == nil {
		return nil, wake
	}
	a := d.ask(tk, governed, nil)
	plan, _ := pipeline.Merge(append(deleteAllButLasting(a.intents), d.keepers(tk, governed)...)...)
	next, err := tk.Adapter.Render(governed, plan)
	by := d.sleepers(tk, governed, k, obj)
	switch {
	case plan.Asleep():
		return whileAsleep(tk, governed, plan.Size, by, err != nil || next.Sized), a.wake
	case err == nil && next.Sized && len(by) > 0:
		return untilAwake(by), a.wake
	}
	return nil, a.wake
}

// sleepers lists the policies that have set the size of an object, and those that have set bounds of its governor for its sake. They are the
// same, unless one has taken over from another and not all of that is written yet. Who tunes sets bounds for other reasons.
func (d decider) sleepers(k *Kind, governed *workload.Object, gk *Kind, governor *workload.Object) []workload.Policy {
	all, _ := k.Adapter.SetBy(governed)
	labels := d.namespace(governor.Namespace).Labels
	for i := range governor.Ledger {
		id := workload.ParsePolicy(governor.Ledger[i].By)
		if !gk.Adapter.IsBound(governor.Ledger[i].Pointer) || slices.Contains(all, id) {
			continue
		}
		if p := d.w.Policy(id); p == nil || p.Tuner() == nil && (!gk.Can(p.Needs) || !p.Target.Matches(gk.GroupKind, governor, labels)) {
			all = append(all, id)
		}
	}
	return all
}

// untilAwake asks of a governor to stay as it is until the governed object has been woken. by are its sleepers.
func untilAwake(by []workload.Policy) []workload.Intent {
	hold := workload.Intent{By: by[0], Class: workload.ClassSet, Override: true, Hold: true, Enforce: true}
	return append([]workload.Intent{hold}, keepFor(by)...)
}

// keepFor asks that what policies have set stays.
func keepFor(by []workload.Policy) []workload.Intent {
	intents := make([]workload.Intent, len(by))
	for i := range by {
		intents[i] = workload.Intent{By: by[i], Class: workload.ClassKeep}
	}
	return intents
}

// whileAsleep asks of a governor what an object put to the size of a claim needs. by are the sleepers, and
// pending says that the object has still to get the size of the claim: until then what the governor has already stays, and it is held at most.
func whileAsleep(k *Kind, governed *workload.Object, claim *workload.Claim[workload.Size], by []workload.Policy, pending bool) (intents []workload.Intent) {
	in := workload.Intent{By: claim.By, Class: workload.ClassSet, Override: true, Since: claim.Since, Enforce: true,
		Reason: fmt.Sprintf("%s is asleep", k.Ref(governed))}
	if pending {
		intents = keepFor(append(slices.Clone(by), claim.By))
	}
	capacity := k.Adapter.Observe(governed).Capacity(claim.Value)
	switch {
	case capacity == 0:
		in.Hold = true
	case pending:
		return intents
	default:
		in.Min, in.Max = &capacity, &capacity
	}
	return append([]workload.Intent{in}, intents...)
}

// dropBoundsFromPlan edits the plan of a governor: while the governor is held for what it governs, no policy sets its bounds, since to
// raise the minimum of an autoscaler is one way to wake its target. Neither does one while the bounds hold the target at a size that it
// is about to leave. Entries of bounds that policies in force have made stay.
func (d decider) dropBoundsFromPlan(plan *workload.Plan, k *Kind, obj *workload.Object, onBehalf []workload.Intent) {
	kept := slices.ContainsFunc(onBehalf, func(in workload.Intent) bool { return in.Class == workload.ClassKeep && isBoundBy(k, obj, in.By) })
	held := slices.ContainsFunc(onBehalf, func(in workload.Intent) bool { return in.Hold }) && k.Adapter.Observe(obj).CanHold
	if !kept && !held {
		return
	}
	plan.Min, plan.Max = nil, nil
	plan.Keep = maps.Clone(plan.Keep)
	for i := range obj.Ledger {
		id := workload.ParsePolicy(obj.Ledger[i].By)
		p := d.w.Policy(id)
		if p == nil || p.Deleting || !k.Adapter.IsBound(obj.Ledger[i].Pointer) {
			continue
		}
		if plan.Keep == nil {
			plan.Keep = map[workload.Policy]bool{}
		}
		plan.Keep[id] = true
	}
}

// governorFirst names a governor that has to be written before the object: it has to be held before the object goes to zero.
func (d decider) governorFirst(k *Kind, obj *workload.Object, v *Verdict) (workload.Ref, bool) {
	toZero := v.Result.Direction == workload.DirectionDown && v.Plan.Asleep() && k.Adapter.Observe(obj).Capacity(v.Plan.Size.Value) == 0
	if !toZero {
		return workload.Ref{}, false
	}
	var first workload.Ref
	found := false
	d.eachGovernor(k.Ref(obj), func(gk *Kind, governor *workload.Object) {
		if found || gk.Blocked != "" {
			return
		}
		if gv := d.render(gk, governor, nil); gv.Err == nil && gv.Result.Patch != nil {
			first, found = gk.Ref(governor), true
		}
	})
	return first, found
}

// governedFirst names what a governor governs, where that has to get a size that is set once before the governor gets other bounds. With the
// bounds first, an autoscaler whose target is outside of them scales it at the same time: it decides by the count of before, and writes that over
// the size. Right before the size is written, the governor is opened to it (Openings).
func (d decider) governedFirst(k *Kind, obj *workload.Object, v *Verdict) (workload.Ref, bool) {
	if !slices.ContainsFunc(v.Result.Changed, k.Adapter.IsBound) {
		return workload.Ref{}, false
	}
	tk, governed := d.governed(k, obj)
	if governed == nil || tk.Blocked != "" {
		return workload.Ref{}, false
	}
	passed, _ := d.passedOn(tk, governed)
	intents := append(deleteForOthers(d.ask(tk, governed, nil).intents), passed...)
	plan, _ := pipeline.Merge(append(intents, d.keepers(tk, governed)...)...)
	if plan.Size == nil || !plan.Size.Once {
		return workload.Ref{}, false
	}
	plan.Within = d.boundsByGovernors(tk, governed, plan)
	next, err := tk.Adapter.Render(governed, plan)
	return tk.Ref(governed), err == nil && next.Sized
}

// onceSizes gives, by policy, the sizes set once that are still in place, on an object and on what it governs: neither has its
// autoscaler gone on from there, nor has another policy taken over.
func (d decider) onceSizes(k *Kind, obj *workload.Object) map[workload.Policy]string {
	sizes := addOnceSizes(nil, k, obj)
	if tk, governed := d.governed(k, obj); governed != nil {
		sizes = addOnceSizes(sizes, tk, governed)
	}
	return sizes
}

func addOnceSizes(sizes map[workload.Policy]string, k *Kind, obj *workload.Object) map[workload.Policy]string {
	if !slices.ContainsFunc(obj.Ledger, func(en workload.Entry) bool { return en.Once != "" }) {
		return sizes
	}
	counts := k.Adapter.Observe(obj).Components
	if len(counts) == 0 {
		return sizes
	}
	first := slices.MinFunc(counts, func(a, b workload.Component) int { return strings.Compare(a.Name, b.Name) })
	now := strconv.FormatInt(first.Replicas, 10)
	for i := range obj.Ledger {
		if en := &obj.Ledger[i]; en.Once != "" && strings.Trim(en.Set, `"`) == now {
			if sizes == nil {
				sizes = map[workload.Policy]string{}
			}
			sizes[workload.ParsePolicy(en.By)] = now
		}
	}
	return sizes
}
