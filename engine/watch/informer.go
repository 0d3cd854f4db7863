package watch

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/workload"
)

// backoffReset is the time a watch must have worked for the next failure to count as the first.
const backoffReset = time.Minute

// newBackoff returns delays of 0.5 to 0.8 s that double up to 5 to 8 s: with the requests themselves, a watch has
// recovered within ten seconds of the API server's return.
func newBackoff() wait.Backoff {
	return wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.6, Cap: 5 * time.Second, Steps: 10}
}

// informer is one list-and-watch with its store, shared by its consumers.
type informer struct {
	key    key
	client *client
	store  *store
	// projector is that of the client. overlay may be nil.
	projector Projector
	overlay   Overlay
	logger    klog.Logger
	health    health
	// refs counts the consumers; the manager's mutex guards it.
	refs int

	cancel context.CancelFunc
	// done is closed after the last callback, when the loop has ended.
	done chan struct{}
	// synced is closed when the store was complete for the first time and every consumer was notified.
	synced     chan struct{}
	syncedOnce sync.Once

	// deliver orders callbacks; its holder may change the store and call consumers. It guards consumers.
	deliver   sync.Mutex
	consumers []*Watch

	lists, added, updated, deleted, bookmarks atomic.Uint64
}

func newInformer(k key, c *client, logger klog.Logger) *informer {
	f := &informer{
		key: k, client: c, store: newStore(), logger: logger.WithValues("resource", k.gvr.String()),
		done: make(chan struct{}), synced: make(chan struct{}),
	}
	c.report = f.report
	return f
}

// run lists and watches until the context ends.
func (f *informer) run(ctx context.Context) {
	defer close(f.done)
	defer f.client.setWatchdog(nil)
	backoff := newBackoff()
	c := endingClock{ctx: ctx}
	reflector := cache.NewReflectorWithOptions(&cache.ListWatch{
		ListWithContextFunc:  f.client.list,
		WatchFuncWithContext: f.client.watch,
	}, nil, reflectorStore{f}, cache.ReflectorOptions{
		Name:            "flyball/" + f.key.id,
		TypeDescription: f.key.gvr.String(),
		Clock:           c,
		Backoff:         &backoff,
	})
	delay := newBackoff().DelayWithReset(c, backoffReset)
	again := false
	for ctx.Err() == nil {
		err := reflector.ListAndWatchWithContext(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			f.logger.V(2).Info("The watch ended; restarting it", "err", err)
		}
		// An expired version needs no pause: after a restart of the API server it is the normal way back.
		again = f.health.takeExpired() && !again
		if !again {
			<-c.After(delay())
		}
	}
}

// report records the result of a request and notifies the consumers of a change.
func (f *informer) report(err error) {
	changed := false
	if err == nil {
		changed = f.health.succeed()
	} else {
		changed = f.health.fail(err)
	}
	if !changed {
		return
	}
	if err != nil {
		f.logger.Error(err, "Failed to watch; will retry")
	} else {
		f.logger.Info("The watch has recovered")
	}
	f.deliver.Lock()
	defer f.deliver.Unlock()
	f.notify(nil, true)
}

// notify makes the callbacks. The caller holds deliver.
func (f *informer) notify(changes []change, state bool) {
	for _, c := range changes {
		if f.overlay != nil && c.new == nil {
			f.overlay.Gone(f.key.gvr.GroupResource(), c.old.Namespace, c.old.Name)
		}
	}
	for _, w := range f.consumers {
		for _, c := range changes {
			w.change(c)
		}
		if state {
			w.state()
		}
	}
}

// join adds a consumer and notifies it of all objects.
func (f *informer) join(w *Watch) {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	for _, o := range f.store.all() {
		w.change(change{new: o})
	}
	f.consumers = append(f.consumers, w)
}

// leave removes a consumer; after the return no callback of the consumer runs.
func (f *informer) leave(w *Watch) {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	f.consumers = slices.DeleteFunc(f.consumers, func(other *Watch) bool { return other == w })
}

// reflectorStore is the informer as the reflector sees it.
type reflectorStore struct{ *informer }

var (
	_ cache.ReflectorStore         = reflectorStore{}
	_ cache.ReflectorBookmarkStore = reflectorStore{}
)

// Add implements cache.ReflectorStore.
func (s reflectorStore) Add(object any) error {
	s.added.Add(1)
	s.keep(object)
	return nil
}

// Update implements cache.ReflectorStore.
func (s reflectorStore) Update(object any) error {
	s.updated.Add(1)
	s.keep(object)
	return nil
}

func (s reflectorStore) keep(object any) {
	s.deliver.Lock()
	defer s.deliver.Unlock()
	switch o := object.(type) {
	case *item:
		s.notify(s.store.put((*workload.Object)(o)), false)
	case *rejected:
		s.leaveOut(o)
		s.notify(s.store.remove(o.Namespace, o.Name), false)
	}
}

// Delete implements cache.ReflectorStore.
func (s reflectorStore) Delete(object any) error {
	s.deleted.Add(1)
	o, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	s.deliver.Lock()
	defer s.deliver.Unlock()
	s.notify(s.store.remove(o.GetNamespace(), o.GetName()), false)
	return nil
}

// leaveOut logs an object that cannot be projected. The object is not stored, so it is never changed.
func (s reflectorStore) leaveOut(o *rejected) {
	s.logger.Error(o.err, "Failed to read an object; it will not be changed", "object", klog.KRef(o.Namespace, o.Name), "resourceVersion",
		o.ResourceVersion)
}

// Replace implements cache.ReflectorStore: a list or the initial objects of a stream.
func (s reflectorStore) Replace(objects []any, _ string) error {
	s.lists.Add(1)
	known := make([]*workload.Object, 0, len(objects))
	for _, object := range objects {
		switch o := object.(type) {
		case *item:
			known = append(known, (*workload.Object)(o))
		case *rejected:
			s.leaveOut(o)
		}
	}
	s.deliver.Lock()
	defer s.deliver.Unlock()
	s.notify(s.store.replace(known), false)
	s.syncedOnce.Do(func() { close(s.synced) })
	s.notify(nil, true)
	return nil
}

// Resync implements cache.ReflectorStore. It does nothing.
func (s reflectorStore) Resync() error { return nil }

// Bookmark implements cache.ReflectorBookmarkStore.
func (s reflectorStore) Bookmark(string) error {
	s.bookmarks.Add(1)
	return nil
}

// endingClock is the real clock, but its timers also fire when the context ends: the reflector sleeps on some of them
// without checking its context.
type endingClock struct {
	clock.RealClock
	ctx context.Context
}

// After implements clock.Clock.
func (c endingClock) After(d time.Duration) <-chan time.Time {
	fired := make(chan time.Time, 1)
	ctx, cancel := context.WithTimeout(c.ctx, d)
	context.AfterFunc(ctx, func() {
		fired <- time.Now()
		cancel()
	})
	return fired
}
