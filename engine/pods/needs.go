package pods

import (
	"context"
	"fmt"
	"slices"

	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// Need starts watches of pods and nodes, with the given node labels, until the context ends or Drop is called. It does
// not wait for the network. After an error it must be called again.
func (m *Members) Need(ctx context.Context, labels []string) error {
	m.needing.Lock()
	defer m.needing.Unlock()
	m.mu.Lock()
	ctx = m.begin(ctx)
	m.ordering = true
	hasNodes := m.nodes != nil && slices.Equal(labels, m.labels)
	m.mu.Unlock()
	if !hasNodes {
		nodes, err := m.ensure(ctx, watch.Source{GVR: nodeResource, ID: fmt.Sprintf("members %q", labels),
			Projector: newNodes(m.identity, labels),
			Handler:   watch.HandlerFunc(m.nodeChanged)})
		if err != nil {
			return err
		}
		m.takeNodes(nodes, labels)
	}
	return m.ensurePods(ctx)
}

// NeedContainers starts a watch of pods with their containers, until the context ends or DropContainers is called. It
// follows all owners, also above an object with its own rule for deleting pods. After an error it must be called again.
func (m *Members) NeedContainers(ctx context.Context) error {
	m.needing.Lock()
	defer m.needing.Unlock()
	m.mu.Lock()
	ctx = m.begin(ctx)
	m.measuring = true
	m.mu.Unlock()
	return m.ensurePods(ctx)
}

// begin creates the context of the watches if there is none. The caller holds the lock.
func (m *Members) begin(ctx context.Context) context.Context {
	if m.need == nil {
		m.need, m.stop = context.WithCancel(ctx)
	}
	return m.need
}

// ensurePods starts a watch of pods with the needed fields. If these have changed, pods are read again and
// unknown until then. Without a new watch it checks whether everything is known, because a watch of nodes may have come into sync
// before takeNodes.
func (m *Members) ensurePods(ctx context.Context) error {
	m.mu.Lock()
	has, wide, turn := m.pods != nil && m.wide == m.measuring, m.measuring, m.podTurn+1
	if !has {
		if m.pods != nil {
			m.pods.Release()
		}
		m.pods, m.wide, m.podTurn, m.known = nil, wide, turn, false
		m.tree, m.byNode = newTree(m.ownerReferenceOf), map[string][]*workload.Object{}
	}
	m.mu.Unlock()
	if has {
		m.check()
		return nil
	}
	pods, err := m.ensure(ctx, watch.Source{GVR: podResource, ID: fmt.Sprintf("members %t %d", wide, turn),
		Projector: newPods(m.identity, m.opts.Own, wide),
		Handler:   watch.HandlerFunc(func(old, pod *workload.Object) { m.podChanged(ctx, turn, old, pod) })})
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.pods = pods
	m.mu.Unlock()
	m.check()
	return nil
}

// takeNodes replaces the watch of nodes once the new watch is in sync; the first watch is used at once.
func (m *Members) takeNodes(nodes *watch.Watch, labels []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.labels = slices.Clone(labels)
	if m.nodes == nil {
		m.nodes = nodes
		return
	}
	if m.nextNodes != nil {
		m.nextNodes.Release()
	}
	m.nextNodes, m.known = nodes, false
}

// Drop ends Need. Without any other need, all watches end and their objects are dropped.
func (m *Members) Drop() {
	m.needing.Lock()
	defer m.needing.Unlock()
	m.mu.Lock()
	m.ordering, m.labels = false, nil
	if !m.drop() {
		for _, w := range []*watch.Watch{m.nodes, m.nextNodes} {
			if w != nil {
				w.Release()
			}
		}
		m.nodes, m.nextNodes = nil, nil
	}
	m.mu.Unlock()
	m.check()
}

// DropContainers ends NeedContainers. If pods are needed otherwise, they are read again without containers. Pods that
// cannot be watched again are an error.
func (m *Members) DropContainers(ctx context.Context) error {
	m.needing.Lock()
	defer m.needing.Unlock()
	m.mu.Lock()
	was := m.measuring
	m.measuring = false
	ended := m.drop()
	if !ended {
		ctx = m.need
	}
	m.mu.Unlock()
	if ended || !was {
		return nil
	}
	return m.ensurePods(ctx)
}

// drop ends all watches if pods are not needed any more. It reports whether no watch is left. The caller holds the
// lock.
func (m *Members) drop() bool {
	if m.need == nil {
		return true
	}
	if m.ordering || m.measuring {
		return false
	}
	m.stop()
	m.need = nil
	m.forget()
	return true
}

// check checks whether everything is known. It notifies the listeners when that becomes true, and when more kinds of
// owners become known.
func (m *Members) check() {
	m.mu.Lock()
	if m.nextNodes != nil && m.nextNodes.HasSynced() {
		m.nodes.Release()
		m.nodes, m.nextNodes = m.nextNodes, nil
	}
	known, settled := m.need != nil && len(m.awaited()) == 0, m.owners.settled()
	tell := known && (!m.known || settled != m.settled)
	m.known, m.settled = known, settled
	m.mu.Unlock()
	if tell {
		m.tell(Listener.MembersSettled)
	}
}
