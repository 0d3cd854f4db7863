package members

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// Owners knows what owns the objects that own pods, for who has no pods watched. A kind is watched from when it is first asked about.
type Owners struct {
	opts     Options
	identity identity

	mu    sync.Mutex
	kinds map[schema.GroupKind]*ownerKind
}

// NewOwners makes Owners that watch nothing yet. They share watches with Members of the same Options.
func NewOwners(opts Options) *Owners {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	interner := workload.NewInterner()
	return &Owners{opts: opts, identity: identity{interner, &ownerTable{interner, newShared()}}, kinds: map[schema.GroupKind]*ownerKind{}}
}

// OwnerOf finds the controlling owner of an object; nil: it has none. It is not known while the object is not, or is another one than that of
// a UID that is given. ever says that it may come to be. Watches that this begins end with the context.
func (o *Owners) OwnerOf(ctx context.Context, ref workload.Ref, uid string) (owner *workload.Owner, known, ever bool) {
	if ref.Group == "" && (ref.Kind == "Node" || ref.Kind == "Pod") {
		return nil, true, true // who names them has nobody watch all of them
	}
	k := o.kind(ctx, ref.GroupKind)
	if k == nil || !k.barred.IsZero() {
		return nil, false, false
	}
	if k.watch == nil || !k.watch.HasSynced() {
		return nil, false, true
	}
	obj := k.watch.Get(ref.Namespace, ref.Name)
	if obj == nil || uid != "" && obj.UID != uid {
		return nil, false, true
	}
	return obj.Owner, true, true
}

// kind gives what is known of a kind of owners, and has it looked into where that is nothing; nil: there are too many kinds.
func (o *Owners) kind(ctx context.Context, gk schema.GroupKind) *ownerKind {
	o.mu.Lock()
	defer o.mu.Unlock()
	k := o.kinds[gk]
	if k == nil {
		if len(o.kinds) >= ownerKindsAtMost {
			maps.DeleteFunc(o.kinds, func(_ schema.GroupKind, k *ownerKind) bool { return !k.barred.IsZero() })
		}
		if len(o.kinds) >= ownerKindsAtMost {
			return nil
		}
		k = &ownerKind{}
		o.kinds[gk] = k
		go o.find(ctx, gk)
	}
	copied := *k
	if !k.barred.IsZero() && o.opts.Clock.Now().Sub(k.barred) >= barredRetry {
		delete(o.kinds, gk) // it may have come to be served, or allowed
	}
	return &copied
}

// find has a kind watched once it can be told whether that is possible.
func (o *Owners) find(ctx context.Context, gk schema.GroupKind) {
	for ctx.Err() == nil {
		resource, ok, err := o.opts.Cluster.Resource(ctx, gk)
		if err == nil {
			o.resolve(ctx, gk, resource, ok)
			return
		}
		o.opts.Log.V(1).Info("it could not be found out whether owners of pods can be watched", "kind", gk.String(), "reason", err.Error())
		select {
		case <-ctx.Done():
		case <-time.After(resolveRetry):
		}
	}
}

func (o *Owners) resolve(ctx context.Context, gk schema.GroupKind, resource schema.GroupVersionResource, ok bool) {
	var w *watch.Watch
	if ok {
		var err error
		if w, err = o.opts.Watches.Ensure(ctx, watch.Source{GVR: resource, ID: "members", Projector: newControllers(o.identity)}); err != nil {
			o.opts.Log.Error(err, "owners of pods are not watched", "kind", gk.String())
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	k := o.kinds[gk]
	if k == nil {
		k = &ownerKind{}
		o.kinds[gk] = k
	}
	if k.watch = w; w == nil {
		k.barred = o.opts.Clock.Now()
	}
}
