// Package world holds the live state used by decisions: policies, calendars, kinds in use, adapters, namespaces and
// freezes. The state is an immutable Snapshot behind one pointer.
//
// A change is a transaction. It compiles objects against the state that it is about to publish, publishes all changes
// at once, and returns the affected targets. One transaction runs at a time, and readers take no lock. The objects
// themselves stay in the stores of their watches (see Live).
//
// Decisions (docs/decisions): 0025.
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
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/workload"
)

// errNotLoaded is the reason why a replica returns no verdicts yet.
var errNotLoaded = errors.New("the freeze policies have not been read yet")

// Observer is notified of changes of a World. The calls come one at a time, in the order of the transactions. The
// methods must not wait for the network and must not change the World.
type Observer interface {
	// AfterPublish is called after the change is published.
	AfterPublish(now *Snapshot, c *Change)
}

// EarlyObserver is an Observer that is also notified before a change is published.
type EarlyObserver interface {
	Observer
	// BeforePublish is called before the snapshot next is published.
	BeforePublish(before, next *Snapshot, c *Change)
}

// World is the live state.
type World struct {
	scope   selector.Scope
	current atomic.Pointer[Snapshot]
	loaded  chan struct{}
	read    readers
	// authorsAsked is the value of the same field in policy.Context.
	authorsAsked bool
	// settles is the answer of Snapshot.Settles.
	settles bool

	// writing serializes transactions. It guards the fields below.
	writing   sync.Mutex
	observers []Observer
	// listeners are notified after each change of an input of admission verdicts.
	listeners []chan struct{}
}

// New returns an empty World. scope has facts about the cluster for the compilation of selections (see the function
// Scope).
func New(scope selector.Scope, options ...Option) *World {
	read := readers{calendar: times.Calendar, adapter: adapter.Compile, file: times.Read}
	w := &World{scope: scope, loaded: make(chan struct{}), read: read}
	for _, set := range options {
		set(w)
	}
	first := emptySnapshot()
	first.settles = w.settles
	w.current.Store(first)
	return w
}

// Option configures a new World.
type Option func(*World)

// AuthorsAsked states whether the webhook checks the rights of the authors of policies. By default it does not.
func AuthorsAsked(asked bool) Option { return func(w *World) { w.authorsAsked = asked } }

// Settles states whether every object counts as settled as soon as it is written: no controller acts in a dry run. By default it does not.
func Settles(settles bool) Option { return func(w *World) { w.settles = settles } }

// Scope returns the facts about the cluster for the compilation of selections. They are the namespaces that only
// selectors with their name reach, such as Flyball's own, and the cluster-scoped kinds.
func Scope(namespace string, clusterScoped func(schema.GroupKind) bool) selector.Scope {
	protected := sets.New("kube-system", "kube-public", "kube-node-lease")
	if namespace != "" {
		protected.Insert(namespace)
	}
	return selector.Scope{Protected: protected, ClusterScoped: clusterScoped}
}

// Scope returns the scope given to New.
func (w *World) Scope() selector.Scope { return w.scope }

// Snapshot returns the current state.
func (w *World) Snapshot() *Snapshot { return w.current.Load() }

// Observe registers an observer for all later changes.
func (w *World) Observe(o Observer) {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.observers = append(w.observers, o)
}

// Update runs a transaction, publishes the result and returns the differences.
func (w *World) Update(run func(*Tx)) *Change {
	w.writing.Lock()
	defer w.writing.Unlock()
	before := w.current.Load()
	tx := newTx(w.scope, w.read, before)
	tx.authorsAsked = w.authorsAsked
	run(tx)
	next, change := tx.commit()
	for _, o := range w.observers {
		if f, ok := o.(EarlyObserver); ok {
			f.BeforePublish(before, next, change)
		}
	}
	w.current.Store(next)
	for _, o := range w.observers {
		o.AfterPublish(next, change)
	}
	if change.Judging {
		w.notifyListeners()
	}
	return change
}

// MarkLoaded records that all objects that existed at the start have been read. From now on the world gives verdicts.
func (w *World) MarkLoaded() {
	w.Update(func(tx *Tx) { tx.next.loaded = true; tx.change.Judging = true })
	close(w.loaded)
}

// Loaded returns a channel closed by MarkLoaded.
func (w *World) Loaded() <-chan struct{} { return w.loaded }

// Ready is a readiness check. It returns an error until all policies have been read.
func (w *World) Ready(*http.Request) error {
	if !w.Snapshot().loaded {
		return errNotLoaded
	}
	return nil
}

// Listen returns a channel that receives a value after each change of an input of admission verdicts.
func (w *World) Listen() <-chan struct{} {
	c := make(chan struct{}, 1)
	w.writing.Lock()
	defer w.writing.Unlock()
	w.listeners = append(w.listeners, c)
	return c
}

func (w *World) notifyListeners() {
	for _, c := range w.listeners {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Set returns the current freezes and exceptions.
func (w *World) Set() *freeze.Set { return w.Snapshot().set }

// Adapter returns the adapter that classifies the changes of a resource, or nil if changes of the resource are not
// judged.
func (w *World) Adapter(resource schema.GroupResource) *adapter.Adapter {
	if a := w.Snapshot().adapters[resource]; a != nil {
		return a.Compiled
	}
	return nil
}

// Resource returns the API server's resource for the kind of a reference, or false if the kind has no adapter.
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

// EachAdapter yields every compiled adapter with its resource, in no order. It includes adapters whose kind is not
// served.
func (w *World) EachAdapter(yield func(schema.GroupResource, *adapter.Adapter) bool) {
	for resource, a := range w.Snapshot().adapters {
		if a.Compiled != nil && !yield(resource, a.Compiled) {
			return
		}
	}
}

// Namespace returns the label sets of a namespace and whether it is being deleted. known is false if the namespace
// has not been read.
func (w *World) Namespace(name string) (labels []workload.Pairs, terminating, known bool) {
	ns := w.Snapshot().Namespace(name)
	if ns.Unknown {
		return nil, false, false
	}
	return []workload.Pairs{ns.Labels}, ns.Terminating, true
}
