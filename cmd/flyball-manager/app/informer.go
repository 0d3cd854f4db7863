package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/engine/status"
)

// informer keeps the objects of one of Flyball's own kinds. Handlers are called one after the other by the goroutine that reads the API
// server, so they must be quick.
type informer struct {
	gvk       schema.GroupVersionKind
	reflector *toolscache.Reflector
	// synced is closed after the first list, when its handlers have returned.
	synced     chan struct{}
	syncedOnce sync.Once
	ended      atomic.Bool

	// deliver orders the calls of handlers. Its holder may change the objects.
	deliver  sync.Mutex
	handlers []toolscache.ResourceEventHandler

	mu      sync.RWMutex
	objects map[types.NamespacedName]client.Object
}

// newInformer returns the informer of a kind that a client can list. It makes the first list a condition of readiness.
func newInformer(gvk schema.GroupVersionKind, objects client.WithWatch, listings *status.Listings) (*informer, error) {
	list, err := objects.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err != nil {
		return nil, fmt.Errorf("make a list of %s: %w", gvk.Kind, err)
	}
	kind := gvk.GroupKind().String()
	listings.Require(kind)
	s := &source{objects: objects, empty: list.(client.ObjectList), kind: kind, listings: listings}
	f := &informer{gvk: gvk, synced: make(chan struct{}), objects: map[types.NamespacedName]client.Object{}}
	lists := toolscache.ToListWatcherWithWatchListSemantics(&toolscache.ListWatch{ListWithContextFunc: s.list, WatchFuncWithContext: s.watch},
		plainLists{})
	f.reflector = toolscache.NewReflectorWithOptions(lists, nil, f, toolscache.ReflectorOptions{Name: "flyball/own", TypeDescription: kind})
	return f, nil
}

// run reads the API server until the context ends.
func (f *informer) run(ctx context.Context) {
	defer f.ended.Store(true)
	f.reflector.RunWithContext(ctx)
}

// wait waits for the first list.
func (f *informer) wait(ctx context.Context) error {
	select {
	case <-f.synced:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *informer) find(key types.NamespacedName) client.Object {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.objects[key]
}

// in returns the objects of a namespace, or all objects if it is empty.
func (f *informer) in(namespace string) (found []client.Object) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for key, obj := range f.objects {
		if namespace == "" || key.Namespace == namespace {
			found = append(found, obj)
		}
	}
	return found
}

// set replaces an object, or removes it if obj is nil, and calls the handlers. The caller holds deliver.
func (f *informer) set(key types.NamespacedName, obj client.Object) {
	f.mu.Lock()
	old := f.objects[key]
	delete(f.objects, key) // else the key would keep the texts of the first version
	if obj != nil {
		obj.SetManagedFields(nil) // nobody reads them, and they are larger than the rest
		f.objects[key] = obj
	}
	f.mu.Unlock()
	if old != nil && (obj == nil || old.GetUID() != obj.GetUID()) {
		for _, h := range f.handlers {
			h.OnDelete(old)
		}
		old = nil
	}
	for _, h := range f.handlers {
		switch {
		case obj == nil:
		case old == nil:
			h.OnAdd(obj, !f.HasSynced())
		case old.GetResourceVersion() != obj.GetResourceVersion():
			h.OnUpdate(old, obj)
		}
	}
}

// Add implements toolscache.ReflectorStore.
func (f *informer) Add(object any) error {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	obj := object.(client.Object)
	f.set(client.ObjectKeyFromObject(obj), obj)
	return nil
}

// Update implements toolscache.ReflectorStore.
func (f *informer) Update(object any) error { return f.Add(object) }

// Delete implements toolscache.ReflectorStore.
func (f *informer) Delete(object any) error {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	f.set(client.ObjectKeyFromObject(object.(client.Object)), nil)
	return nil
}

// Replace implements toolscache.ReflectorStore.
func (f *informer) Replace(objects []any, _ string) error {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	gone := maps.Clone(f.objects)
	for _, object := range objects {
		obj := object.(client.Object)
		key := client.ObjectKeyFromObject(obj)
		delete(gone, key)
		f.set(key, obj)
	}
	for key := range gone {
		f.set(key, nil)
	}
	f.syncedOnce.Do(func() { close(f.synced) })
	return nil
}

