package status

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/world"
)

// fillOwners sets the condition OwnersHeld of a policy that holds owners, and removes it from any other policy.
func (v *view) fillOwners(st *v1alpha1.PolicyStatus, put func(kind string, is metav1.ConditionStatus, reason, message string)) {
	if !v.policy.HoldsOwners || v.policy.Deleting {
		meta.RemoveStatusCondition(&st.Conditions, v1alpha1.ConditionOwnersHeld)
		return
	}
	texts := make([]string, len(v.owners))
	for i := range v.owners {
		texts[i] = v.owners[i].String()
	}
	status, reason, message := metav1.ConditionFalse, "NotHeld", firstFew(texts)
	switch {
	case !v.holders:
		reason, message = "NoAdapter", world.NoOwnerAdapter
	case len(v.owners) == 0:
		reason, message = "NoOwner", world.NoOwnerRecord
	case slices.ContainsFunc(v.owners, func(o world.Owner) bool { return o.OutOfReach }):
		reason = "OtherNamespace"
	case !slices.ContainsFunc(v.owners, func(o world.Owner) bool { return !o.Held && !o.Suspended }):
		status, reason = metav1.ConditionTrue, "Held"
	}
	put(v1alpha1.ConditionOwnersHeld, status, reason, message)
}
