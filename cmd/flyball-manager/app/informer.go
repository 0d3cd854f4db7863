package app

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// newInformer makes the informers of Flyball's own kinds. Those of client-go wait up to a minute between attempts while the
// API server is away, in part without looking at their context: after an outage, edits of policies would be seen late, and
// a manager told to stop would not end in time. Here the attempts go on at a steady pace until the context ends.
func newInformer(lw toolscache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	inner := toolscache.ToListerWatcherWithContext(lw)
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return outlast(ctx, func() (runtime.Object, error) { return inner.ListWithContext(ctx, opts) })
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return outlast(ctx, func() (watch.Interface, error) { return inner.WatchWithContext(ctx, opts) })
		},
	}, obj, resync, indexers)
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
			klog.FromContext(ctx).Info("The API server gives no answer; trying again", "err", err)
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
