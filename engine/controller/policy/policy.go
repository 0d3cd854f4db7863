// Package policy keeps the finalizers of policies: one is put on before anything is written for a policy, and taken off once
// everything is given back.
package policy

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/controller"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Remover deletes what was made for a policy.
type Remover interface {
	RemoveAll(ctx context.Context, p *world.Policy) error
}

// Controllers reconcile every kind of policy that acts on targets.
type Controllers struct {
	World   *world.World
	Client  client.Client
	Remover Remover
	// Started says whether everything has been looked at for the first time.
	Started func() bool
	// Delay tells why a policy that is being deleted is not gone yet.
	Delay func(id workload.Policy, why string)

	requests map[string]*controller.Requests
}

// SetupWithManager adds a controller for each kind.
func (c *Controllers) SetupWithManager(mgr ctrl.Manager) error {
	c.requests = map[string]*controller.Requests{}
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, controller.FinalizerLost())
	for _, kind := range kinds.Acting() {
		requests := &controller.Requests{}
		c.requests[kind.Name] = requests
		err := ctrl.NewControllerManagedBy(mgr).Named(strings.ToLower(kind.Name)).
			For(kind.New(), builder.WithPredicates(changed)).
			WatchesRawSource(requests.Source()).
			WithOptions(controller.Options(4, controller.DefaultRetry)).
			Complete(reconciler{c, kind})
		if err != nil {
			return fmt.Errorf("set up the controller of %s: %w", kind.Name, err)
		}
	}
	return nil
}

// Request has a policy looked at again, which may be gone by now.
func (c *Controllers) Request(id workload.Policy) {
	if requests := c.requests[id.Kind]; requests != nil {
		requests.Add(id.Namespace, id.Name)
	}
}

type reconciler struct {
	*Controllers
	kind policy.Kind
}

// Reconcile looks at one policy.
func (r reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	id := workload.Policy{Kind: r.kind.Name, Namespace: req.Namespace, Name: req.Name}
	obj := r.kind.New()
	if err := r.Client.Get(ctx, req.NamespacedName, obj); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if obj.GetDeletionTimestamp().IsZero() {
		return r.hold(ctx, id, obj)
	}
	if !controllerutil.ContainsFinalizer(obj, v1alpha1.FinalizerRestore) {
		return reconcile.Result{}, nil
	}
	return r.release(ctx, id, obj)
}

// hold puts the finalizer on a policy that may change targets.
func (r reconciler) hold(ctx context.Context, id workload.Policy, obj policy.Object) (reconcile.Result, error) {
	if !r.kind.NeedsFinalizer(obj) {
		return reconcile.Result{}, nil
	}
	err := controller.AddFinalizer(ctx, r.Client, obj)
	switch {
	case err == nil:
		return reconcile.Result{}, nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return controller.RetryIfStale(err)
	default:
		r.World.Update(func(tx *world.Tx) { tx.RefuseFinalizer(id, err.Error()) })
		return reconcile.Result{}, fmt.Errorf("put the finalizer on %s: %w", id, err)
	}
}

// release takes the finalizer off a policy once everything is given back.
func (r reconciler) release(ctx context.Context, id workload.Policy, obj policy.Object) (reconcile.Result, error) {
	p := r.World.Snapshot().Find(id)
	if p != nil && !p.Deleting {
		return reconcile.Result{RequeueAfter: controller.StaleRetry}, nil // the world is about to hear of the deletion
	}
	why, err := r.heldBack(ctx, id)
	if err != nil {
		return reconcile.Result{}, err
	}
	if why != "" {
		r.Delay(id, why)
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	if p != nil {
		if err := r.Remover.RemoveAll(ctx, p); err != nil {
			return reconcile.Result{}, err
		}
	}
	return controller.RetryIfStale(controller.RemoveFinalizer(ctx, r.Client, obj))
}

// heldBack says why something may still have to be given back for a policy: an object in a watch says so, or there is a kind
// that has been written to and cannot be looked at. It is empty if the policy may go.
func (r reconciler) heldBack(ctx context.Context, id workload.Policy) (why string, err error) {
	if !r.Started() {
		return "Flyball has just started", nil
	}
	snapshot := r.World.Snapshot()
	if snapshot.LedgersOf(id) > 0 {
		return "targets have still to be given back", nil
	}
	var list v1alpha1.AdapterList
	if err := r.Client.List(ctx, &list); err != nil {
		return "", fmt.Errorf("list adapters: %w", err)
	}
	for i := range list.Items {
		a := &list.Items[i]
		known := snapshot.Adapters()[schema.ParseGroupResource(a.Name)]
		if !controllerutil.ContainsFinalizer(a, v1alpha1.FinalizerRestore) || known != nil && known.Absent {
			continue
		}
		k := snapshot.InUse(schema.GroupKind{Group: a.Spec.Target.Group, Kind: a.Spec.Target.Kind})
		if k == nil || !k.Live.HasSynced() {
			return fmt.Sprintf("the adapter %s is not ready, so that what sleeps by it cannot be seen", a.Name), nil
		}
	}
	return "", nil
}
