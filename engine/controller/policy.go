package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// parallel is the number of policies that are reconciled at the same time. inNamespace is the same number in one namespace.
const parallel, inNamespace = 32, 4

// Remover deletes the objects created for a policy.
type Remover interface {
	RemoveAll(ctx context.Context, p *world.Policy) error
}

// Policies reconcile every kind of policy that acts on targets. They add the finalizer before the first write for a policy, and
// remove it after everything is restored.
type Policies struct {
	World   *world.World
	Client  client.Client
	Remover Remover
	// Objects reads the metadata of objects of adapted kinds.
	Objects metadata.Interface
	// Clock is the clock for decisions.
	Clock clock.PassiveClock
	// Started reports whether all targets were queued for the first time.
	Started func() bool
	// Leftover returns a text about things outside of targets that may still have to be restored. Empty means nothing.
	Leftover func(p *world.Policy) string
	// Delay is called with the reason why a policy being deleted is not gone yet.
	Delay func(id workload.Policy, why string)

	requests Requests[workload.Policy]
}

// SetupWithManager adds one controller for all kinds: each controller has goroutines of its own, and most kinds have few
// policies. The error is a refusal of the manager, such as a name in use.
func (c *Policies) SetupWithManager(mgr ctrl.Manager) error {
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, FinalizerLost())
	b := builder.TypedControllerManagedBy[workload.Policy](mgr).Named("policy").WatchesRawSource(c.requests.Source()).
		Watches(&v1alpha1.Adapter{}, handler.TypedEnqueueRequestsFromMapFunc(c.every), builder.WithPredicates(created))
	acting := map[string]policy.Row{}
	for _, kind := range kinds.Acting() {
		acting[kind.Name] = kind
		id := func(_ context.Context, obj client.Object) []workload.Policy {
			return []workload.Policy{{Kind: kind.Name, Namespace: obj.GetNamespace(), Name: obj.GetName()}}
		}
		b.Watches(kind.New(), handler.TypedEnqueueRequestsFromMapFunc(id), builder.WithPredicates(changed))
	}
	err := b.WithOptions(Options[workload.Policy](parallel, DefaultRetry)).
		Complete(PerNamespace(inNamespace, reconcilers{c, acting}))
	if err != nil {
		return fmt.Errorf("set up the controller of policies: %w", err)
	}
	return nil
}

// created accepts only events of new objects. At the start of the manager all objects are new.
var created = predicate.Funcs{
	UpdateFunc: func(event.UpdateEvent) bool { return false },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

// every returns all policies, after the creation of an adapter. Policies that lost the finalizer while there was no adapter need it
// again.
func (c *Policies) every(context.Context, client.Object) (all []workload.Policy) {
	for p := range c.World.Snapshot().Policies {
		all = append(all, p.ID)
	}
	return all
}

// Request queues a policy, which may be gone by now.
func (c *Policies) Request(id workload.Policy) { c.requests.Add(id) }

// reconcilers reconcile the policies of all kinds that act on targets.
type reconcilers struct {
	*Policies
	kinds map[string]policy.Row
}

// Reconcile reconciles one policy.
func (r reconcilers) Reconcile(ctx context.Context, id workload.Policy) (reconcile.Result, error) {
	kind, acts := r.kinds[id.Kind]
	if !acts {
		return reconcile.Result{}, nil
	}
	return reconciler{r.Policies, kind}.reconcile(ctx, id)
}

type reconciler struct {
	*Policies
	kind policy.Row
}

// reconcile reconciles one policy.
func (r reconciler) reconcile(ctx context.Context, id workload.Policy) (reconcile.Result, error) {
	obj := r.kind.New()
	if err := r.Client.Get(ctx, types.NamespacedName{Namespace: id.Namespace, Name: id.Name}, obj); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if obj.GetDeletionTimestamp().IsZero() {
		if result, err := r.addFinalizer(ctx, id, obj); err != nil || result.RequeueAfter > 0 {
			return result, err
		}
		return r.expire(ctx, id, obj)
	}
	if !controllerutil.ContainsFinalizer(obj, v1alpha1.FinalizerRestore) {
		return reconcile.Result{}, nil
	}
	return r.release(ctx, id, obj)
}

// keptEnded is the time from the end of a policy to the deletion of its object.
const keptEnded = 24 * time.Hour

// expire deletes a policy that ended a day ago, or returns the time until then. The precondition spares a policy that somebody
// extends meanwhile.
func (r reconciler) expire(ctx context.Context, id workload.Policy, obj policy.Object) (reconcile.Result, error) {
	ends := r.kind.Meta(obj).Ends
	if ends.IsZero() {
		return reconcile.Result{}, nil
	}
	if left := ends.Add(keptEnded).Sub(r.Clock.Now()); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	err := r.Client.Delete(ctx, obj, client.Preconditions{UID: &uid, ResourceVersion: &version})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return RetryIfStale(err)
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("delete the expired %s: %w", id, err)
	}
	return reconcile.Result{}, nil
}
