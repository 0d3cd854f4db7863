package cost

import (
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// The status of a policy is written again when the policy loses a target. The status may have been written after the
// policy was overruled and before its pods got another policy, and then counts pods that the policy no longer orders.
func TestStatusIsWrittenAgainForALostTarget(t *testing.T) {
	s := newScene(t)
	told := map[string]bool{}
	s.audience = Callbacks{Requeue: func(...workload.Ref) {}, Dirty: func(id workload.Policy) { told[id.Name] = true }}
	process := func() {
		t.Helper()
		if err := s.process(t.Context(), web); err != nil {
			t.Fatal(err)
		}
	}
	s.policy(t, func(*v1alpha1.DeletionCost) {})
	process()
	s.policy(t, func(d *v1alpha1.DeletionCost) { d.Name, d.Spec.Priority = "age", 10 })
	clear(told)
	process()
	if len(told) != 2 {
		t.Errorf("told again: %v, want zones and age", told)
	}
	clear(told)
	process()
	if len(told) != 1 {
		t.Errorf("without a change, told again: %v, want age", told)
	}
}
