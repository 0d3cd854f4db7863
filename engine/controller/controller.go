// Package controller brings the objects of Flyball's own kinds into the world (feed.go), keeps the finalizers of policies
// (policy.go) and the status of calendars (calendars.go), and has the common parts of reconcilers: waking them from inside the
// process, writing finalizers, retrying stale writes, and removing webhook configurations without a server. Reconcilers of other
// kinds are packages below.
package controller

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// Retry bounds the pause after a failed reconciliation.
type Retry struct{ Min, Max time.Duration }

// DefaultRetry is the default pause.
var DefaultRetry = Retry{Min: 250 * time.Millisecond, Max: 10 * time.Second}

// Options returns the options of a controller with n workers.
func Options[R comparable](n int, retry Retry) controller.TypedOptions[R] {
	skip, priorities := true, false
	return controller.TypedOptions[R]{
		UsePriorityQueue:        &priorities, // it has five goroutines, where the other has two
		MaxConcurrentReconciles: n,
		// The names of controllers are only labels of metrics. Tests run several managers, with the same names, in one
		// process.
		SkipNameValidation: &skip,
		RateLimiter:        workqueue.NewTypedItemExponentialFailureRateLimiter[R](retry.Min, retry.Max),
	}
}

// PerNamespace limits the concurrent reconciliations of policies in a namespace to n, and requeues the others. So hanging writes
// in a namespace do not delay other namespaces.
func PerNamespace(n int, next reconcile.TypedReconciler[workload.Policy]) reconcile.TypedReconciler[workload.Policy] {
	return &perNamespace{TypedReconciler: next, n: n, running: map[string]int{}}
}

type perNamespace struct {
	reconcile.TypedReconciler[workload.Policy]
	n int

	mu      sync.Mutex
	running map[string]int
}

// Reconcile implements reconcile.Reconciler.
func (p *perNamespace) Reconcile(ctx context.Context, id workload.Policy) (reconcile.Result, error) {
	if !p.begin(id.Namespace) {
		return reconcile.Result{RequeueAfter: DefaultRetry.Min}, nil
	}
	defer p.end(id.Namespace)
	return p.TypedReconciler.Reconcile(ctx, id)
}

func (p *perNamespace) begin(namespace string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running[namespace] == p.n {
		return false
	}
	p.running[namespace]++
	return true
}

func (p *perNamespace) end(namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running[namespace]--; p.running[namespace] == 0 {
		delete(p.running, namespace)
	}
}

// Requests wakes a controller from inside the process, for example for an adapter after a change of its watch, or for a
// policy without remaining ledgers. Requests before the controller runs are dropped, because a starting controller
// reconciles all objects.
type Requests[R comparable] struct {
	mu    sync.RWMutex
	queue workqueue.TypedRateLimitingInterface[R]
}

// Source returns the source that the controller watches.
func (r *Requests[R]) Source() source.TypedSource[R] {
	return source.TypedFunc[R](func(_ context.Context, queue workqueue.TypedRateLimitingInterface[R]) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.queue = queue
		return nil
	})
}

// Add queues an object, which may be gone by now.
func (r *Requests[R]) Add(object R) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.queue != nil {
		r.queue.Add(object)
	}
}

// Named returns the request for a cluster-scoped object.
func Named(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}
}

// FinalizerLost returns a predicate for updates that remove the finalizer from an object that is not being deleted.
func FinalizerLost() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(u event.UpdateEvent) bool {
		return u.ObjectNew.GetDeletionTimestamp().IsZero() &&
			controllerutil.ContainsFinalizer(u.ObjectOld, v1alpha1.FinalizerRestore) &&
			!controllerutil.ContainsFinalizer(u.ObjectNew, v1alpha1.FinalizerRestore)
	}}
}

// AddFinalizer adds the finalizer to an object if it is missing. An error is that of the API server.
func AddFinalizer(ctx context.Context, c client.Client, obj client.Object) error {
	before := obj.DeepCopyObject().(client.Object)
	if !controllerutil.AddFinalizer(obj, v1alpha1.FinalizerRestore) {
		return nil
	}
	if err := c.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		obj.SetFinalizers(before.GetFinalizers())
		return err
	}
	return nil
}

// RemoveFinalizer removes the finalizer from an object if it is present. It does not change the given object, because
// the object may be shared with a cache. An error is that of the API server.
func RemoveFinalizer(ctx context.Context, c client.Client, obj client.Object) error {
	after := obj.DeepCopyObject().(client.Object)
	if !controllerutil.RemoveFinalizer(after, v1alpha1.FinalizerRestore) {
		return nil
	}
	err := c.Patch(ctx, after, client.MergeFromWithOptions(obj, client.MergeFromWithOptimisticLock{}))
	return client.IgnoreNotFound(err)
}

// StaleRetry is the pause before a new attempt if the object has changed since it was read.
const StaleRetry = 50 * time.Millisecond

// RetryIfStale requeues an object after a stale write. The change that made the write stale may not requeue the
// object, because controllers do not watch changes of status and labels. A missing object is no error. All other errors
// are returned.
func RetryIfStale(err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: StaleRetry}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(err)
}

// IgnoreStale drops the error of a write to an object that has changed or gone since it was read. The object's
// controller reconciles it anyway.
func IgnoreStale(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
