package adapter

import (
	"strings"
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

func TestALedgerNamesNoPolicyOfAnotherNamespace(t *testing.T) {
	for _, tc := range []struct{ namespace, by, want string }{
		{"shop", "Schedule/shop/nights", "Schedule/shop/nights"},
		{"shop", "ClusterSchedule/nights", "ClusterSchedule/nights"},
		{"shop", "Schedule/bank/nights", ""},
		{"shop", "Trigger/bank/peaks", ""},
		{"", "Schedule/bank/nights", ""},
		{"", "ClusterSchedule/nights", "ClusterSchedule/nights"},
	} {
		text, err := workload.Ledger{
			{Pointer: "/spec/paused", By: "ClusterSchedule/days", Was: "false"},
			{Pointer: "/spec/replicas", By: tc.by, Was: "3", Set: "0"},
		}.Encode(workload.Origin{Namespace: tc.namespace})
		if err != nil {
			t.Fatal(err)
		}
		raw := object(`{"replicas":0}`, v1alpha1.AnnotationLedger, text)
		if tc.namespace == "" {
			raw = []byte(strings.Replace(string(raw), `"namespace":"shop",`, "", 1))
		}
		obj := projected(t, mustCompile(t, deploymentYAML, Keys{}), raw)
		want := workload.Ledger{
			{Pointer: "/spec/paused", By: "ClusterSchedule/days", Was: "false"},
			{Pointer: "/spec/replicas", By: tc.want, Was: "3", Set: "0"},
		}
		if obj.Namespace != tc.namespace || len(obj.Ledger) != len(want) {
			t.Fatalf("in namespace %q: got the object %+v", tc.namespace, obj)
		}
		for i := range want {
			if obj.Ledger[i] != want[i] {
				t.Errorf("in namespace %q, %s: got %+v, want %+v", tc.namespace, tc.by, obj.Ledger[i], want[i])
			}
		}
	}
}
