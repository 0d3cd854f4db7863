package app

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// informer keeps the objects of one of Flyball's own kinds. The goroutine that reads the API server calls all handlers, one after the
// other, so handlers must be quick. The informer of client-go (v0.37.2, tools/cache/shared_informer.go) lets each handler be slow, by two
// goroutines and a buffer for each.
type informer struct {
	toolscache.Indexer
	reflector *toolscache.Reflector
	transform toolscache.TransformFunc
	all       *Informers

	// stored is reached when the first list is in the store, and handled when the handlers have been called with it. Handlers may read
	// their own kind, and readers wait for stored.
	stored, handled *milestone

	// deliver orders the calls of handlers. Its holder may change the store.
	deliver  sync.Mutex
	handlers []*registration
}

var _ toolscache.SharedIndexInformer = (*informer)(nil)

// newInformer returns the informer of a kind. like is an object of the kind.
func newInformer(kind string, lists toolscache.ListerWatcher, like runtime.Object, indexers toolscache.Indexers, all *Informers) *informer {
	f := &informer{
		Indexer: toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, indexers), all: all,
		stored:  &milestone{name: kind + " in the store", reached: make(chan struct{})},
		handled: &milestone{name: kind + " seen by handlers", reached: make(chan struct{})},
	}
	f.reflector = toolscache.NewReflectorWithOptions(lists, like, f, toolscache.ReflectorOptions{Name: "flyball/own", TypeDescription: kind,
		// The default pauses for up to a minute, also after a list that the API server refuses while it starts.
		Backoff: &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.6, Cap: 5 * time.Second, Steps: 10}})
	return f
}

// milestone is a state that an informer reaches once.
type milestone struct {
	name    string
	reached chan struct{}
	once    sync.Once
}

// Name implements toolscache.DoneChecker.
func (m *milestone) Name() string { return m.name }

// Done implements toolscache.DoneChecker.
func (m *milestone) Done() <-chan struct{} { return m.reached }

func (m *milestone) reach() { m.once.Do(func() { close(m.reached) }) }

// registration is a handler of an informer.
type registration struct {
	toolscache.ResourceEventHandler
	handled *milestone
}

// HasSynced reports whether the handler was called with all objects of the first list.
func (r *registration) HasSynced() bool { return toolscache.IsDone(r.handled) }

// HasSyncedChecker implements toolscache.ResourceEventHandlerRegistration.
func (r *registration) HasSyncedChecker() toolscache.DoneChecker { return r.handled }

// AddEventHandler calls a handler with all known objects, and then with changes.
func (f *informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	r := &registration{h, f.handled}
	f.deliver.Lock()
	defer f.deliver.Unlock()
	for _, obj := range f.List() {
		h.OnAdd(obj, true)
	}
	f.handlers = append(f.handlers, r)
	return r, nil
}

// AddEventHandlerWithResyncPeriod implements toolscache.SharedInformer. Nothing is repeated without a change.
func (f *informer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, _ time.Duration,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return f.AddEventHandler(h)
}

// AddEventHandlerWithOptions implements toolscache.SharedInformer.
func (f *informer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, _ toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return f.AddEventHandler(h)
}

// RemoveEventHandler ends the calls of a handler.
func (f *informer) RemoveEventHandler(r toolscache.ResourceEventHandlerRegistration) error {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	f.handlers = slices.DeleteFunc(f.handlers, func(other *registration) bool { return other == r })
	return nil
}

// Replace implements toolscache.ReflectorStore: the first list, or a later one.
func (f *informer) Replace(objects []any, version string) error {
	for i := range objects {
		var err error
		if objects[i], err = f.transformed(objects[i]); err != nil {
			return err
		}
	}
	f.deliver.Lock()
	defer f.deliver.Unlock()
	gone := make(map[string]any, len(objects))
	for _, key := range f.ListKeys() {
		gone[key], _, _ = f.GetByKey(key)
	}
	if err := f.Indexer.Replace(objects, version); err != nil {
		return err
	}
	first := !f.HasSynced()
	f.stored.reach()
	for _, obj := range objects {
		key, _ := toolscache.MetaNamespaceKeyFunc(obj) // the store has read it
		f.call(gone[key], obj, first)
		delete(gone, key)
	}
	for _, old := range gone {
		f.call(old, nil, first)
	}
	f.handled.reach()
	return nil
}

