package decide_test

import (
	"testing"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// TestTargetsThatAreUsedWakeInOrder: a used target waits for the used targets of earlier waves alone. The use of an earlier object of the
// same name does not count.
func TestTargetsThatAreUsedWakeInOrder(t *testing.T) {
	now := evening
	used := &workload.Use{UID: "uid-db", Last: now, Quiet: now, Seen: now}
	quiet := &workload.Use{Quiet: now.Add(-3 * time.Hour), Seen: now}
	byRequests := inOrder(func(s *v1alpha1.Schedule) {
		s.Spec.Upscale, s.Spec.Downscale = "", ""
		s.Spec.Idle = &v1alpha1.IdleRule{Demand: "rate(requests[2m])", AsleepAfter: "2h"}
	})
	for _, tc := range []struct {
		reason  string
		db, web *workload.Use
		// wakes and waits are about web, and dbWakes is about db.
		wakes, waits, dbWakes bool
	}{
		{"both are used", used, &workload.Use{Last: now, Quiet: now, Seen: now}, true, true, true},
		{"web alone is used", quiet, &workload.Use{Last: now, Quiet: now, Seen: now}, true, false, false},
		{"nothing is known of db", nil, &workload.Use{Last: now, Quiet: now, Seen: now}, true, false, false},
		{"nothing is known of web", used, nil, false, false, true},
		{"web is another object", used, &workload.Use{UID: "uid-before", Last: now, Quiet: now, Seen: now}, false, false, true},
	} {
		m := memory(t, []policy.Object{byRequests}, sleeping("db", "db"), sleeping("web", ""))
		m.SetUses(workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"},
			world.Uses{deploymentRef("db"): tc.db, deploymentRef("web"): tc.web})
		v, db := decide.Target(m, deploymentRef("web"), now, nil), decide.Target(m, deploymentRef("db"), now, nil)
		if v.Err != nil || (v.Result.Patch != nil) != tc.wakes || (v.Gate.Kind == decide.GateOrder && v.Gate.Order.Why != "") != tc.waits {
			t.Errorf("%s: web: %v, %q, gate %+v", tc.reason, v.Err, body(v), v.Gate)
		}
		if db.Err != nil || (db.Result.Patch != nil) != tc.dbWakes || db.Gate.Kind != decide.GateOpen {
			t.Errorf("%s: db: %v, %q, gate %+v", tc.reason, db.Err, body(db), db.Gate)
		}
	}
}
