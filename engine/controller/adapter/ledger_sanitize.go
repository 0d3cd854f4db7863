package adapter

import (
	"slices"

	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// ownLedgers projects as another projector does and takes the names of policies of other namespaces out of ledgers. A policy of
// one namespace never writes in another, so whoever wrote such a name was not Flyball. Left in, it would keep the policy that it
// names from being deleted, and show in its status. What the entry says of the field holds: nobody claims it, so it is given back.
type ownLedgers struct{ watch.Projector }

// Project implements watch.Projector.
func (p ownLedgers) Project(raw []byte) (*workload.Object, error) {
	obj, err := p.Projector.Project(raw)
	if obj != nil {
		obj.Ledger = disown(obj.Ledger, obj.Namespace)
	}
	return obj, err
}

// disown gives a ledger without the names of policies that live in another namespace than the object. The ledger given stays
// as it is.
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
