package members

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
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
	if obj := m.lookInto(m.need, &workload.Owner{GroupKind: ref.GroupKind}).get(ref.Namespace, ref.Name); obj != nil {
		return obj.Owner
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

// lookInto has a kind of owners watched that nobody else watches, and gives what is known of it. It is called with the lock held.
func (m *Members) lookInto(ctx context.Context, owner *workload.Owner) ownerKind {
	if owner == nil || ctx == nil || m.ends(owner.GroupKind) {
		return ownerKind{}
	}
	gk := owner.GroupKind
	if k, found := m.owners.at(gk); found {
		return k
	}
	if _, watched := m.opts.Cluster.OwnerOf(workload.Ref{GroupKind: gk}); watched {
		return ownerKind{}
	}
	k, _ := m.owners.of(ctx, gk, m.known)
	return k
}

// watchOwners watches a kind of owners.
func (m *Members) watchOwners(ctx context.Context, gk schema.GroupKind, resource schema.GroupVersionResource) (*watch.Watch, error) {
	s := controllersOf(resource, m.identity)
	s.Handler = watch.HandlerFunc(func(old, obj *workload.Object) { m.ownerChanged(gk, old, obj) })
	return m.ensure(ctx, s)
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
	return refs[1:], m.owners.isSettled(refs[len(refs)-1].GroupKind)
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
	m.tellChanged(refs)
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
	if known {
		m.tellChanged(refs)
	}
}
