package adapters

import (
	"slices"

	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// ownLedgers projects like another projector, and removes the names of policies of other namespaces from ledgers. A
// namespaced policy never writes in a different namespace, so such a name is not Flyball's. The name would block the
// deletion of the policy and show in the policy's status. The rest of the entry holds: no policy claims the field, so
// it is restored.
type ownLedgers struct{ watch.Projector }

// Project implements watch.Projector.
func (p ownLedgers) Project(raw []byte) (*workload.Object, error) {
	obj, err := p.Projector.Project(raw)
	if obj != nil {
		obj.Ledger = disown(obj.Ledger, obj.Namespace)
	}
	return obj, err
}

// disown returns a ledger without the names of policies of other namespaces than the object's. The given
// ledger is not changed.
func disown(ledger workload.Ledger, namespace string) workload.Ledger {
	foreign := func(e workload.Entry) bool {
		home := workload.ParsePolicy(e.By).Namespace
		return home != "" && home != namespace
	}
	if !slices.ContainsFunc(ledger, foreign) {
		return ledger
	}
	ledger = slices.Clone(ledger)
	for i := range ledger {
		if foreign(ledger[i]) {
			ledger[i].By = ""
		}
	}
	return ledger
}
