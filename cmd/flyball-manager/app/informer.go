package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"flyball.dev/flyball/engine/status"
)

// informers makes the informers of Flyball's own kinds. Those of client-go wait up to a minute between attempts while the
// API server is away, in part without looking at their context: after an outage, edits of policies would be seen late, and
// a manager told to stop would not end in time. Here the attempts go on at a steady pace until the context ends. What the API
// server answers to a list is noted: one object that cannot be decoded takes its whole kind out of use.
type informers struct{ listings *status.Listings }

func (i informers) make(lw toolscache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	inner := toolscache.ToListerWatcherWithContext(lw)
	kind := kindOf(obj)
	i.listings.Require(kind)
	return toolscache.NewSharedIndexInformer(toolscache.ToListWatcherWithWatchListSemantics(&toolscache.ListWatch{
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
	}, plainLists{}), obj, resync, indexers)
}

// plainLists has informers list first and watch then. A list that comes through a watch has no end at which its outcome could be noted.
type plainLists struct{}

// IsWatchListSemanticsUnSupported is asked by reflectors.
func (plainLists) IsWatchListSemanticsUnSupported() bool { return true }

// note takes down how a list or a watch went. A version that has expired is no failure: a list follows. Nor is it one of the kind that
// the API server cannot be reached.
func (i informers) note(ctx context.Context, kind string, err error) {
	if unreachable := (*url.Error)(nil); ctx.Err() != nil || errors.As(err, &unreachable) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	if i.listings.Record(kind, err) && err != nil {
		klog.FromContext(ctx).Error(err, "Objects of a kind cannot be listed; changes of them are not seen", "kind", kind)
	}
}

// kindOf names the kind of an object of a Go type that the scheme knows.
func kindOf(obj runtime.Object) string {
	gvk, err := apiutil.GVKForObject(obj, Scheme())
	if err != nil {
		return fmt.Sprintf("%T", obj)
	}
	return gvk.GroupKind().String()
}

// outlast repeats a request while the API server is away. Any answer of the server's own, good or bad, ends it.
func outlast[T any](ctx context.Context, request func() (T, error)) (T, error) {
	pause := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Cap: 2 * time.Second, Steps: 8}
	for told := false; ; told = true {
		answer, err := request()
		if err == nil || !isAway(err) {
			return answer, err
		}
		if !told {
			klog.FromContext(ctx).Info("A request to the API server failed; trying again", "err", err)
		}
		select {
		case <-ctx.Done():
			return answer, err
		case <-time.After(pause.Step()):
		}
	}
}

// isAway says whether an error is not the API server's own, or says that the server is only starting or overloaded.
func isAway(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err)
}
