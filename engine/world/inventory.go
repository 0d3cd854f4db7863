package world

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// Inventory returns the objects to select from. Only objects of kinds in use are known.
func (s *Snapshot) Inventory() selector.Inventory { return inventory{Snapshot: s} }

// InventoryFor returns the inventory without the objects of kinds that lack the capabilities needed by a policy.
func (s *Snapshot) InventoryFor(needs []v1alpha1.Capability) selector.Inventory {
	return inventory{s, needs}
}

type inventory struct {
	*Snapshot
	needs []v1alpha1.Capability
}

// Adapted implements selector.Inventory, in order of the kinds' names.
func (i inventory) Adapted() []schema.GroupKind {
	var all []schema.GroupKind
	for _, a := range i.adapters {
		if !slices.Contains(all, a.GroupKind) {
			all = append(all, a.GroupKind)
		}
	}
	slices.SortFunc(all, compareKinds)
	return all
}

// Namespaces implements selector.Inventory.
func (i inventory) Namespaces(yield func(string, workload.Pairs) bool) {
	if i.namespaces != nil {
		i.namespaces.Range(func(ns *workload.Object) bool { return yield(ns.Name, ns.Labels) })
	}
}

// Objects implements selector.Inventory.
func (i inventory) Objects(gk schema.GroupKind, namespace string, yield func(*workload.Object) bool) {
	k := i.kinds[gk]
	switch {
	case k == nil || !k.Can(i.needs):
	case namespace == "":
		k.Live.Range(yield)
	default:
		k.Live.RangeNamespace(namespace, yield)
	}
}
