package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"flyball.dev/flyball/engine/status"
)

// Informers makes the informers of Flyball's own kinds, and ends them. With the informers of client-go (v0.37.2) in the cache of
// controller-runtime (v0.25.2), a kind with two handlers takes thirteen goroutines, and up to a minute passes between attempts while the
// API server is away. The informers made here take four, and retry at a steady pace. They also record the outcome of each list, because
// a single object that cannot be decoded makes the whole kind unusable.
type Informers struct {
	listings *status.Listings
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

// NewInformers returns Informers. listings records the outcome of lists.
func NewInformers(listings *status.Listings) *Informers {
	i := &Informers{listings: listings}
	i.ctx, i.cancel = context.WithCancel(context.Background())
	return i
}

// CacheOptions returns the options of the cache of Flyball's own objects. The cache drops managedFields: the manager
// does not read them, and they are larger than the rest of the object. A patch made from a cached object does not
// mention managedFields, and an update without managedFields leaves them as they are.
func (i *Informers) CacheOptions() cache.Options {
	return cache.Options{NewInformer: i.make, DefaultTransform: cache.TransformStripManagedFields()}
}

// Close ends all informers, and waits until they have ended.
func (i *Informers) Close() {
	i.cancel()
	i.running.Wait()
}

func (i *Informers) make(lw toolscache.ListerWatcher, obj runtime.Object, _ time.Duration,
	indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	inner := toolscache.ToListerWatcherWithContext(lw)
	kind := kindOf(obj)
	i.listings.Require(kind)
	return newInformer(kind, toolscache.ToListWatcherWithWatchListSemantics(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return outlast(ctx, func() (runtime.Object, error) {
				list, err := inner.ListWithContext(ctx, opts)
				i.note(ctx, kind, err)
				return list, err
			})
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			w, err := outlast(ctx, func() (watch.Interface, error) { return inner.WatchWithContext(ctx, opts) })
			if err != nil {
				i.note(ctx, kind, err)
			}
			return w, err
		},
	}, plainLists{}), obj, indexers, i)
}

// plainLists makes informers list first and then watch. A list that is streamed through a watch has no final outcome to
// record.
type plainLists struct{}

// IsWatchListSemanticsUnSupported implements the check of client-go's reflectors.
func (plainLists) IsWatchListSemanticsUnSupported() bool { return true }

// note records the outcome of a list or a watch. An expired resourceVersion is not recorded as a failure, because a new
// list follows. An unreachable API server is not recorded as a failure of the kind.
func (i *Informers) note(ctx context.Context, kind string, err error) {
	if unreachable := (*url.Error)(nil); ctx.Err() != nil || errors.As(err, &unreachable) || apierrors.IsResourceExpired(err) ||
		apierrors.IsGone(err) {
		return
	}
	if i.listings.Record(kind, err) && err != nil {
		klog.FromContext(ctx).Error(err, "Failed to list a kind, so its changes are not seen; will retry", "kind", kind)
	}
}

// kindOf returns the kind of an object of a Go type that the scheme knows.
func kindOf(obj runtime.Object) string {
	gvk, err := apiutil.GVKForObject(obj, Scheme())
	if err != nil {
		return fmt.Sprintf("%T", obj)
	}
	return gvk.GroupKind().String()
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
