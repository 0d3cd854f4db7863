package status

import (
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// An order does not list a target as reached if the target is not as the order wants it.
func TestAnOrderDoesNotReachTargetsThatItDoesNotChange(t *testing.T) {
	id := workload.Policy{Kind: "Override", Namespace: "shop", Name: "demo"}
	winner := workload.Policy{Kind: "ChangeFreeze", Namespace: "shop", Name: "end"}
	order := &decide.Policy{Policy: &policy.Policy{ID: id, Extras: policy.Extras{
		Override: &pipeline.Override{By: id, Effect: v1alpha1.OverrideAsleep}}}}
	lost := []pipeline.Conflict{{Winner: winner, Loser: id, Facet: "size", Reason: "mandatory"}}
	for _, tc := range []struct {
		reason    string
		conflicts []pipeline.Conflict
		state     workload.State
		failure   string
		want      Mark
		reached   bool
	}{
		{"it sleeps", nil, workload.StateAsleep, "", Asleep, true},
		{"it is still being written", nil, workload.StateFallingAsleep, "", FallingAsleep, true},
		{"a claim of a freeze wins", lost, workload.StateAsleep, "", Overridden, false},
		{"another writer's value is respected", nil, workload.StateOverridden, "", Overridden, false},
		{"a write fails", nil, workload.StateAsleep, "forbidden", Failed, false},
		{"it cannot sleep", nil, workload.StateUnable, "", Unable, false},
	} {
		v := &decide.Verdict{Conflicts: tc.conflicts, Result: adapter.Result{State: tc.state},
			Opinions: []decide.Opinion{{Policy: order, Class: workload.ClassSleep, Reached: true}}}
		if m := Marks(v, Outcome{Failure: tc.failure})[0]; m.State != tc.want || m.Applied.Reached != tc.reached {
			t.Errorf("%s: state %v, reached %t", tc.reason, m.State, m.Applied.Reached)
		}
	}
}
