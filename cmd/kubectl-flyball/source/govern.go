package source

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Governing returns the kinds whose objects set the replicas of other objects, such as autoscalers.
func (w *World) Governing() []schema.GroupKind {
	var all []schema.GroupKind
	for _, a := range w.Adapters {
		if compiled, errs := world.Compile(a.Name, adapter.Served(a), adapter.Keys{}); len(errs) == 0 && compiled.CanGovern() {
			all = append(all, compiled.GroupKind())
		}
	}
	return all
}

// Governed returns the kind of the object that the given object governs, or nil if it governs nothing.
func (w *World) Governed(ref workload.Ref) (*schema.GroupKind, error) {
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	kind, obj := memory.Kind(ref.GroupKind), memory.Object(ref)
	if kind == nil || obj == nil {
		return nil, nil
	}
	governed, ok := kind.Adapter.Governs(obj)
	if !ok {
		return nil, nil
	}
	governed = memory.Referent(governed)
	if memory.Kind(governed.GroupKind) == nil {
		return nil, nil // no policy can put the object to sleep
	}
	return &governed.GroupKind, nil
}

// Owning returns further kinds to be read, in all namespaces, to decide about objects: the kinds of owners if a policy holds
// owners, and the kinds of the objects applied by an owner among refs.
func (w *World) Owning(refs []workload.Ref) ([]schema.GroupKind, error) {
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	holds := false
	for p := range memory.Policies {
		holds = holds || p.HoldsOwners && !p.Deleting
	}
	if !holds {
		return nil, nil
	}
	var all []schema.GroupKind
	for _, k := range memory.Kinds() {
		if k.Adapter.CanOwn() {
			all = append(all, k.GroupKind)
		}
	}
	for _, ref := range refs {
		k, obj := memory.Kind(ref.GroupKind), memory.Object(ref)
		if k == nil || obj == nil {
			continue
		}
		for _, owned := range k.Adapter.Owned(obj) {
			if memory.Kind(owned.GroupKind) != nil && !slices.Contains(all, owned.GroupKind) {
				all = append(all, owned.GroupKind)
			}
		}
	}
	return all, nil
}

// Followed returns the kinds that objects of a kind follow (spec.follows of adapters).
func (w *World) Followed(gk schema.GroupKind) (all []schema.GroupKind) {
	for i := 0; i < len(w.Adapters); i++ {
		spec := &w.Adapters[i].Spec
		if spec.Target.GroupKind() != gk || spec.Follows == nil {
			continue
		}
		gk = schema.GroupKind{Group: spec.Follows.Group, Kind: spec.Follows.Kind}
		if slices.Contains(all, gk) {
			return all
		}
		all, i = append(all, gk), -1
	}
	return all
}
