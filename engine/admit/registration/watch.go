package registration

import (
	"context"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"flyball.dev/flyball/engine/workers"
)

// listWatcher is the part of a typed client needed to watch one object.
type listWatcher[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// WatchNamed notifies when the named object is created, changed or deleted, and once when the watch begins, because
// earlier deletions cause no event. Pending notifications are merged into one. A refused watch is retried with
// back-off.
func WatchNamed[L runtime.Object](ctx context.Context, client listWatcher[L], name string, object runtime.Object, log logr.Logger,
	notify chan<- struct{}) error {
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	informer := cache.NewSharedIndexInformerWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = only
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = only
			return client.Watch(ctx, options)
		},
	}, object, cache.SharedIndexInformerOptions{})
	err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		log.V(1).Info("Failed to watch an object; will retry", "name", name, "reason", err.Error())
	})
	if err != nil {
		return err
	}
	tell := func(any) { workers.Poke(notify) }
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: tell, UpdateFunc: func(_, object any) { tell(object) }, DeleteFunc: tell,
	}); err != nil {
		return err
	}
	go informer.RunWithContext(ctx)
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			tell(nil)
		}
	}()
	return nil
}
