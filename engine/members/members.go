// Package members knows what belongs to a target: its pods, however many owners lie between, and the nodes that they are on. It
// watches pods and nodes while somebody needs them and keeps of each only what planning looks at. Everything it answers comes
// from memory.
package members

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/fleet"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// Cluster is what has to be known of the cluster besides pods and nodes.
type Cluster interface {
	// OwnerOf finds the controlling owner of an object of a kind that is watched anyway; watched is false for other kinds.
	OwnerOf(ref workload.Ref) (owner *workload.Owner, watched bool)
	// Ends says that the owners of objects of a kind do not matter.
	Ends(kind schema.GroupKind) bool
	// Resource says as what a kind is served, if it may be listed and watched; false: it is not, or may not.
	Resource(ctx context.Context, kind schema.GroupKind) (schema.GroupVersionResource, bool, error)
}

// Listener hears of changes of members. Calls come one at a time for each watch. They must be quick.
type Listener interface {
	// MembersChanged says that something has changed that planning looks at, for the objects that own a pod, however far above it.
	MembersChanged(refs []workload.Ref)
	// MembersSettled says that everything is known that is asked for, after a time in which it was not.
	MembersSettled()
}

// Options say how Members run.
type Options struct {
	Watches *watch.Manager
	Cluster Cluster
	// Own is the field manager that Flyball writes as.
	Own string
	// Clock tells when pods come and go. Default: the machine's.
	Clock clock.PassiveClock
	// Log gets structured lines. Default: none.
	Log logr.Logger
}

// Members keeps the pods of the cluster by owner and by node.
type Members struct {
	opts      Options
	listeners []Listener
	identity  identity

	// needing lets one at a time change what is needed.
	needing sync.Mutex

	mu   sync.Mutex
	need context.Context // nil while nothing is needed
	stop context.CancelFunc
	// ordering says that somebody needs pods with their nodes, measuring that somebody needs them with their containers.
	ordering, measuring bool
	// wide says that the watch of pods brings containers too. Each such watch has a number of its own, so that what an older one brings
	// is told apart.
	wide    bool
	podTurn int
	// labels are those of nodes that are kept.
	labels []string
	pods   *watch.Watch
	nodes  *watch.Watch
	// nextNodes is a watch with other labels, until it has taken over.
	nextNodes *watch.Watch
	owners    *kinds
	tree      *tree
	// byNode are the pods on each node.
	byNode map[string][]*workload.Object
	// known says that everything is known that is asked for, and settled of how many kinds of owners.
	known   bool
	settled int
}

// New makes Members that watch nothing yet.
func New(opts Options) *Members {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	m := &Members{opts: opts, identity: newIdentity()}
	m.forget()
	return m
}

// Follow adds who hears of changes. It must be called before Need.
func (m *Members) Follow(l Listener) { m.listeners = append(m.listeners, l) }

func (m *Members) tellChanged(refs []workload.Ref) {
	if len(refs) == 0 {
		return
	}
	for _, l := range m.listeners {
		l.MembersChanged(refs)
	}
}

func (m *Members) forget() {
	m.owners = &kinds{opts: m.opts, watch: m.watchOwners, changed: m.check, all: map[schema.GroupKind]*ownerKind{}}
	m.byNode, m.known = map[string][]*workload.Object{}, false
	m.pods, m.nodes, m.nextNodes, m.wide = nil, nil, nil, false
	m.tree = newTree(m.ownerOf)
}

var (
	podResource  = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	nodeResource = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
)

// ensure starts a watch that looks, whenever its state changes, whether everything is known.
func (m *Members) ensure(ctx context.Context, s watch.Source) (*watch.Watch, error) {
	s.OnState = func() { go m.check() }
	return m.opts.Watches.Ensure(ctx, s)
}

// isRefused says that a watch cannot come to stand by itself, so that nothing is to be waited for.
func isRefused(w *watch.Watch) bool {
	_, err := w.Err()
	return err != nil
}

// Trouble says why pods or nodes are not known; empty: they are, or will be in a moment.
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

