package pods

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// ownerReferenceOf returns the owner reference of an object that owns pods. The caller holds the lock.
func (m *Members) ownerReferenceOf(ref workload.Ref) *workload.OwnerReference {
	if ref.Group == "" && ref.Kind == "Pod" || m.ends(ref.GroupKind) {
		return nil
	}
	owner, watched := m.opts.Cluster.OwnerReferenceOf(ref)
	if watched {
		return owner
	}
	if obj := m.watchedKind(m.need, &workload.OwnerReference{GroupKind: ref.GroupKind}).get(ref.Namespace, ref.Name); obj != nil {
		return obj.OwnerReference
	}
	return nil
}

// ends reports whether the owners of a kind's objects do not matter. The caller holds the lock.
func (m *Members) ends(gk schema.GroupKind) bool {
	if m.measuring {
		return gk.Group == "" && gk.Kind == "Node"
	}
	return m.opts.Cluster.Ends(gk)
}

// watchedKind starts the watch of an owner's kind, unless the kind is watched elsewhere, and returns the state of the
// kind. The caller holds the lock.
func (m *Members) watchedKind(ctx context.Context, owner *workload.OwnerReference) ownerKind {
	if owner == nil || ctx == nil || m.ends(owner.GroupKind) {
		return ownerKind{}
	}
	gk := owner.GroupKind
	if k, found := m.owners.at(gk); found {
		return k
	}
	if _, watched := m.opts.Cluster.OwnerReferenceOf(workload.Ref{GroupKind: gk}); watched {
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

// Above returns the owners of an object, the nearest first. sure is true if there can be no others.
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

// Relink looks up the owner of an object watched elsewhere again, and notifies the listeners about pods with a new owner.
func (m *Members) Relink(ref workload.Ref) {
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

// Refresh looks up the owners of all objects again, because more kinds may be watched now.
func (m *Members) Refresh() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range slices.Collect(maps.Values(m.tree.branches)) {
		m.tree.relink(b.ref)
	}
}

// ownerChanged moves pods when their owner gets a different owner.
func (m *Members) ownerChanged(gk schema.GroupKind, old, obj *workload.Object) {
	if obj == nil || old != nil && old.OwnerReference == obj.OwnerReference {
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
