package watch

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// Handler is notified of changes. Calls come one at a time and in order. old is nil for an addition, and new is nil for
// a deletion. If both are set, they have the same UID. During a call the watch already returns the new state. A handler
// must be quick, must not wait for the network, and must not start watches; it may release its own watch.
type Handler interface {
	OnChange(old, new *workload.Object)
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(old, new *workload.Object)

// OnChange implements Handler.
func (f HandlerFunc) OnChange(old, new *workload.Object) { f(old, new) }

// Source is a resource to watch, with its projection.
type Source struct {
	// GVR is the resource, watched in all namespaces.
	GVR schema.GroupVersionResource
	// ID names the projection. Sources of one GVR and ID share one watch and one store, with the Projector of the first
	// source. A different projection needs a different ID.
	ID        string
	Projector Projector
	// MetadataOnly asks the API server to send only the metadata of objects.
	MetadataOnly bool
	// Handler may be nil.
	Handler Handler
	// OnState, if not nil, is called after the results of HasSynced or Err may have changed, under the rules of
	// a Handler.
	OnState func()
}

// Stats counts the events of a watch since its start.
type Stats struct {
	// Objects is the number of objects in the store.
	Objects int
	// Added, Updated, Deleted and Bookmarks count events of the stream, without those of initial lists.
	Added, Updated, Deleted, Bookmarks uint64
	// Lists counts complete reads.
	Lists uint64
	// Failures counts failed requests and errors that the server sent in a stream.
	Failures uint64
}

// Watch is one consumer's hold on a watch. All results come from memory. After Release they are the last known state.
type Watch struct {
	source   Source
	manager  *Manager
	informer *informer

	released atomic.Bool
	done     chan struct{}
	// unhook ends the release with the context; nil: not hooked. The manager's mutex guards it.
	unhook func() bool
}

// GVR returns the watched resource.
func (w *Watch) GVR() schema.GroupVersionResource { return w.source.GVR }

// ID returns the name of the projection.
func (w *Watch) ID() string { return w.source.ID }

// Get returns an object, or nil. The namespace of cluster-scoped objects is empty.
func (w *Watch) Get(namespace, name string) *workload.Object {
	return w.informer.store.find(namespace, name)
}

// Len returns the number of objects in the store.
func (w *Watch) Len() int { return w.informer.store.len() }

// Range calls a function with every current object, in no order, until the function returns false. No lock is held
// during the calls.
func (w *Watch) Range(fn func(*workload.Object) bool) { slices.Values(w.informer.store.all())(fn) }

// RangeNamespace is Range over one namespace.
func (w *Watch) RangeNamespace(namespace string, fn func(*workload.Object) bool) {
	slices.Values(w.informer.store.in(namespace))(fn)
}

// HasSynced reports whether all objects were read for the first time and the handler was notified.
func (w *Watch) HasSynced() bool {
	select {
	case <-w.informer.synced:
		return true
	default:
		return false
	}
}

// WaitSynced waits until HasSynced. If the context or the watch ends first, the error has the reason why the
// watch does not work.
func (w *Watch) WaitSynced(ctx context.Context) error {
	if w.HasSynced() {
		return nil
	}
	var cause error
	select {
	case <-w.informer.synced:
		return nil
	case <-ctx.Done():
		cause = ctx.Err()
	case <-w.done:
		cause = errReleased
	}
	if _, err := w.Err(); err != nil {
		return fmt.Errorf("wait for the watch of %s: %w (%w)", w.source.GVR, cause, err)
	}
	return fmt.Errorf("wait for the watch of %s: %w", w.source.GVR, cause)
}

// Err returns the last failure and its time while the watch does not work: the kind is missing, reading is forbidden,
// the API server is gone. It returns nil as soon as the watch works again. Retries continue, and the last known objects
// are kept. The error works with apimachinery's api/errors.
func (w *Watch) Err() (time.Time, error) { return w.informer.health.last() }

// works reports whether the watch has no failure.
func (w *Watch) works() bool {
	_, err := w.Err()
	return err == nil
}

// Stats returns the counters of the watch.
func (w *Watch) Stats() Stats {
	f := w.informer
	return Stats{
		Objects: f.store.len(), Added: f.added.Load(), Updated: f.updated.Load(), Deleted: f.deleted.Load(), Bookmarks: f.bookmarks.Load(),
		Lists: f.lists.Load(), Failures: f.health.count(),
	}
}

// Done returns a channel that is closed after Release when no callback runs and, for the last consumer, the
// watch has ended.
func (w *Watch) Done() <-chan struct{} { return w.done }

// Release ends the hold. It does not wait: a running callback may end after it, but none begins. The watch ends with
// its last consumer. Releasing again does nothing.
func (w *Watch) Release() {
	if w.released.Swap(true) {
		return
	}
	last := w.manager.drop(w)
	go func() {
		if last {
			<-w.informer.done
		}
		w.informer.leave(w)
		close(w.done)
		w.manager.holds.Done()
	}()
}

func (w *Watch) change(c change) {
	if w.source.Handler != nil && !w.released.Load() {
		w.source.Handler.OnChange(c.old, c.new)
	}
}

func (w *Watch) state() {
	if w.source.OnState != nil && !w.released.Load() {
		w.source.OnState()
	}
}