// Fleet gives the active pods of a target as they are now; false: not everything is known yet.
func (m *Members) Fleet(ref workload.Ref) (*fleet.Fleet, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.known {
		return nil, false
	}
	f := &fleet.Fleet{Own: m.opts.Own}
	m.tree.relink(ref)
	b := m.tree.branches[ref]
	if b == nil {
		return f, true
	}
	f.Moved = b.moved
	found := map[string]*fleet.Node{}
	b.each(func(obj *workload.Object) {
		if isCounted(obj) {
			p := podOf(obj)
			p.Node = m.nodeOf(textAt(obj, podNode), found)
			f.Pods = append(f.Pods, p)
		}
	})
	return f, true
}

// isCounted says whether a controller counts a pod: not one that has finished or is being deleted.
func isCounted(pod *workload.Object) bool {
	return !pod.Deleting && !unpack(textAt(pod, podFacts)).finished
}

// podOf gives a pod without its node.
func podOf(obj *workload.Object) *fleet.Pod {
	f, group := unpack(textAt(obj, podFacts)), home(obj)
	p := &fleet.Pod{
		Namespace: obj.Namespace, Name: obj.Name, UID: obj.UID, Version: obj.ResourceVersion, Assigned: textAt(obj, podNode) != "",
		Group: group.String(), Phase: f.phase, Ready: f.ready, Changed: f.changed, Created: obj.Created, Restarts: f.restarts,
		Cost: fleet.ParseCost(textAt(obj, podCost)), Writer: textAt(obj, podWriter),
	}
	p.Revision = p.Group + textAt(obj, podRevision)
	p.Containers, p.Resize = unpackContainers(obj.Elements)
	return p
}

func (m *Members) nodeOf(name string, found map[string]*fleet.Node) *fleet.Node {
	if name == "" {
		return nil
	}
	if n, again := found[name]; again {
		return n
	}
	var n *fleet.Node
	if m.nodes == nil {
		return nil
	}
	if obj := m.nodes.Get("", name); obj != nil {
		n = &fleet.Node{Name: name, Labels: make(map[string]string, len(obj.Labels)), Deleting: obj.Deleting}
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

// movable counts the pods that could run elsewhere: not those of the node itself or of a DaemonSet, and those that have not finished.
func movable(pods []*workload.Object) int {
	n := 0
	for _, pod := range pods {
		bound := pod.Owner != nil && (pod.Owner.Kind == "Node" || pod.Owner.Kind == "DaemonSet")
		if !bound && !unpack(textAt(pod, podFacts)).finished {
			n++
		}
	}
	return n
}

// Costed lists the objects that own a pod whose cost Flyball has set, however far above it.
func (m *Members) Costed() []workload.Ref { return m.ownersOf(m.isCosted) }

// Resized lists the objects that own a pod that Flyball has changed in place, however far above it.
func (m *Members) Resized() []workload.Ref { return m.ownersOf(m.isResized) }

// ownersOf lists the objects that own a pod of some sort, however far above it.
func (m *Members) ownersOf(is func(*workload.Object) bool) []workload.Ref {
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

// CostedPods gives the pods that an object owns directly and whose cost Flyball has set, without their nodes. Those that have finished are
// among them.
func (m *Members) CostedPods(ref workload.Ref) []*fleet.Pod { return m.podsOf(ref, m.isCosted) }

// ResizedPods gives the active pods that an object owns directly and that Flyball has changed in place, without their nodes.
func (m *Members) ResizedPods(ref workload.Ref) []*fleet.Pod { return m.podsOf(ref, m.isResized) }

// podsOf gives the pods of some sort that an object owns directly, without their nodes.
func (m *Members) podsOf(ref workload.Ref, is func(*workload.Object) bool) []*fleet.Pod {
	m.mu.Lock()
	defer m.mu.Unlock()
	var pods []*fleet.Pod
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

// isResized says whether Flyball has changed a pod that lives, in place or as it was created.
func (m *Members) isResized(pod *workload.Object) bool {
	n := len(pod.Elements)
	if n == 0 || pod.Elements[n-1].Name != "" || !isCounted(pod) {
		return false
	}
	_, r := unpackContainers(pod.Elements[n-1:])
	return r.By == m.opts.Own || r.Made && r.By == ""
}

// Groups lists the objects below a target that own pods directly, itself among them.
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
