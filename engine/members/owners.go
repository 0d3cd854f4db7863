package members

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// ownerKind is a kind of owners that is watched for this package alone.
type ownerKind struct {
	watch *watch.Watch
	// barred is since when it is known that the kind cannot be watched: it is not served, or that is not allowed.
	barred time.Time
	// late is true where everything was known before the kind was met: nobody else waits for it.
	late bool
	// failed is true once it could not be found out whether the kind can be watched: nobody waits for it either.
	failed bool
}

// isSettled says that no other owners are to be expected: the objects of the kind are known, or never will be.
func (k *ownerKind) isSettled() bool {
	return !k.barred.IsZero() || k.watch != nil && k.watch.HasSynced()
}

// isAwaited says whether pods count as unknown until more is known of the kind.
func (k *ownerKind) isAwaited() bool {
	return !k.isSettled() && !k.late && !k.failed && (k.watch == nil || !isRefused(k.watch))
}

const (
	// resolveRetry is the pause after it could not be found out whether a kind can be watched.
	resolveRetry = 5 * time.Second
	// barredRetry is the pause after which a kind is asked about again that cannot be watched.
	barredRetry = 10 * time.Minute
	// ownerKindsAtMost is after how many kinds of owners those are forgotten that cannot be watched. Whoever makes pods can give them owners of
	// kinds that do not exist.
	ownerKindsAtMost = 1000
)

// ownerOf finds the owner of an object that owns pods. It is called with the lock held.
func (m *Members) ownerOf(ref workload.Ref) *workload.Owner {
	if ref.Group == "" && ref.Kind == "Pod" || m.ends(ref.GroupKind) {
		return nil
	}
	owner, watched := m.opts.Cluster.OwnerOf(ref)
	if watched {
		return owner
	}
	m.lookInto(m.need, &workload.Owner{GroupKind: ref.GroupKind})
	if k := m.owners[ref.GroupKind]; k != nil && k.watch != nil {
		if obj := k.watch.Get(ref.Namespace, ref.Name); obj != nil {
			return obj.Owner
		}
	}
	return nil
}

// ends says that the owners of objects of a kind do not matter. It is called with the lock held.
func (m *Members) ends(gk schema.GroupKind) bool {
	if m.measuring {
		return gk.Group == "" && gk.Kind == "Node"
	}
	return m.opts.Cluster.Ends(gk)
}

// lookInto has a kind of owners watched that nobody else watches. It is called with the lock held.
func (m *Members) lookInto(ctx context.Context, owner *workload.Owner) {
	if owner == nil || ctx == nil || m.ends(owner.GroupKind) {
		return
	}
	gk, now := owner.GroupKind, m.opts.Clock.Now()
	if k := m.owners[gk]; k != nil && (k.barred.IsZero() || now.Sub(k.barred) < barredRetry) {
		return
	}
	if _, watched := m.opts.Cluster.OwnerOf(workload.Ref{GroupKind: gk}); watched {
		return
	}
	if len(m.owners) >= ownerKindsAtMost {
		maps.DeleteFunc(m.owners, func(_ schema.GroupKind, k *ownerKind) bool { return !k.barred.IsZero() })
	}
	k := &ownerKind{late: m.known}
	m.owners[gk] = k
	go m.watchOwners(ctx, gk, k)
}

// watchOwners watches a kind of owners once it can be told whether that is possible.
func (m *Members) watchOwners(ctx context.Context, gk schema.GroupKind, k *ownerKind) {
	for {
		resource, ok, err := m.opts.Cluster.Resource(ctx, gk)
		if err == nil {
			m.resolve(ctx, gk, k, resource, ok)
			return
		}
		m.opts.Log.V(1).Info("it could not be found out whether owners of pods can be watched", "kind", gk.String(), "reason", err.Error())
		m.mu.Lock()
		k.failed = true
		m.mu.Unlock()
		m.check()
		select {
		case <-ctx.Done():
			return
		case <-time.After(resolveRetry):
		}
	}
}

// resolve starts the watch of a kind of owners, if it can be watched, and tells of that.
func (m *Members) resolve(ctx context.Context, gk schema.GroupKind, k *ownerKind, resource schema.GroupVersionResource, ok bool) {
	var w *watch.Watch
	if ok {
		var err error
		w, err = m.ensure(ctx, watch.Source{GVR: resource, ID: "members", Projector: newControllers(m.identity),
			Handler: watch.HandlerFunc(func(old, obj *workload.Object) { m.ownerChanged(gk, old, obj) })})
		if err != nil {
			m.opts.Log.Error(err, "owners of pods are not watched", "kind", gk.String())
		}
	} else {
		m.opts.Log.V(1).Info("pods may belong to more than can be seen: owners of a kind are not served, or may not be listed and watched", "kind", gk.String())
	}
	m.mu.Lock()
	if k.watch = w; w == nil {
		k.barred = m.opts.Clock.Now()
	}
	m.mu.Unlock()
	m.check()
}

// Above lists the objects that own what a reference names, the nearest first. It is sure where there can be no others.
func (m *Members) Above(ref workload.Ref) (refs []workload.Ref, sure bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.tree.branches[ref]
	if b == nil {
		return nil, true
	}
	m.tree.relink(ref)
	refs = b.above()
	k := m.owners[refs[len(refs)-1].GroupKind]
	return refs[1:], k == nil || k.isSettled()
}

// Look finds the owner of an object again, which is watched by others, and tells of the pods that belong to something else now.
func (m *Members) Look(ref workload.Ref) {
	m.mu.Lock()
	var refs []workload.Ref
	if b := m.tree.branches[ref]; b != nil && m.known {
		before := b.above()
		m.tree.relink(ref)
		if after := b.above(); !slices.Equal(before, after) {
			refs = slices.Concat(before, after)
		}
	}
	m.mu.Unlock()
	if len(refs) > 0 {
		m.tellChanged(refs)
	}
}

// Refresh looks for the owners of everything again: more kinds may have come to be watched.
func (m *Members) Refresh() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range slices.Collect(maps.Values(m.tree.branches)) {
		m.tree.relink(b.ref)
	}
}

// ownerChanged hangs pods on what their owner belongs to.
func (m *Members) ownerChanged(gk schema.GroupKind, old, obj *workload.Object) {
	if obj == nil || old != nil && old.Owner == obj.Owner {
		return
	}
	ref := workload.Ref{GroupKind: gk, Namespace: obj.Namespace, Name: obj.Name}
	m.mu.Lock()
	var refs []workload.Ref
	if b := m.tree.branches[ref]; b != nil {
		refs = b.above()
		refs = append(refs, m.above(ref)...)
	}
	known := m.known
	m.mu.Unlock()
	if known && len(refs) > 0 {
		m.tellChanged(refs)
	}
}
