package source

import (
	"testing"

	"flyball.dev/flyball/engine/workload"
)

// TestPolicyNamed checks that a kind of policies has the same names as in kubectl.
func TestPolicyNamed(t *testing.T) {
	nights, all := workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"},
		workload.Policy{Kind: "ClusterMaintenanceWindow", Name: "all"}
	for text, want := range map[string]workload.Policy{
		"schedule/nights": nights, "Schedules/nights": nights, "schedules.flyball.dev/nights": nights, "fsch/nights": nights,
		"clustermaintenancewindow/all": all, "fcmw/all": all, "fcmw/": {}, "fcmw": {}, "deployment/web": {}, "fad/web": {},
	} {
		if id, kind, ok := PolicyNamed(text, "shop"); id != want || ok != (want.Name != "") || ok && kind.Name != want.Kind {
			t.Errorf("%s: %v, %t; want %v", text, id, ok, want)
		}
	}
}
