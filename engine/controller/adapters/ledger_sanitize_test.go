package adapters

import (
	"testing"

	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

type fixed struct{ obj *workload.Object }

func (f fixed) Project([]byte) (*workload.Object, error) { return f.obj, nil }

func TestALedgerNamesNoPolicyOfAnotherNamespace(t *testing.T) {
	for _, tc := range []struct{ namespace, by, want string }{
		{"shop", "Schedule/shop/nights", "Schedule/shop/nights"},
		{"shop", "ClusterSchedule/nights", "ClusterSchedule/nights"},
		{"shop", "Schedule/bank/nights", ""},
		{"shop", "Trigger/bank/peaks", ""},
		{"", "Schedule/bank/nights", ""},
		{"", "ClusterSchedule/nights", "ClusterSchedule/nights"},
	} {
		read := workload.Ledger{{Pointer: "/spec/paused", By: "ClusterSchedule/days", Was: "false"},
			{Pointer: "/spec/replicas", By: tc.by, Was: "3", Set: "0"}}
		obj, err := ownLedgers{fixed{&workload.Object{Namespace: tc.namespace, Name: "web", Ledger: read}}}.Project(nil)
		if err != nil {
			t.Fatal(err)
		}
		want := workload.Ledger{read[0], read[1]}
		want[1].By = tc.want
		for i := range want {
			if obj.Ledger[i] != want[i] {
				t.Errorf("in namespace %q, %s: got %+v, want %+v", tc.namespace, tc.by, obj.Ledger[i], want[i])
			}
		}
		if read[1].By != tc.by {
			t.Errorf("the ledger read was changed")
		}
	}
	live := world.NewLive(worldtest.Kind(t, worldtest.Deployments).Adapter)
	live.Change(nil, &workload.Object{Namespace: "shop", Name: "web",
		Ledger: disown(workload.Ledger{{Pointer: "/spec/replicas", By: "Schedule/bank/nights"}}, "shop")})
	w := world.New(selector.Scope{})
	w.Update(func(tx *world.Tx) {
		tx.UseKind(&world.Kind{Kind: worldtest.Kind(t, worldtest.Deployments), Live: live})
	})
	if got := w.Snapshot().LedgersOf(workload.Policy{Kind: "Schedule", Namespace: "bank", Name: "nights"}); got != 0 {
		t.Errorf("the other namespace's policy has %d objects to give back", got)
	}
	if got := live.Ledgers(); got != 1 {
		t.Errorf("the kind has %d objects to give back, want 1", got)
	}
}
