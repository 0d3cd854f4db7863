package decide_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// A target written asleep falls asleep until its controller reports the new size. Without a report, the state is unknown,
// and the target counts as asleep.
func TestTargetsFallAsleepUntilTheyHaveSettled(t *testing.T) {
	later := evening.Add(time.Hour)
	slept := webAt(0, entry("replicas", "3", "0", nights))
	halved := webAt(2, entry("replicas", "3", "2", nights))
	report := func(manifest string, seen, replicas int) string {
		status := fmt.Sprintf(`,"status":{"observedGeneration":%d,"replicas":%d,"updatedReplicas":%[2]d,"availableReplicas":%[2]d}}`,
			seen, replicas)
		return strings.Replace(strings.TrimSuffix(strings.TrimSpace(manifest), "}")+status, `"generation":1`, `"generation":2`, 1)
	}
	for _, tc := range []struct {
		reason string
		policy policy.Object
		object string
		now    time.Time
		want   workload.State
		why    string
	}{
		{"no controller has reported", nightly(0), slept, later, workload.StateAsleep, ""},
		{"the API server alone has written zeros", nightly(0),
			strings.TrimSuffix(strings.TrimSpace(slept), "}") + `,"status":{"replicas":0,"availableReplicas":0}}`, later, workload.StateAsleep, ""},
		{"the controller has not seen the change", nightly(0), report(slept, 1, 0), later, workload.StateFallingAsleep,
			"observedGeneration is 1"},
		{"pods are left", nightly(0), report(slept, 2, 3), later, workload.StateFallingAsleep, ".status.replicas is 3"},
		{"no pod is left", nightly(0), report(slept, 2, 0), later, workload.StateAsleep, ""},
		{"one pod too many at a reduced size", half(), report(halved, 2, 3), later, workload.StateFallingAsleep, ".status.replicas is 3"},
		{"at a reduced size", half(), report(halved, 2, 2), later, workload.StateAsleep, ""},
		{"a change is still to be made", nightly(0), report(slept, 2, 3), noon, workload.StateAwake, ""},
		{"awake", nightly(0), report(webAt(3), 2, 0), noon, workload.StateAwake, ""},
	} {
		v := decide.Target(memory(t, []policy.Object{tc.policy}, tc.object), web, tc.now, nil)
		if v.Err != nil || v.Result.State != tc.want {
			t.Errorf("%s: %s, %v; want %s", tc.reason, v.Result.State, v.Err, tc.want)
		}
		if f := v.Falling; (f == nil) != (tc.why == "") || f != nil && (!strings.Contains(f.Why, tc.why) || !f.Since.Equal(evening)) {
			t.Errorf("%s: lacks %+v, want %q", tc.reason, f, tc.why)
		}
	}
}
