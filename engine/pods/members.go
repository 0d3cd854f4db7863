// Package pods knows the members of a target: its pods, through any number of owners, and their nodes. It watches
// pods and nodes while they are needed and keeps only the fields used by planning. All answers come from memory. A Skeleton
// is the common part of the actuators on pods.
package pods

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// Cluster has facts about the cluster besides pods and nodes.
type Cluster interface {
	// OwnerReferenceOf returns the controlling owner of an object of a kind watched elsewhere; watched is false for other kinds.
	OwnerReferenceOf(ref workload.Ref) (owner *workload.OwnerReference, watched bool)
	// Ends reports whether the owners of a kind's objects do not matter.
	Ends(kind schema.GroupKind) bool
	// Resource returns the resource of a kind that may be listed and watched; false: not served or forbidden.
	Resource(ctx context.Context, kind schema.GroupKind) (schema.GroupVersionResource, bool, error)
}

// Listener is notified of changes of members. Calls come one at a time for each watch. They must be quick.
type Listener interface {
	// MembersChanged is called with all owners, direct and indirect, of a pod changed in a way that matters to
	// planning.
	MembersChanged(refs []workload.Ref)
	// MembersSettled is called when everything needed has become known.
	MembersSettled()
}

// Options configure Members.
type Options struct {
	Watches *watch.Manager
	Cluster Cluster
	// Own is the name of Flyball's field manager.
	Own string
	// Clock is the clock for creations and deletions of pods. Default: the machine's.
	Clock clock.PassiveClock
	// Log gets structured lines. Default: none.
	Log logr.Logger
}

// Members keeps the pods of the cluster by owner and by node.
type Members struct {
	opts     Options
	identity identity

	listening sync.RWMutex
	listeners []Listener

	// needing serializes changes of the needs.
	needing sync.Mutex

	mu   sync.Mutex
	need context.Context // nil while nothing is needed
	stop context.CancelFunc
	// ordering is true while pods are needed with their nodes. measuring is true while pods are needed with their
	// containers.
	ordering, measuring bool
	// wide is true if the watch of pods delivers containers too. Each watch of pods has a number, so that late events
	// of an older watch are ignored.
	wide    bool
	podTurn int
	// labels are the kept labels of nodes.
	labels []string
	pods   *watch.Watch
	nodes  *watch.Watch
	// nextNodes is a watch of nodes with a new set of labels; nil: none. It replaces the watch in nodes once it has
	// listed all nodes.
	nextNodes *watch.Watch
	owners    *kinds
	tree      *tree
	// byNode are the pods on each node.
	byNode map[string][]*workload.Object
	// known is true if everything needed is known; settled is the number of settled kinds of owners.
	known   bool
	settled int
}

// New returns Members without watches.
func New(opts Options) *Members {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	m := &Members{opts: opts, identity: newIdentity()}
	m.forget()
	return m
}

// Observe adds a listener to later changes.
func (m *Members) Observe(l Listener) {
	m.listening.Lock()
	defer m.listening.Unlock()
	m.listeners = append(m.listeners, l)
}

func (m *Members) tell(what func(Listener)) {
	m.listening.RLock()
	listeners := m.listeners
	m.listening.RUnlock()
	for _, l := range listeners {
		what(l)
	}
}

func (m *Members) tellChanged(refs []workload.Ref) {
	if len(refs) == 0 {
		return
	}
	m.tell(func(l Listener) { l.MembersChanged(refs) })
}

func (m *Members) forget() {
	m.owners = &kinds{opts: m.opts, watch: m.watchOwners, changed: m.check, all: map[schema.GroupKind]*ownerKind{}}
	m.byNode, m.known = map[string][]*workload.Object{}, false
	m.pods, m.nodes, m.nextNodes, m.wide = nil, nil, nil, false
	m.tree = newTree(m.ownerReferenceOf)
}

var (
	podResource  = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	nodeResource = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
)

// ensure starts a watch with a call of check after each change of state.
func (m *Members) ensure(ctx context.Context, s watch.Source) (*watch.Watch, error) {
	s.OnState = func() { go m.check() }
	return m.opts.Watches.Ensure(ctx, s)
}

// isRefused reports whether a watch has failed, so that waiting for it is useless.
func isRefused(w *watch.Watch) bool {
	_, err := w.Err()
	return err != nil
}

// Trouble returns the reason why pods or nodes are unknown. Empty: they are known, or are just being read.
func (m *Members) Trouble() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range []*watch.Watch{m.pods, m.nodes} {
		if w == nil {
			continue
		}
		if _, err := w.Err(); err != nil {
			return err.Error()
		}
	}
	return ""
}

// Awaited returns the lists without which pods are unknown: "pods", "nodes", and kinds of owners. Empty: none.
func (m *Members) Awaited() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.awaited()
}

// awaited returns the lists of Awaited. The caller holds the lock.
func (m *Members) awaited() (names []string) {
	if m.pods == nil || !m.pods.HasSynced() {
		names = append(names, "pods")
	}
	if m.ordering && (m.nodes == nil || !m.nodes.HasSynced() || m.nextNodes != nil) {
		names = append(names, "nodes")
	}
	return append(names, m.owners.awaited()...)
}

