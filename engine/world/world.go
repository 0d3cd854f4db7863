// Package world holds the live state that deciding looks at: policies, calendars, kinds in use, adapters, namespaces, and by
// what changes are judged. It is an immutable Snapshot behind one pointer. A change is a transaction: it compiles against what
// it is about to publish, publishes all at once, and says which targets it concerns. There is one writer at a time, and readers
// take no lock. The objects themselves stay in the stores of their watches; see Live.
package world

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/target"
	"flyball.dev/flyball/engine/policy/when"
	"flyball.dev/flyball/engine/workload"
)

// errNotLoaded is why a replica gives no verdicts yet.
var errNotLoaded = errors.New("the freeze policies have not been read yet")

// Observer hears of changes of a World. Calls come one at a time, in the order of the transactions. They must not wait for the
// network and must not change the World.
type Observer interface {
	// Changed is called once a change can be seen.
	Changed(now *Snapshot, c *Change)
}

// Foreseer is an Observer that hears of a change before too.
type Foreseer interface {
	Observer
	// Changing is called before a change can be seen; next is what will be seen.
	Changing(before, next *Snapshot, c *Change)
}

// World is the live state.
type World struct {
	scope   target.Scope
	current atomic.Pointer[Snapshot]
	loaded  chan struct{}
	read    readers
	// authorsAsked is that of policy.Context.
	authorsAsked bool

	// writing lets one transaction run at a time; it guards what follows.
	writing   sync.Mutex
	observers []Observer
	// listeners are told after each change of what changes are judged by.
	listeners []chan struct{}
}

// New makes an empty World. scope is what compiling a selection needs to know of the cluster; see the function Scope.
func New(scope target.Scope) *World {
	w := &World{scope: scope, loaded: make(chan struct{}), read: readers{calendar: when.Calendar, adapter: adapter.Compile}}
	w.current.Store(emptySnapshot())
	return w
}

// Scope is what compiling a selection needs to know of the cluster: the namespaces that only a selector naming them reaches,
// Flyball's own among them, and which kinds live outside namespaces.
func Scope(namespace string, clusterScoped func(schema.GroupKind) bool) target.Scope {
	protected := sets.New("kube-system", "kube-public", "kube-node-lease")
	if namespace != "" {
		protected.Insert(namespace)
	}
	return target.Scope{Protected: protected, ClusterScoped: clusterScoped}
}

// Scope is what the world was made with.
func (w *World) Scope() target.Scope { return w.scope }

// AuthorsAreAsked says that who writes a policy is asked for the rights that it takes. It must be called before the first Update.
func (w *World) AuthorsAreAsked() { w.authorsAsked = true }

// Snapshot is the state as it is now.
func (w *World) Snapshot() *Snapshot { return w.current.Load() }

// Observe has an observer hear of every change from now on, and before too if it is a Foreseer.
func (w *World) Observe(o Observer) {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.observers = append(w.observers, o)
}

// Update runs a transaction and publishes what it did. It returns what has changed.
func (w *World) Update(run func(*Tx)) *Change {
	w.writing.Lock()
	defer w.writing.Unlock()
	before := w.current.Load()
	tx := newTx(w.scope, w.read, before)
	tx.authorsAsked = w.authorsAsked
	run(tx)
	next, change := tx.commit()
	for _, o := range w.observers {
		if f, ok := o.(Foreseer); ok {
			f.Changing(before, next, change)
		}
	}
	w.current.Store(next)
	for _, o := range w.observers {
		o.Changed(next, change)
	}
	if change.Judging {
		w.tellListeners()
	}
	return change
}

// MarkLoaded says that everything that there was at the start has been taken over: verdicts are given from now on.
func (w *World) MarkLoaded() {
	w.Update(func(tx *Tx) { tx.next.loaded = true; tx.change.Judging = true })
	close(w.loaded)
}

// Loaded is closed by MarkLoaded.
func (w *World) Loaded() <-chan struct{} { return w.loaded }

// Ready is a readiness check: all policies have been read.
func (w *World) Ready(*http.Request) error {
	if !w.Snapshot().loaded {
		return errNotLoaded
	}
	return nil
}

// Listen gives a channel that is poked after each change of what changes are judged by.
func (w *World) Listen() <-chan struct{} {
	c := make(chan struct{}, 1)
	w.writing.Lock()
	defer w.writing.Unlock()
	w.listeners = append(w.listeners, c)
	return c
}

func (w *World) tellListeners() {
	for _, c := range w.listeners {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Set is the policies by which changes are judged, as they are now.
func (w *World) Set() *freeze.Set { return w.Snapshot().set }

// Adapter finds what classifies the changes of a resource; nil: changes of it are not judged.
func (w *World) Adapter(resource schema.GroupResource) *adapter.Adapter {
	if a := w.Snapshot().adapters[resource]; a != nil {
		return a.Compiled
	}
	return nil
}

// Resource finds how the API server serves the adapted kind that a reference names; false: the kind has no adapter.
func (w *World) Resource(kind schema.GroupKind) (schema.GroupVersionResource, bool) {
	s := w.Snapshot()
	kind = s.Referent(workload.Ref{GroupKind: kind}).GroupKind
	if k := s.InUse(kind); k != nil {
		return k.Resource, true
	}
	for resource, a := range s.adapters {
		if a.GroupKind == kind && a.Compiled != nil {
			return resource.WithVersion(a.Compiled.Versions()[0]), true
		}
	}
	return schema.GroupVersionResource{}, false
}

// EachAdapter yields every adapter that could be compiled, with the resource that it speaks of, served or not, in no order.
func (w *World) EachAdapter(yield func(schema.GroupResource, *adapter.Adapter) bool) {
	for resource, a := range w.Snapshot().adapters {
		if a.Compiled != nil && !yield(resource, a.Compiled) {
			return
		}
	}
}

// Namespace says which label sets a namespace has, and whether it is being deleted; false: it is not known here yet.
func (w *World) Namespace(name string) (labels []workload.Pairs, terminating, known bool) {
	ns := w.Snapshot().Namespace(name)
	if ns.Unknown {
		return nil, false, false
	}
	return []workload.Pairs{ns.Labels}, ns.Terminating, true
}
