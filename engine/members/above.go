package members

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// Owners knows what owns the objects that own pods, for who has no pods watched. A kind is watched from when it is first asked about.
type Owners struct{ kinds kinds }

// NewOwners makes Owners that watch nothing yet. They share watches with Members of the same Options.
func NewOwners(opts Options) *Owners {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	id := newIdentity()
	return &Owners{kinds{opts: opts, changed: func() {}, all: map[schema.GroupKind]*ownerKind{},
		watch: func(ctx context.Context, _ schema.GroupKind, resource schema.GroupVersionResource) (*watch.Watch, error) {
			return opts.Watches.Ensure(ctx, controllersOf(resource, id))
		}}}
}

// OwnerOf finds the controlling owner of an object; nil: it has none. It is not known while the object is not, or is another one than that of
// a UID that is given. ever says that it may come to be. Watches that this begins end with the context.
func (o *Owners) OwnerOf(ctx context.Context, ref workload.Ref, uid string) (owner *workload.Owner, known, ever bool) {
	if ref.Group == "" && (ref.Kind == "Node" || ref.Kind == "Pod") {
		return nil, true, true // who names them has nobody watch all of them
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
	return obj.Owner, true, true
}