// Fleet returns the current active pods of a target; false: not everything is known yet.
func (m *Members) Fleet(ref workload.Ref) (*workload.Fleet, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.known {
		return nil, false
	}
	f := &workload.Fleet{Own: m.opts.Own}
	m.tree.relink(ref)
	b := m.tree.branches[ref]
	if b == nil {
		return f, true
	}
	f.Moved = b.moved
	found := map[string]*workload.Node{}
	b.each(func(obj *workload.Object) {
		if isCounted(obj) {
			p := podOf(obj)
			p.Node = m.nodeOf(textAt(obj, podNode), found)
			f.Pods = append(f.Pods, p)
		}
	})
	return f, true
}

// isCounted reports whether a controller counts a pod: it has not finished and is not being deleted.
func isCounted(pod *workload.Object) bool {
	return !pod.Deleting && !unpack(textAt(pod, podFacts)).finished
}

// podOf returns a pod without its node.
func podOf(obj *workload.Object) *workload.Pod {
	f, group := unpack(textAt(obj, podFacts)), home(obj)
	p := &workload.Pod{
		Namespace: obj.Namespace, Name: obj.Name, UID: obj.UID, Version: obj.ResourceVersion, Assigned: textAt(obj, podNode) != "",
		Group: group.String(), Phase: f.phase, Ready: f.ready, Changed: f.changed, Created: obj.Created, Restarts: f.restarts,
		Cost: workload.ParseCost(textAt(obj, podCost)), Writer: textAt(obj, podWriter),
	}
	p.Revision = p.Group + textAt(obj, podRevision)
	p.Containers, p.Resize = unpackContainers(obj.Elements)
	return p
}

func (m *Members) nodeOf(name string, found map[string]*workload.Node) *workload.Node {
	if name == "" {
		return nil
	}
	if n, again := found[name]; again {
		return n
	}
	var n *workload.Node
	if m.nodes == nil {
		return nil
	}
	if obj := m.nodes.Get("", name); obj != nil {
		n = &workload.Node{Name: name, Labels: make(map[string]string, len(obj.Labels)), Deleting: obj.Deleting}
		for _, label := range obj.Labels {
			n.Labels[label.Key] = label.Value
		}
		for _, taint := range obj.Fields {
			n.Taints = append(n.Taints, taint.Raw)
		}
		n.Pods = movable(m.byNode[name])
	}
	found[name] = n
	return n
}

// movable returns the number of unfinished pods that could run elsewhere, without static pods and pods of DaemonSets.
func movable(pods []*workload.Object) int {
	n := 0
	for _, pod := range pods {
		bound := pod.OwnerReference != nil && (pod.OwnerReference.Kind == "Node" || pod.OwnerReference.Kind == "DaemonSet")
		if !bound && !unpack(textAt(pod, podFacts)).finished {
			n++
		}
	}
	return n
}

// Costed returns all owners, direct and indirect, of pods with a cost set by Flyball.
func (m *Members) Costed() []workload.Ref { return m.allAbove(m.isCosted) }

// Resized returns all owners, direct and indirect, of pods changed in place by Flyball.
func (m *Members) Resized() []workload.Ref { return m.allAbove(m.isResized) }

// ownersOf returns all owners, direct and indirect, of the accepted pods.
func (m *Members) allAbove(is func(*workload.Object) bool) []workload.Ref {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := map[workload.Ref]bool{}
	for _, b := range m.tree.branches {
		if slices.ContainsFunc(b.pods, is) {
			for _, ref := range b.above() {
				seen[ref] = true
			}
		}
	}
	return slices.Collect(maps.Keys(seen))
}

// CostedPods returns the pods, directly owned by an object, with a cost set by Flyball, finished pods included, without
// their nodes.
func (m *Members) CostedPods(ref workload.Ref) []*workload.Pod { return m.podsOf(ref, m.isCosted) }

// ResizedPods returns the active pods, directly owned by an object, that Flyball changed in place, without their nodes.
func (m *Members) ResizedPods(ref workload.Ref) []*workload.Pod { return m.podsOf(ref, m.isResized) }

// podsOf returns the accepted pods directly owned by an object, without their nodes.
func (m *Members) podsOf(ref workload.Ref, is func(*workload.Object) bool) []*workload.Pod {
	m.mu.Lock()
	defer m.mu.Unlock()
	var pods []*workload.Pod
	if b := m.tree.branches[ref]; b != nil {
		for _, obj := range b.pods {
			if is(obj) {
				pods = append(pods, podOf(obj))
			}
		}
	}
	return pods
}

func (m *Members) isCosted(pod *workload.Object) bool {
	return !pod.Deleting && textAt(pod, podWriter) == m.opts.Own
}

// isResized reports whether Flyball has changed a living pod, in place or at its creation.
func (m *Members) isResized(pod *workload.Object) bool {
	n := len(pod.Elements)
	if n == 0 || pod.Elements[n-1].Name != "" || !isCounted(pod) {
		return false
	}
	_, r := unpackContainers(pod.Elements[n-1:])
	return r.By == m.opts.Own || r.Made && r.By == ""
}

// Groups returns the objects below a target that own pods directly, the target included.
func (m *Members) Groups(ref workload.Ref) []workload.Ref {
	m.mu.Lock()
	defer m.mu.Unlock()
	var refs []workload.Ref
	var walk func(*branch)
	walk = func(b *branch) {
		if len(b.pods) > 0 {
			refs = append(refs, b.ref)
		}
		for _, c := range b.children {
			walk(c)
		}
	}
	if b := m.tree.branches[ref]; b != nil {
		walk(b)
	}
	return refs
}
