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

// podChanged takes over a change of one pod.
func (m *Members) podChanged(ctx context.Context, old, pod *workload.Object) {
	now := m.opts.Clock.Now()
	m.mu.Lock()
	if ctx.Err() != nil || m.need != ctx {
		m.mu.Unlock()
		return
	}
	var refs []workload.Ref
	switch {
	case old != nil && pod != nil && home(old) == home(pod):
		m.tree.replace(old, pod)
		if movedIn(old, pod) {
			m.tree.branches[home(pod)].touch(now)
		}
		if matters(old, pod) {
			refs = m.above(home(pod))
		}
	default:
		if old != nil {
			refs = m.above(home(old))
			m.tree.remove(old, now)
		}
		if pod != nil {
			m.lookInto(ctx, pod.Owner)
			m.tree.add(pod, now)
			refs = append(refs, m.above(home(pod))...)
		}
	}
	m.moveCrowd(old, pod)
	known := m.known
	m.mu.Unlock()
	if known && len(refs) > 0 {
		m.listener.MembersChanged(refs)
	}
}

// above lists a branch and those that it hangs on, which may have come to be known since it was last looked at.
func (m *Members) above(ref workload.Ref) []workload.Ref {
	m.tree.relink(ref)
	if b := m.tree.branches[ref]; b != nil {
		return b.above()
	}
	return nil
}

// movedIn says whether what happened to a pod is part of how a roll-out goes on.
func movedIn(old, pod *workload.Object) bool {
	a, b := unpack(textAt(old, podFacts)), unpack(textAt(pod, podFacts))
	return a.ready != b.ready || a.finished != b.finished || old.Deleting != pod.Deleting
}

// matters says whether two forms of a pod are different for planning.
func matters(old, pod *workload.Object) bool {
	return old.Deleting != pod.Deleting || !slices.Equal(old.Fields, pod.Fields)
}

// moveCrowd takes a pod to its node.
func (m *Members) moveCrowd(old, pod *workload.Object) {
	if old != nil {
		if c := m.byNode[textAt(old, podNode)]; c != nil {
			if c.pods = slices.DeleteFunc(c.pods, func(o *workload.Object) bool { return o == old }); len(c.pods) == 0 {
				delete(m.byNode, textAt(old, podNode))
			}
		}
	}
	if pod == nil || textAt(pod, podNode) == "" {
		return
	}
	c := m.byNode[textAt(pod, podNode)]
	if c == nil {
		c = &crowd{}
		m.byNode[textAt(pod, podNode)] = c
	}
	c.pods = append(c.pods, pod)
}

// nodeChanged tells of the pods of a node that has come, gone, or is another one for planning.
func (m *Members) nodeChanged(old, node *workload.Object) {
	if old != nil && node != nil && old.Deleting == node.Deleting && slices.Equal(old.Labels, node.Labels) && slices.Equal(old.Fields, node.Fields) {
		return
	}
	name := ""
	if node != nil {
		name = node.Name
	} else {
		name = old.Name
	}
	m.mu.Lock()
	var refs []workload.Ref
	if c := m.byNode[name]; c != nil && m.known {
		for _, pod := range c.pods {
			refs = append(refs, m.above(home(pod))...)
		}
	}
	m.mu.Unlock()
	if len(refs) > 0 {
		m.listener.MembersChanged(refs)
	}
}

// ownerOf finds the owner of an object that owns pods. It is called with the lock held.
func (m *Members) ownerOf(ref workload.Ref) *workload.Owner {
	if ref.Group == "" && ref.Kind == "Pod" || m.opts.Cluster.Ends(ref.GroupKind) {
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

// lookInto has a kind of owners watched that nobody else watches. It is called with the lock held.
func (m *Members) lookInto(ctx context.Context, owner *workload.Owner) {
	if owner == nil || ctx == nil || m.owners[owner.GroupKind] != nil || m.opts.Cluster.Ends(owner.GroupKind) {
		return
	}
	gk := owner.GroupKind
	if _, watched := m.opts.Cluster.OwnerOf(workload.Ref{GroupKind: gk}); watched {
		return
	}
	k := &ownerKind{}
	m.owners[gk], m.known = k, false
	go m.watchOwners(ctx, gk, k)
}

// Refresh looks for the owners of everything again: more kinds may have come to be watched.
func (m *Members) Refresh() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range slices.Collect(maps.Values(m.tree.branches)) {
		m.tree.relink(b.ref)
	}
}

const (
	// resolveRetry is the pause after it could not be found out whether a kind can be watched.
	resolveRetry = 5 * time.Second
	// deniedRetry is the pause after which a kind is asked about again that cannot be watched.
	deniedRetry = 10 * time.Minute
)

// watchOwners watches a kind of owners once that is possible.
func (m *Members) watchOwners(ctx context.Context, gk schema.GroupKind, k *ownerKind) {
	for told := false; ; {
		resource, ok, err := m.opts.Cluster.Resource(ctx, gk)
		pause := deniedRetry
		switch {
		case err != nil:
			m.opts.Log.V(1).Info("it could not be found out whether owners of pods can be watched", "kind", gk.String(), "reason", err.Error())
			pause = resolveRetry
		case ok:
			m.resolve(k, m.ensureOwners(ctx, gk, resource))
			return
		case !told:
			m.opts.Log.Info("pods may belong to more than can be seen: owners of a kind may not be listed and watched", "kind", gk.String())
			m.resolve(k, nil)
			told = true
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// ensureOwners starts the watch of a kind of owners; nil where it cannot be started.
func (m *Members) ensureOwners(ctx context.Context, gk schema.GroupKind, resource schema.GroupVersionResource) *watch.Watch {
	w, err := m.ensure(ctx, watch.Source{GVR: resource, ID: "members", Projector: newControllers(m.identity),
		Handler: watch.HandlerFunc(func(old, obj *workload.Object) { m.ownerChanged(gk, old, obj) })})
	if err != nil {
		m.opts.Log.Error(err, "owners of pods are not watched", "kind", gk.String())
		return nil
	}
	return w
}

// resolve says what came of looking into a kind of owners; nil is no watch.
func (m *Members) resolve(k *ownerKind, w *watch.Watch) {
	m.mu.Lock()
	k.watch, k.resolved = w, true
	m.mu.Unlock()
	m.check()
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
		m.listener.MembersChanged(refs)
	}
}
