package adapter

import (
	"strings"
	"testing"

	"flyball.dev/flyball/engine/workload"
)

const awakeYAML = `
target: {group: ray.io, kind: RayCluster, versions: [v1]}
suspend: [{set: [{path: .spec.suspend, value: true, awake: false}]}]
`

// TestAwakeValueReplacesAnAbsentField checks the restored field for each original, and a second night.
func TestAwakeValueReplacesAnAbsentField(t *testing.T) {
	a := mustCompile(t, awakeYAML, Keys{})
	for before, after := range map[string]string{
		`{}`: `{"suspend":false}`, `{"suspend":null}`: `{"suspend":false}`, `{"suspend":false}`: `{"suspend":false}`,
	} {
		s := newServer(object(before))
		for range 2 {
			if got := s.settle(t, a, sleep()); got.State != workload.StateAsleep {
				t.Fatalf("%s asleep is %s: %s", before, got.State, got.Message)
			}
			if got := s.spec(); got != `{"suspend":true}` {
				t.Errorf("%s asleep is %s", before, got)
			}
			if got := s.settle(t, a, workload.Plan{}); got.State != workload.StateAwake {
				t.Errorf("%s awake is %s: %s", before, got.State, got.Message)
			}
			if got := s.spec(); got != after {
				t.Errorf("%s comes back as %s, want %s", before, got, after)
			}
			if left := s.ledger(t, a); len(left) > 0 {
				t.Errorf("%s awake has the ledger %v", before, left)
			}
		}
	}
}

// TestLedgerRestoresAwakeValueWithoutTheAdapter restores an object by an adapter without the field, because an adapter may change while
// objects sleep.
func TestLedgerRestoresAwakeValueWithoutTheAdapter(t *testing.T) {
	s := newServer(object(`{}`))
	s.settle(t, mustCompile(t, awakeYAML, Keys{}), sleep())
	bare := mustCompile(t, "target: {group: ray.io, kind: RayCluster, versions: [v1]}\n"+
		"hold: [{set: [{path: .spec.hold, value: true}]}]", Keys{})
	s.settle(t, bare, workload.Plan{})
	if got := s.spec(); got != `{"suspend":false}` {
		t.Errorf("the object comes back as %s", got)
	}
}

// TestAwakeValueIsChecked checks the refusals of awake values that could never count.
func TestAwakeValueIsChecked(t *testing.T) {
	for awake, want := range map[string]string{
		`true`: "must be another value", `"false"`: "must be another value of the same type", `null`: "",
	} {
		_, errs := Compile("rayclusters.ray.io", specOf(t, strings.Replace(awakeYAML, "awake: false", "awake: "+awake, 1)), Keys{})
		if got := errs.ToAggregate(); (got == nil) != (want == "") || got != nil && !strings.Contains(got.Error(), want) {
			t.Errorf("awake: %s: %v, want %q", awake, got, want)
		}
	}
}
