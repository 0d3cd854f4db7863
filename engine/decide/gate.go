package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// gate returns the gate of a verdict's patch. A patch with an open gate may be written now.
func (d decider) gate(k *Kind, obj *workload.Object, v *Verdict) Gate {
	if k.Blocked != "" && !k.Releasing {
		return Gate{Kind: GateBlocked, Reason: k.Blocked}
	}
	if gate := d.orderGate(k, obj, v); gate.Kind != GateOpen {
		return gate
	}
	if gate := d.autoscalerFirst(k, obj, v); gate.Kind != GateOpen {
		return gate
	}
	if governed, first := d.governedFirst(k, obj, v); first {
		return Gate{Kind: GateOther, Reason: fmt.Sprintf("waits for %s to get its size", governed), First: governed}
	}
	if gate := d.ownerGate(k, obj, v); gate.Kind != GateOpen {
		return gate
	}
	if gate := d.roomGate(v); gate.Kind != GateOpen {
		return gate
	}
	return d.freezeGate(k, obj, v)
}

// freezeGate checks a patch against the freezes, because Flyball's own webhook does not judge Flyball's writes. The
// rules for other writers apply, with one exception: a patch that only scales is never delayed, so that schedules put
// targets to sleep and wake them during a freeze.
//
// The exception does not apply to a ledger begun on another object, because it may be a copy or a forgery by another
// writer. It does not apply to an object that follows its owner either, because the owner's controller may copy
// annotations to the object. A patch of labels or annotations is judged too, because it could take the object out of
// a freeze.
func (d decider) freezeGate(k *Kind, obj *workload.Object, v *Verdict) Gate {
	actions := v.Result.Actions
	if len(obj.Ledger) == 0 || obj.Notes().UID == obj.UID && !d.followsOwner(obj) {
		actions &^= workload.ChangeScale
	}
	before := &freeze.Facts{Labels: obj.Labels, Annotations: obj.Annotations}
	after := before
	if relabels(v.Result.Edits) {
		after = &freeze.Facts{Labels: edited(obj.Labels, "labels", v.Result.Edits),
			Annotations: edited(obj.Annotations, "annotations", v.Result.Edits)}
	}
	if actions == 0 && before == after {
		return Gate{}
	}
	what := "sets labels or annotations"
	switch {
	case actions.Has(workload.ChangeRollOut):
		what = "restarts pods"
	case actions.Has(workload.ChangeScale):
		what = "scales by a ledger that another writer may have made"
	case actions != 0:
		what = "creates or deletes objects"
	}
	return d.judged(k, obj, actions, before, after, what)
}

// judged returns the gate for actions on an object. before and after hold the facts of the object before and after
// the actions. what describes the actions, for the reason of the gate.
func (d decider) judged(k *Kind, obj *workload.Object, actions workload.Change, before, after *freeze.Facts, what string) Gate {
	set := d.w.Freezes()
	if set == nil {
		return Gate{Kind: GateFreeze, Reason: what + ", and the freezes have not been read yet"}
	}
	req := freeze.UserChange{
		Actions: actions, Kind: k.GroupKind, Namespace: obj.Namespace, Name: obj.Name, Old: before, New: after, Now: d.now,
	}
	if obj.Namespace != "" {
		ns := d.w.Namespace(obj.Namespace)
		req.NamespaceLabels, req.Terminating = []workload.Pairs{ns.Labels}, ns.Terminating
	}
	answer := set.Decide(req)
	if answer.Allowed {
		return Gate{}
	}
	return Gate{
		Kind:   GateFreeze,
		Reason: fmt.Sprintf("%s, which waits for %s", what, answer.Of(v1alpha1.EnforcementDeny)[0].Policy),
		Until:  cmp.Or(answer.NextAllowed, answer.NotBefore),
	}
}

// relabels reports whether an edit changes a label or an annotation.
func relabels(edits []adapter.Edit) bool {
	return slices.ContainsFunc(edits, func(e adapter.Edit) bool {
		return strings.HasPrefix(e.Pointer, "/metadata/labels") || strings.HasPrefix(e.Pointer, "/metadata/annotations")
	})
}

// edited returns the labels or annotations of an object after the edits. field is "labels" or "annotations".
func edited(pairs workload.Pairs, field string, edits []adapter.Edit) workload.Pairs {
	all := make(map[string]string, len(pairs))
	for _, p := range pairs {
		all[p.Key] = p.Value
	}
	for _, e := range edits {
		tokens := path.Pointer(e.Pointer).Tokens()
		if len(tokens) != 3 || tokens[0] != "metadata" || tokens[1] != field {
			continue
		}
		if e.To == "" {
			delete(all, tokens[2])
			continue
		}
		all[tokens[2]] = rawjson.Parse(e.To).String()
	}
	return workload.NewPairs(all)
}

// ScaleGate returns the gate for scaling a target. In-place changes of the target's pods use it: a freeze that denies
// Scale delays them.
func ScaleGate(w World, k *Kind, obj *workload.Object, now time.Time) Gate {
	is := &freeze.Facts{Labels: obj.Labels, Annotations: obj.Annotations}
	return decider{w: w, now: now}.judged(k, obj, workload.ChangeScale, is, is, "changes pods in place")
}
