package pods

import (
	"cmp"
	"context"
	"slices"

	"flyball.dev/flyball/engine/workload"
)

// podChanged applies a change of a pod.
func (m *Members) podChanged(ctx context.Context, turn int, old, pod *workload.Object) {
	now := m.opts.Clock.Now()
	m.mu.Lock()
	if ctx.Err() != nil || m.need != ctx || m.podTurn != turn {
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
			m.watchedKind(ctx, pod.OwnerReference)
			m.tree.add(pod, now)
			refs = append(refs, m.above(home(pod))...)
		}
	}
	m.move(old, pod)
	known := m.known
	m.mu.Unlock()
	if known {
		m.tellChanged(refs)
	}
}

// above returns a branch and its ancestors, some of which may have become known since the last call.
func (m *Members) above(ref workload.Ref) []workload.Ref {
	m.tree.relink(ref)
	if b := m.tree.branches[ref]; b != nil {
		return b.above()
	}
	return nil
}

// movedIn reports whether a change of a pod is progress of a roll-out.
func movedIn(old, pod *workload.Object) bool {
	a, b := unpack(textAt(old, podFacts)), unpack(textAt(pod, podFacts))
	return a.ready != b.ready || a.finished != b.finished || old.Deleting != pod.Deleting
}

// matters reports whether two forms of a pod differ for planning.
func matters(old, pod *workload.Object) bool {
	return old.Deleting != pod.Deleting || !slices.Equal(old.Fields, pod.Fields) ||
		!slices.EqualFunc(old.Elements, pod.Elements, func(a, b workload.Element) bool { return a.Name == b.Name && a.Raw == b.Raw })
}

// move moves a pod to its node.
func (m *Members) move(old, pod *workload.Object) {
	if old != nil {
		node := textAt(old, podNode)
		if left := slices.DeleteFunc(m.byNode[node], func(o *workload.Object) bool { return o == old }); len(left) > 0 {
			m.byNode[node] = left
		} else {
			delete(m.byNode, node)
		}
	}
	if pod != nil && textAt(pod, podNode) != "" {
		node := textAt(pod, podNode)
		m.byNode[node] = append(m.byNode[node], pod)
	}
}

// nodeChanged notifies the listeners about the pods of a node that was created, deleted or changed for planning.
func (m *Members) nodeChanged(old, node *workload.Object) {
	if old != nil && node != nil && old.Deleting == node.Deleting && slices.Equal(old.Labels, node.Labels) &&
		slices.Equal(old.Fields, node.Fields) {
		return
	}
	name := cmp.Or(node, old).Name
	m.mu.Lock()
	var refs []workload.Ref
	if m.known {
		for _, pod := range m.byNode[name] {
			refs = append(refs, m.above(home(pod))...)
		}
	}
	m.mu.Unlock()
	m.tellChanged(refs)
}
