package reconcile

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/workload"
)

// objects is the part of a watch that judging needs.
type objects interface {
	Get(namespace, name string) *workload.Object
	Range(yield func(*workload.Object) bool)
	RangeNamespace(namespace string, yield func(*workload.Object) bool)
	HasSynced() bool
	Len() int
}

// kind is one adapted kind in use. It is immutable: a change makes a new one.
type kind struct {
	gk schema.GroupKind
	// name of the Adapter object.
	name     string
	adapter  *adapter.Adapter
	resource schema.GroupVersionResource
	watch    objects
	// blocked says why nothing may be written for the kind; empty: it may.
	blocked string
	// releasing is true while the Adapter is being deleted: everything is given back.
	releasing bool
}

// can says whether the kind has any of the capabilities; no capability asked for is always there.
func (k *kind) can(needs []capability) bool {
	if len(needs) == 0 {
		return true
	}
	for _, have := range k.adapter.Capabilities() {
		for _, need := range needs {
			if have == need {
				return true
			}
		}
	}
	return false
}

func (k *kind) ref(obj *workload.Object) workload.Ref {
	return workload.Ref{GroupKind: k.gk, Namespace: obj.Namespace, Name: obj.Name}
}
