package decide_test

import (
	"strings"
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

// TestSilenceGivesWayToAClaimToStayAwake: a target that the use of nobody put to sleep wakes in the morning of another schedule of the same
// priority, also while its use is unknown. A lower priority does not wake it, as it would not with a proven use.
func TestSilenceGivesWayToAClaimToStayAwake(t *testing.T) {
	byRequests := nightly(0)
	byRequests.Spec.Upscale, byRequests.Spec.Downscale = "", ""
	byRequests.Spec.Idle = &v1alpha1.IdleRule{Demand: "rate(requests[2m])", AsleepAfter: "2h"}
	days := nightly(0)
	days.Name = "office"
	quiet := &workload.Use{Quiet: morning.Add(-3 * time.Hour), Seen: morning}
	for _, tc := range []struct {
		reason   string
		priority int32
		use      *workload.Use
		suspend  bool
		wakes    bool
	}{
		{"nothing is known", 0, nil, false, true},
		{"it is not used", 0, quiet, false, true},
		{"nothing is known, and the priority is higher", 1, nil, false, false},
		{"it is not used, and the priority is higher", 1, quiet, false, false},
		{"a suspended schedule keeps it", 0, nil, true, false},
	} {
		byRequests.Spec.Priority, byRequests.Spec.Suspend = tc.priority, tc.suspend
		m := memory(t, []policy.Object{byRequests, days}, sleeping("web", ""))
		m.SetUses(workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}, world.Uses{deploymentRef("web"): tc.use})
		if v := decide.Target(m, deploymentRef("web"), morning, nil); v.Err != nil || (v.Result.Patch != nil) != tc.wakes {
			t.Errorf("%s: %v, %q", tc.reason, v.Err, body(v))
		}
	}
}

// TestSleepByUseIsKeptAfterAnOrderInAFreeze: a hold goes on after its order, because a freeze denies its end. The order to sleep ends too,
// while the target is not used. So the target sleeps for the schedule from then on, and sleeps on while its use is unknown.
func TestSleepByUseIsKeptAfterAnOrderInAFreeze(t *testing.T) {
	byRequests := nightly(0)
	byRequests.Spec.Upscale, byRequests.Spec.Downscale = "", ""
	byRequests.Spec.Idle = &v1alpha1.IdleRule{Demand: "rate(requests[2m])", AsleepAfter: "2h"}
	m := memory(t, []policy.Object{byRequests, order("hold", v1alpha1.OverrideHold, -1, 2), order("demo", v1alpha1.OverrideAsleep, -1, 3),
		lasting(-2, 4)}, webAt(4))
	for hour := range 6 {
		now := evening.Add(time.Duration(hour) * time.Hour)
		uses := world.Uses{}
		if hour == 2 {
			uses[web] = &workload.Use{Quiet: now.Add(-3 * time.Hour), Seen: now}
		}
		m.SetUses(workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}, uses)
		if _, err := decide.Simulate(m, now, now.Add(59*time.Minute)); err != nil {
			t.Fatal(err)
		}
		object := string(m.Raw(web))
		if held := strings.Contains(object, `"paused":true`); held != (hour < 4) || !strings.Contains(object, `"replicas":0`) {
			t.Errorf("hour %d: held %t, or awake: %s", hour, held, object)
		}
	}
}
