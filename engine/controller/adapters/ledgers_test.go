package adapters

import (
	"testing"

	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

func TestAPolicyHasNoLedgersInAnotherNamespace(t *testing.T) {
	kind := worldtest.Kind(t, worldtest.Deployments)
	live := world.NewLive(kind.Adapter)
	w := world.New(selector.Scope{})
	w.ObjectChanged(live, nil, worldtest.Project(t, kind, worldtest.Deployment("web", 0, `,"annotations":{"flyball.dev/ledger":`+
		`"{\"/spec/replicas\":{\"by\":\"Schedule/bank/nights\",\"was\":3,\"set\":0}}"}`)))
	w.Update(func(tx *world.Tx) { tx.UseKind(&world.LiveKind{Kind: kind, Live: live}) })
	if got := w.Snapshot().LedgersOf(workload.Policy{Kind: "Schedule", Namespace: "bank", Name: "nights"}); got != 0 {
		t.Errorf("the other namespace's policy has %d objects to give back", got)
	}
	if got := live.Ledgers(); got != 1 {
		t.Errorf("the kind has %d objects to give back, want 1", got)
	}
}
