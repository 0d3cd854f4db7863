package source

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/workload"
)

// Governing returns the kinds whose objects set the replicas of other objects, such as autoscalers.
func (w *World) Governing() []schema.GroupKind {
	var all []schema.GroupKind
	for _, a := range w.Adapters {
		if compiled, errs := adapter.Compile(a.Name, a.Spec, adapter.Keys{}); len(errs) == 0 && compiled.CanGovern() {
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
