package decide

import (
	"cmp"
	"fmt"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// gate says what a patch has to wait for, if anything.
func (d decider) gate(k *Kind, obj *workload.Object, v *Verdict) Gate {
	if k.Blocked != "" && !k.Releasing {
		return Gate{Kind: GateBlocked, Reason: k.Blocked}
	}
	if governor, first := d.governorFirst(k, obj, v); first {
		return Gate{Kind: GateGovernor, Reason: fmt.Sprintf("waits for %s to be held", governor), Governor: governor}
	}
	return d.freezeGate(k, obj, v)
}

// freezeGate says whether a freeze refuses what a patch would do. Flyball keeps its own webhook out of its own way, so it asks
// here. A patch is judged by what it does, as anybody's change is, with one difference: what only scales is never held up, so
// that schedules sleep and wake during a freeze.
func (d decider) freezeGate(k *Kind, obj *workload.Object, v *Verdict) Gate {
	actions := v.Result.Actions &^ workload.ChangeScale
	if actions == 0 {
		return Gate{}
	}
	what := "creates or deletes objects"
	if actions.Has(workload.ChangeRollOut) {
		what = "restarts pods"
	}
	set := d.w.Freezes()
	if set == nil {
		return Gate{Kind: GateFreeze, Reason: what + ", and the freezes have not been read yet"}
	}
	facts := &freeze.Facts{Labels: obj.Labels, Annotations: obj.Annotations}
	req := freeze.Request{
		Actions: actions, Kind: k.GroupKind, Namespace: obj.Namespace, Name: obj.Name, Old: facts, New: facts, Now: d.now,
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
