package adapters

import (
	"slices"

	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// ownLedgers projects objects like the given projector, and removes the names of policies of other namespaces from
// ledgers. A namespaced policy never writes in a different namespace, so Flyball did not write such a name. The name
// would block the deletion of the policy and appear in the policy's status. The rest of the ledger entry stays valid.
// Without a policy that claims the field, Flyball restores the field.
type ownLedgers struct{ watch.Projector }

// Project implements watch.Projector.
func (p ownLedgers) Project(raw []byte) (*workload.Object, error) {
	obj, err := p.Projector.Project(raw)
	if obj != nil {
		obj.Ledger = disown(obj.Ledger, obj.Namespace)
	}
	return obj, err
}

// disown returns a ledger without the names of policies of namespaces other than the object's. It does not change the
// given ledger.
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
