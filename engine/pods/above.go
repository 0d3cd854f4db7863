package pods

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// OwnerReferences returns the controlling owner references of objects that own pods, without a watch of pods. A kind is watched from its
// first use.
type OwnerReferences struct{ kinds kinds }

// NewOwnerReferences returns OwnerReferences without watches. They share watches with Members of the same Options.
func NewOwnerReferences(opts Options) *OwnerReferences {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	id := newIdentity()
	return &OwnerReferences{kinds{opts: opts, changed: func() {}, all: map[schema.GroupKind]*ownerKind{},
		watch: func(ctx context.Context, _ schema.GroupKind, resource schema.GroupVersionResource) (*watch.Watch, error) {
			return opts.Watches.Ensure(ctx, controllersOf(resource, id))
		}}}
}

// OwnerReferenceOf returns the controlling owner reference of an object; nil: none. known reports whether the object was found with the
// given UID; an empty UID means any. ever reports whether a later call may find the object; false: its kind cannot be
// watched now. Watches started by the call end with the context.
func (o *OwnerReferences) OwnerReferenceOf(ctx context.Context, ref workload.Ref, uid string) (
	owner *workload.OwnerReference, known, ever bool) {
	if ref.Group == "" && (ref.Kind == "Node" || ref.Kind == "Pod") {
		return nil, true, true // do not watch all nodes or pods because an owner reference names a node or a pod
	}
	k, ok := o.kinds.of(ctx, ref.GroupKind, false)
	if !ok || !k.barred.IsZero() {
		return nil, false, false
	}
	if k.watch == nil || !k.watch.HasSynced() {
		return nil, false, true
	}
	obj := k.get(ref.Namespace, ref.Name)
	if obj == nil || uid != "" && obj.UID != uid {
		return nil, false, true
	}
	return obj.OwnerReference, true, true
}
