package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// addFinalizer adds the finalizer to a policy that may change targets.
func (r reconciler) addFinalizer(ctx context.Context, id workload.Policy, obj policy.Object) (reconcile.Result, error) {
	if !r.kind.NeedsFinalizer(obj) {
		return reconcile.Result{}, nil
	}
	if freed, err := r.wasFreed(ctx, id, obj); freed || err != nil {
		return reconcile.Result{}, err
	}
	err := AddFinalizer(ctx, r.Client, obj)
	switch {
	case err == nil:
		return reconcile.Result{}, nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return RetryIfStale(err)
	default:
		r.World.Update(func(tx *world.Tx) { tx.RefuseFinalizer(id, err.Error()) })
		return reconcile.Result{}, fmt.Errorf("put the finalizer on %s: %w", id, err)
	}
}

// wasFreed reports whether a user or an uninstallation removed the finalizer while there is no adapter. Such a policy
// can change nothing, and its deletion must not wait for a manager.
func (r reconciler) wasFreed(ctx context.Context, id workload.Policy, obj policy.Object) (bool, error) {
	p := r.World.Snapshot().Find(id)
	if p == nil || !p.Secured || controllerutil.ContainsFinalizer(obj, v1alpha1.FinalizerRestore) {
		return false, nil
	}
	var adapters v1alpha1.AdapterList
	if err := r.Client.List(ctx, &adapters); err != nil {
		return false, fmt.Errorf("list adapters: %w", err)
	}
	return len(adapters.Items) == 0, nil
}

// release removes the finalizer of a policy once everything is restored.
func (r reconciler) release(ctx context.Context, id workload.Policy, obj policy.Object) (reconcile.Result, error) {
	p := r.World.Snapshot().Find(id)
	if p != nil && !p.Deleting {
		return reconcile.Result{RequeueAfter: StaleRetry}, nil // the world will soon know of the deletion
	}
	why, again, err := r.waitsForRestores(ctx, id, p, obj)
	if again == 0 && err == nil && p != nil {
		if why = r.Leftover(p); why != "" {
			again = time.Second
		} else {
			err = r.Remover.RemoveAll(ctx, p)
		}
	}
	if again == 0 && err == nil {
		err = RemoveFinalizer(ctx, r.Client, obj)
	}
	switch {
	case apierrors.IsConflict(err):
		again, err = StaleRetry, nil
	case err != nil:
		r.Delay(id, err.Error())
	case again > 0:
		r.Delay(id, why)
	}
	return reconcile.Result{RequeueAfter: again}, err
}

// unwatchedRecheck is the interval of searching the API server for objects without a watch while the deletion of a
// policy waits for them.
const unwatchedRecheck = 10 * time.Second

// waitsForRestores returns the reason for which a policy being deleted must wait: an object may still have to be restored, and the
// time until the next look. Such an object is in a watch, or the adapter of its kind is not ready. For objects in a
// watch, why is empty, because the status names them. If again is zero, the policy need not wait.
func (r reconciler) waitsForRestores(ctx context.Context, id workload.Policy, p *world.Policy, obj policy.Object) (
	why string, again time.Duration, err error) {
	if !r.Started() {
		return "Flyball has just started", time.Second, nil
	}
	snapshot := r.World.Snapshot()
	if snapshot.LedgersOf(id) > 0 {
		return "", time.Second, nil
	}
	var list v1alpha1.AdapterList
	if err := r.Client.List(ctx, &list); err != nil {
		return "", 0, fmt.Errorf("list adapters: %w", err)
	}
	for i := range list.Items {
		a := &list.Items[i]
		known := snapshot.Adapters()[schema.ParseGroupResource(a.Name)]
		if !controllerutil.ContainsFinalizer(a, v1alpha1.FinalizerRestore) || known != nil && known.Serving == world.NotServed {
			continue
		}
		k := snapshot.InUse(a.Spec.Target.GroupKind())
		if k != nil && k.Live.HasSynced() || neverReached(a, p, obj) {
			continue
		}
		object, err := r.usedBy(ctx, a, id)
		switch {
		case err != nil:
			return fmt.Sprintf("the adapter %s is not ready, so objects changed through it cannot be found: %v", a.Name, err), unwatchedRecheck, nil
		case object != "":
			return fmt.Sprintf("the adapter %s is not ready, so %s cannot be restored", a.Name, object), unwatchedRecheck, nil
		}
	}
	return "", 0, nil
}
