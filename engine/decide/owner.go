package decide

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// An object of a GitOps tool (in code: owner) and the objects that it applies (in code: owned) are targets of their own.
// While an owned object sleeps by a policy that holds owners, the owner is suspended. The proof of ownership is the
// record in the owner's own object. A label on the owned object proves nothing, because everybody who may write the
// object may set it, and could so have Flyball suspend a foreign owner.

// fromOwned returns the claims on an owner by the objects that it applies: some sleep, or have values to restore. wake is the earliest
// time at which the claims change.
func (d decider) fromOwned(k *Kind, obj *workload.Object) (intents []workload.Intent, wake time.Time) {
	if !k.Adapter.CanOwn() || k.Releasing || obj.Deleting {
		return nil, wake
	}
	keep := map[workload.Policy]bool{}
	keepAll := func() {
		for _, id := range d.changedBy(k, obj) {
			keep[id] = true
		}
	}
	if !k.Adapter.KeepsOwned() { // the record is not read yet
		keepAll()
	}
	for _, ref := range k.Adapter.Owned(obj) {
		tk, owned := d.w.Kind(ref.GroupKind), d.w.Object(ref)
		switch {
		case tk == nil && d.w.Adapts(ref.GroupKind) == CanSleep: // the kind is not in use now, so whether the object sleeps is unknown
			keepAll()
			continue
		case owned == nil:
			continue
		}
		claims, at := d.claimsOnOwner(tk, owned, k, obj)
		intents, wake = append(intents, claims...), timeline.Earliest(wake, at)
		if tk.Adapter.CanOwn() {
			continue // two owners that apply each other must not wait for each other
		}
		for _, id := range d.changedBy(tk, owned) {
			keep[id] = true
		}
		for i := 0; i < len(owned.Ledger) && !owned.Deleting; i++ {
			for _, id := range owned.Ledger[i].Claimants()[1:] {
				keep[id] = true
			}
		}
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(keep)), func(id workload.Policy) bool { return d.mayHold(id, obj) }) {
		return intents, wake
	}
	// The entry of the owner may be of another policy, which had the same claim: the owner is held as long as any target sleeps.
	keepAll()
	for id := range keep {
		if !slices.ContainsFunc(intents, func(in workload.Intent) bool { return in.By == id }) {
			intents = append(intents, workload.Intent{By: id, Class: workload.ClassKeep})
		}
	}
	return intents, wake
}

// mayHold reports whether a policy exists and holds an owner while targets sleep.
func (d decider) mayHold(id workload.Policy, owner *workload.Object) bool {
	p := d.w.Policy(id)
	return p != nil && p.MayHold(owner.Namespace)
}

// claimsOnOwner returns the claims on an owner because one object that it applies is to sleep, and the time at which
// the claims change. A claim to sleep that a claim to stay awake overrules makes no claim on the owner.
func (d decider) claimsOnOwner(k *Kind, owned *workload.Object, ownerKind *Kind, owner *workload.Object) (intents []workload.Intent,
	wake time.Time) {
	holds := false
	labels := d.namespace(owned.Namespace).Labels
	d.w.EachPolicyFor(k.GroupKind, owned, labels, d.now, func(p *Policy) {
		holds = holds || p.MayHold(owner.Namespace) && p.Selects(k, owned, labels)
	})
	if !holds { // the common case needs no pipelines
		return nil, wake
	}
	a := d.ask(k, owned, nil)
	asks := deleteForOthers(a.intents)
	for i := range asks {
		in := &asks[i]
		if in.Class != workload.ClassSleep || !d.mayHold(in.By, owner) || pipeline.IsOverruled(in, asks) {
			continue
		}
		// Schedules of the owner itself say awake all day, so the claim overrides them.
		claim := workload.Intent{By: in.By, Class: workload.ClassSleep, Priority: in.Priority, Override: true, Since: in.Since,
			Enforce: in.Enforce,
			Reason:  fmt.Sprintf("%s is asleep", k.Ref(owned))}
		if ownerKind.Adapter.Observe(owner).CanSuspend {
			claim.Size = &workload.Size{Mode: workload.SizeSleep}
		} else {
			claim.Hold = true
		}
		intents = append(intents, claim)
	}
	return intents, a.wake
}

// ownerGate returns the gate of the owners of an object: before the object goes to sleep, each owner is held. An object
// that is an owner itself does not wait.
func (d decider) ownerGate(k *Kind, obj *workload.Object, v *Verdict) Gate {
	holds := func(o Opinion) bool { return o.Policy.HoldsOwners && o.moves(workload.DirectionDown) }
	if v.Result.Direction != workload.DirectionDown || k.Adapter.CanOwn() || !slices.ContainsFunc(v.Opinions, holds) {
		return Gate{}
	}
	owners, known := d.w.Owners(k.Ref(obj))
	if !known {
		return Gate{Kind: GateUnread, Reason: "waits until the records of the GitOps tools in the cluster are read"}
	}
	for _, ref := range owners {
		ownerKind, owner := d.w.Kind(ref.GroupKind), d.w.Object(ref)
		if ownerKind == nil || owner == nil || owner.Deleting {
			continue
		}
		if gate := d.gateOfOwner(k, obj, ownerKind, owner); gate.Kind != GateOpen {
			return gate
		}
	}
	return Gate{}
}

// gateOfOwner returns the gate of one owner. It looks at the claims of this object alone, because an owner may apply
// thousands of objects: with the claims of the others, the owner is held as well.
func (d decider) gateOfOwner(k *Kind, obj *workload.Object, ownerKind *Kind, owner *workload.Object) Gate {
	claims, _ := d.claimsOnOwner(k, obj, ownerKind, owner)
	if len(claims) == 0 {
		return Gate{}
	}
	for i := range claims {
		claims[i].Since = time.Time{} // with the claims of other objects the owner may be held for longer already
	}
	plan, _ := pipeline.Merge(slices.Concat(deleteForOthers(d.ask(ownerKind, owner, nil).intents), claims, d.claimants(ownerKind, owner))...)
	next := Verdict{Kind: ownerKind, Object: owner, Plan: plan}
	next.Result, next.Err = ownerKind.Adapter.Render(owner, plan)
	first := fmt.Sprintf("waits for %s to be held", ownerKind.Ref(owner))
	switch {
	case next.Err != nil:
		return Gate{Kind: GateBlocked, Reason: fmt.Sprintf("%s: %v", first, next.Err)}
	case next.Result.Patch == nil:
		if why := ownerKind.Adapter.NotSeen(owner); why != "" && !d.settles {
			return Gate{Kind: GateUnreported, Reason: fmt.Sprintf("waits until the controller of %s acts on its hold: %s",
				ownerKind.Ref(owner), why)}
		}
		return Gate{}
	case next.Result.Direction != workload.DirectionDown:
		return Gate{}
	case ownerKind.Blocked != "":
		return Gate{Kind: GateBlocked, Reason: first + ": " + ownerKind.Blocked}
	}
	if gate := d.freezeGate(ownerKind, owner, &next); gate.Kind != GateOpen {
		gate.Reason = first + ", which " + gate.Reason
		return gate
	}
	return Gate{Kind: GateOther, Reason: first, First: ownerKind.Ref(owner)}
}