// Add implements toolscache.ReflectorStore.
func (f *informer) Add(object any) error {
	obj, err := f.transformed(object)
	if err != nil {
		return err
	}
	f.deliver.Lock()
	defer f.deliver.Unlock()
	old, _, err := f.Get(obj)
	if err == nil {
		err = f.Indexer.Add(obj)
	}
	if err == nil {
		f.call(old, obj, false)
	}
	return err
}

// Update implements toolscache.ReflectorStore.
func (f *informer) Update(object any) error { return f.Add(object) }

// Delete implements toolscache.ReflectorStore.
func (f *informer) Delete(object any) error {
	obj, err := f.transformed(object)
	if err != nil {
		return err
	}
	f.deliver.Lock()
	defer f.deliver.Unlock()
	_, known, err := f.Get(obj)
	if err == nil && known {
		err = f.Indexer.Delete(obj)
		f.call(obj, nil, false)
	}
	return err
}

func (f *informer) transformed(object any) (any, error) {
	if f.transform == nil {
		return object, nil
	}
	return f.transform(object)
}

// call calls the handlers after a change. old is nil for an addition, and cur for a deletion. The caller holds deliver.
func (f *informer) call(old, cur any, first bool) {
	before, _ := old.(client.Object)
	after, _ := cur.(client.Object)
	isSame := before != nil && after != nil && before.GetUID() == after.GetUID()
	for _, h := range f.handlers {
		if before != nil && !isSame {
			h.OnDelete(old)
		}
		switch {
		case after != nil && !isSame:
			h.OnAdd(cur, first)
		case isSame && before.GetResourceVersion() != after.GetResourceVersion():
			h.OnUpdate(old, cur)
		}
	}
}

// RunWithContext starts the informer and returns, because the cache of controller-runtime (v0.25.2, pkg/cache/internal/informers.go)
// keeps goroutines of its own while it waits. The informer ends with all informers.
func (f *informer) RunWithContext(ctx context.Context) {
	f.all.running.Go(func() { f.reflector.RunWithContext(klog.NewContext(f.all.ctx, klog.FromContext(ctx))) })
}

// Run implements toolscache.SharedInformer.
func (f *informer) Run(<-chan struct{}) { f.RunWithContext(f.all.ctx) }

// IsStopped reports whether all informers have been ended.
func (f *informer) IsStopped() bool { return f.all.ctx.Err() != nil }

// HasSynced reports whether the first list is in the store.
func (f *informer) HasSynced() bool { return toolscache.IsDone(f.stored) }

// HasSyncedChecker implements toolscache.SharedInformer.
func (f *informer) HasSyncedChecker() toolscache.DoneChecker { return f.stored }

// LastSyncResourceVersion implements toolscache.SharedInformer.
func (f *informer) LastSyncResourceVersion() string { return f.reflector.LastSyncResourceVersion() }

// SetTransform sets the function through which objects pass into the store. It must be called before the start.
func (f *informer) SetTransform(transform toolscache.TransformFunc) error {
	f.transform = transform
	return nil
}

// GetStore implements toolscache.SharedInformer.
func (f *informer) GetStore() toolscache.Store { return f.Indexer }

// GetIndexer implements toolscache.SharedIndexInformer.
func (f *informer) GetIndexer() toolscache.Indexer { return f.Indexer }

// GetController implements toolscache.SharedInformer. It is deprecated there, and the cache of controller-runtime does not call it.
func (f *informer) GetController() toolscache.Controller { return nil }

// SetWatchErrorHandler implements toolscache.SharedInformer. The factory records errors.
func (f *informer) SetWatchErrorHandler(toolscache.WatchErrorHandler) error {
	return errors.ErrUnsupported
}

// SetWatchErrorHandlerWithContext implements toolscache.SharedInformer.
func (f *informer) SetWatchErrorHandlerWithContext(toolscache.WatchErrorHandlerWithContext) error {
	return errors.ErrUnsupported
}