// Resync implements toolscache.ReflectorStore. It does nothing.
func (f *informer) Resync() error { return nil }

// AddEventHandler calls a handler with all known objects, and then with changes.
func (f *informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	for _, obj := range f.in("") {
		h.OnAdd(obj, true)
	}
	f.handlers = append(f.handlers, h)
	return f, nil
}

// AddEventHandlerWithResyncPeriod implements cache.Informer. Nothing is repeated without a change.
func (f *informer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, _ time.Duration,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return f.AddEventHandler(h)
}

// AddEventHandlerWithOptions implements cache.Informer.
func (f *informer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, _ toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return f.AddEventHandler(h)
}

// RemoveEventHandler implements cache.Informer. Handlers stay as long as the informer.
func (f *informer) RemoveEventHandler(toolscache.ResourceEventHandlerRegistration) error {
	return errors.ErrUnsupported
}

// AddIndexers implements cache.Informer. Nothing needs an index.
func (f *informer) AddIndexers(toolscache.Indexers) error { return errors.ErrUnsupported }

// HasSynced reports whether all objects were read for the first time and the handlers were called with them.
func (f *informer) HasSynced() bool { return toolscache.IsDone(f) }

// HasSyncedChecker implements cache.Informer.
func (f *informer) HasSyncedChecker() toolscache.DoneChecker { return f }

// Name implements toolscache.DoneChecker.
func (f *informer) Name() string { return f.gvk.Kind }

// Done implements toolscache.DoneChecker.
func (f *informer) Done() <-chan struct{} { return f.synced }

// IsStopped implements cache.Informer.
func (f *informer) IsStopped() bool { return f.ended.Load() }

// source lists and watches a kind. Its requests are repeated at a steady pace while the API server is away, and it records the outcome of
// each list, because a single object that cannot be decoded makes the whole kind unusable.
type source struct {
	objects  client.WithWatch
	empty    client.ObjectList
	kind     string
	listings *status.Listings
}

func (s *source) list(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	return outlast(ctx, func() (runtime.Object, error) {
		list := s.empty.DeepCopyObject().(client.ObjectList)
		err := s.objects.List(ctx, list, &client.ListOptions{Limit: opts.Limit, Continue: opts.Continue, Raw: &opts})
		s.note(ctx, err)
		return list, err
	})
}

func (s *source) watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	w, err := outlast(ctx, func() (watch.Interface, error) {
		return s.objects.Watch(ctx, s.empty, &client.ListOptions{Raw: &opts})
	})
	if err != nil {
		s.note(ctx, err)
	}
	return w, err
}

// plainLists makes informers list first and then watch. A list that is streamed through a watch has no final outcome to
// record.
type plainLists struct{}

// IsWatchListSemanticsUnSupported implements the check of client-go's reflectors.
func (plainLists) IsWatchListSemanticsUnSupported() bool { return true }

// note records the outcome of a list or a watch. An expired resourceVersion is not recorded as a failure, because a new
// list follows. An unreachable API server is not recorded as a failure of the kind.
func (s *source) note(ctx context.Context, err error) {
	if unreachable := (*url.Error)(nil); ctx.Err() != nil || errors.As(err, &unreachable) || apierrors.IsResourceExpired(err) ||
		apierrors.IsGone(err) {
		return
	}
	if s.listings.Record(s.kind, err) && err != nil {
		klog.FromContext(ctx).Error(err, "Failed to list a kind, so its changes are not seen; will retry", "kind", s.kind)
	}
}

// outlast repeats a request while the API server is away. Any answer of the server, good or bad, ends the loop.
func outlast[T any](ctx context.Context, request func() (T, error)) (T, error) {
	pause := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Cap: 2 * time.Second, Steps: 8}
	for logged := false; ; logged = true {
		answer, err := request()
		if err == nil || !isAway(err) {
			return answer, err
		}
		if !logged {
			klog.FromContext(ctx).Info("Failed to reach the API server; will retry", "err", err)
		}
		select {
		case <-ctx.Done():
			return answer, err
		case <-time.After(pause.Step()):
		}
	}
}

// isAway reports whether an error did not come from the API server, or says that the server is starting or overloaded.
func isAway(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err)
}
