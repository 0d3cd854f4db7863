package reconcile

import (
	"maps"
	"slices"
	"time"

	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/workload"
)

// passedOn gathers what the policies of an object's governors ask of the object itself, and says when that can next change.
func (e *Engine) passedOn(k *kind, obj *workload.Object, now time.Time) (intents []workload.Intent, wake time.Time) {
	if k.releasing || obj.Deleting || e.followsOwner(obj) {
		return nil, time.Time{}
	}
	e.eachGovernor(k.ref(obj), func(gk *kind, governor *workload.Object) {
		v, asked := e.opinions(gk, governor, now)
		wake = earliest(wake, v.wake)
		for _, in := range asked {
			if in.ForGoverned {
				in.ForGoverned = false
				intents = append(intents, in)
			}
		}
	})
	return intents, wake
}

// own leaves out what is meant for the object that the target governs.
func own(intents []workload.Intent) []workload.Intent {
	return slices.DeleteFunc(intents, func(in workload.Intent) bool { return in.ForGoverned })
}

// lasting leaves out what is set once as well.
func lasting(intents []workload.Intent) []workload.Intent {
	return slices.DeleteFunc(intents, func(in workload.Intent) bool { return in.ForGoverned || in.Once })
}

// eachGovernor yields the governors of an object that are in use, in order.
func (e *Engine) eachGovernor(ref workload.Ref, yield func(*kind, *workload.Object)) {
	for _, g := range slices.SortedFunc(slices.Values(e.governors.Of(ref)), compareRefs) {
		k := e.kinds[g.GroupKind]
		if k == nil {
			continue
		}
		if obj := k.watch.Get(g.Namespace, g.Name); obj != nil && !obj.Deleting {
			yield(k, obj)
		}
	}
}

// within gives the bounds that the governors of an object have once it is awake and their policies are carried out; nil
// where the plan has no use for them or there are none. Where several contradict each other, the lower end counts.
func (e *Engine) within(k *kind, obj *workload.Object, plan workload.Plan, now time.Time) *workload.Bounds {
	lands := plan.Size != nil && plan.Size.Once || plan.Size == nil && len(obj.Ledger) > 0
	if !lands {
		return nil
	}
	var all *workload.Bounds
	e.eachGovernor(k.ref(obj), func(gk *kind, governor *workload.Object) {
		_, intents := e.opinions(gk, governor, now)
		planned, _ := pipeline.Merge(append(own(intents), e.frozen(gk, governor)...)...)
		b, err := gk.adapter.Bounds(governor, planned)
		if err != nil || b.Min == nil && b.Max == nil {
			return
		}
		if all == nil {
			all = &workload.Bounds{}
		}
		all.Min, all.Max = higher(all.Min, b.Min, 1), higher(all.Max, b.Max, -1)
	})
	return all
}

// higher is the higher of two numbers, or with a sign of -1 the lower; one that is missing does not count.
func higher(a, b *int64, sign int64) *int64 {
	if a == nil || b != nil && sign**b > sign**a {
		return b
	}
	return a
}

// rest leaves the bounds of a governor alone while it is held for the sake of what it governs: to raise the minimum of an
// autoscaler is one way to wake its target. They are left alone too while they keep the target at a size that it has still to
// be taken from.
func (e *Engine) rest(k *kind, obj *workload.Object, derived []workload.Intent, plan *workload.Plan) {
	for _, in := range derived {
		by := in.By.String()
		if in.Class == workload.ClassKeep && slices.ContainsFunc(obj.Ledger, func(en workload.Entry) bool { return en.By == by && k.adapter.IsBound(en.Pointer) }) {
			plan.Min, plan.Max = nil, nil
		}
	}
	if !slices.ContainsFunc(derived, func(in workload.Intent) bool { return in.Hold }) || !k.adapter.Observe(obj).CanHold {
		return
	}
	plan.Min, plan.Max = nil, nil
	plan.Keep = maps.Clone(plan.Keep)
	for i := range obj.Ledger {
		by := workload.ParsePolicy(obj.Ledger[i].By)
		if en := e.index.all[by]; en == nil || en.deleting || !k.adapter.IsBound(obj.Ledger[i].Pointer) {
			continue
		}
		if plan.Keep == nil {
			plan.Keep = map[workload.Policy]bool{}
		}
		plan.Keep[by] = true
	}
}
