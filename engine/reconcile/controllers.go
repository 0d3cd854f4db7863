package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/inspect"
	"flyball.dev/flyball/engine/policy/when"
	"flyball.dev/flyball/engine/workload"
)

// SetupWithManager adds the engine, the controllers of Flyball's own kinds and the watch of API groups to a manager.
func (e *Engine) SetupWithManager(mgr ctrl.Manager, config *rest.Config) error {
	specs := builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, finalizerLost()))
	for _, pk := range policyKinds() {
		err := ctrl.NewControllerManagedBy(mgr).Named(strings.ToLower(pk.name)).
			For(pk.object(), specs).
			WatchesRawSource(source.Channel(e.nudges.policies[pk.name], &handler.EnqueueRequestForObject{})).
			WithOptions(e.controllerOptions(4)).
			Complete(policyReconciler{e, pk})
		if err != nil {
			return fmt.Errorf("set up the controller of %s: %w", pk.name, err)
		}
	}
	err := ctrl.NewControllerManagedBy(mgr).Named("adapter").
		For(&v1alpha1.Adapter{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, finalizerLost()))).
		WatchesRawSource(source.Channel(e.nudges.adapters, &handler.EnqueueRequestForObject{})).
		WithOptions(e.controllerOptions(1)).
		Complete(adapterReconciler{e})
	if err != nil {
		return fmt.Errorf("set up the controller of Adapter: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).Named("calendar").
		For(&v1alpha1.Calendar{}, specs).
		WatchesRawSource(source.Channel(e.nudges.calendars, &handler.EnqueueRequestForObject{})).
		WithOptions(e.controllerOptions(1)).
		Complete(calendarReconciler{e})
	if err != nil {
		return fmt.Errorf("set up the controller of Calendar: %w", err)
	}
	groups, err := inspect.NewWatcher(config, inspect.WatcherOptions{Log: e.log}, func(group string) { e.nudgeGroup(context.Background(), group) })
	if err != nil {
		return err
	}
	if err := mgr.Add(leaderRunnable(groups.Start)); err != nil {
		return err
	}
	return mgr.Add(e)
}

// finalizerLost notices that somebody took the finalizer off an object that is not being deleted.
func finalizerLost() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(u event.UpdateEvent) bool {
		return u.ObjectNew.GetDeletionTimestamp().IsZero() &&
			controllerutil.ContainsFinalizer(u.ObjectOld, v1alpha1.FinalizerRestore) &&
			!controllerutil.ContainsFinalizer(u.ObjectNew, v1alpha1.FinalizerRestore)
	}}
}

// leaderRunnable runs on the leader only.
type leaderRunnable func(context.Context) error

// Start implements manager.Runnable.
func (r leaderRunnable) Start(ctx context.Context) error { return r(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (r leaderRunnable) NeedLeaderElection() bool { return true }

func (e *Engine) controllerOptions(n int) controller.Options {
	skip := true
	return controller.Options{
		MaxConcurrentReconciles: n,
		// Names of controllers are only labels of metrics; tests run several managers in a process.
		SkipNameValidation: &skip,
		RateLimiter:        workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](e.opts.RetryMin, e.opts.RetryMax),
	}
}

// policyReconciler keeps the engine's policies in step with the objects of one kind, and their finalizers.
type policyReconciler struct {
	e  *Engine
	pk policyKind
}

// Reconcile looks at one policy.
func (r policyReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	e, id := r.e, workload.Policy{Kind: r.pk.name, Namespace: req.Namespace, Name: req.Name}
	obj := r.pk.object()
	if err := e.client.Get(ctx, req.NamespacedName, obj); err != nil {
		if apierrors.IsNotFound(err) {
			e.RemovePolicy(id)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("get %s: %w", id, err)
	}
	if obj.GetDeletionTimestamp().IsZero() {
		// Before anything is written for it, so that it cannot go while something has to be given back.
		switch err := e.keepUntilRestored(ctx, r.pk, obj); {
		case err == nil:
			e.SetPolicy(r.pk, obj)
		case staleIsFine(err) == nil:
			return soonIfStale(err)
		default:
			e.RefusePolicy(r.pk, obj, err)
			return reconcile.Result{}, fmt.Errorf("put the finalizer on %s: %w", id, err)
		}
		return reconcile.Result{}, nil
	}
	e.SetPolicy(r.pk, obj)
	if !controllerutil.ContainsFinalizer(obj, v1alpha1.FinalizerRestore) {
		return reconcile.Result{}, nil
	}
	why, err := e.heldBack(ctx, id)
	if err != nil {
		return reconcile.Result{}, err
	}
	if why != "" {
		e.tellHeld(id, why)
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	if err := e.removeMade(ctx, id, obj); err != nil {
		return reconcile.Result{}, err
	}
	return soonIfStale(e.removeFinalizer(ctx, obj))
}

// keepUntilRestored puts the finalizer on a policy, unless it changes no target.
func (e *Engine) keepUntilRestored(ctx context.Context, pk policyKind, obj client.Object) error {
	if pk.harmless != nil && pk.harmless(obj) {
		return nil
	}
	return e.addFinalizer(ctx, obj)
}

// staleRetry is the pause before another look at a policy that has changed since it was read.
const staleRetry = 50 * time.Millisecond

// soonIfStale has a policy looked at again after a write that came too late. The change that was faster does not do that by
// itself: this controller does not watch for changes of status and labels.
func soonIfStale(err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: staleRetry}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(err)
}

// staleIsFine drops the error of a write to an object that has changed or gone since: its controller looks at it in any case.
func staleIsFine(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// heldBack says why something may still have to be given back for a policy: an object in a watch says so, or there is a
// kind in use that cannot be looked at. It is empty if the policy may go.
func (e *Engine) heldBack(ctx context.Context, id workload.Policy) (why string, err error) {
	if !e.isReady() {
		return "Flyball has just started", nil
	}
	if e.ledgers.OfPolicy(id) > 0 {
		return "targets have still to be given back", nil
	}
	var list v1alpha1.AdapterList
	if err := e.client.List(ctx, &list); err != nil {
		return "", fmt.Errorf("list adapters: %w", err)
	}
	for i := range list.Items {
		a := &list.Items[i]
		if !controllerutil.ContainsFinalizer(a, v1alpha1.FinalizerRestore) || isAbsent(a) {
			continue
		}
		e.mu.RLock()
		k := e.kinds[schema.GroupKind{Group: a.Spec.Target.Group, Kind: a.Spec.Target.Kind}]
		e.mu.RUnlock()
		if k == nil || !k.watch.HasSynced() {
			return fmt.Sprintf("the adapter %s is not ready, so that what sleeps by it cannot be seen", a.Name), nil
		}
	}
	return "", nil
}

// tellHeld has the status of a policy say why it is not gone yet.
func (e *Engine) tellHeld(id workload.Policy, why string) {
	e.mu.RLock()
	en := e.index.all[id]
	e.mu.RUnlock()
	if en != nil && en.tally.hold(why) {
		e.rollup.Dirty(id)
	}
}

// isAbsent says whether the kind of an adapter is known not to be served in any version, so that no object of it can be
// left. Trouble with discovery is not that, and neither is a version that is not the adapter's.
func isAbsent(a *v1alpha1.Adapter) bool {
	served := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionServed)
	return served != nil && served.Status == metav1.ConditionFalse && isGone(inspect.Absence(served.Reason))
}

func isGone(a inspect.Absence) bool { return a == inspect.GroupNotServed || a == inspect.KindNotServed }

// calendarReconciler keeps the engine's calendars in step with Calendar objects.
type calendarReconciler struct{ e *Engine }

// Reconcile looks at one calendar.
func (r calendarReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var c v1alpha1.Calendar
	if err := r.e.client.Get(ctx, req.NamespacedName, &c); err != nil {
		if apierrors.IsNotFound(err) {
			r.e.RemoveCalendar(req.Name)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("get the calendar %s: %w", req.Name, err)
	}
	r.e.SetCalendar(&c)
	return reconcile.Result{}, r.e.tellCalendar(ctx, &c)
}

func (e *Engine) tellCalendar(ctx context.Context, c *v1alpha1.Calendar) error {
	before := c.DeepCopy()
	c.Status.ObservedGeneration = c.Generation
	condition := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Valid", Message: "every day is valid",
		ObservedGeneration: c.Generation, LastTransitionTime: metav1.NewTime(e.opts.Clock.Now())}
	if _, errs := when.Calendar(c.Name, c.Spec, field.NewPath("spec")); len(errs) > 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "InvalidSpec", errs.ToAggregate().Error()
	}
	meta.SetStatusCondition(&c.Status.Conditions, condition)
	used, err := e.usesOf(ctx, c.Name)
	if err != nil {
		return err
	}
	c.Status.UsedBy = used
	if equality.Semantic.DeepEqual(before.Status, c.Status) {
		return nil
	}
	if err := e.client.Status().Patch(ctx, c, client.MergeFrom(before)); err != nil {
		return staleIsFine(fmt.Errorf("write the status of the calendar %s: %w", c.Name, err))
	}
	return nil
}

// usesOf counts the policies that name a calendar.
func (e *Engine) usesOf(ctx context.Context, calendar string) (int32, error) {
	var n int32
	for _, pk := range policyKinds() {
		objs, err := e.listPolicies(ctx, pk)
		if err != nil {
			return 0, err
		}
		for _, obj := range objs {
			for _, ref := range pk.calendars(obj) {
				if ref.Name == calendar {
					n++
				}
			}
		}
	}
	return n, nil
}

// loadAll looks at everything once before any target is worked on: a target whose policy is not known yet would be woken.
func (e *Engine) loadAll(ctx context.Context) error {
	var calendars v1alpha1.CalendarList
	if err := e.client.List(ctx, &calendars); err != nil {
		return fmt.Errorf("list calendars: %w", err)
	}
	for i := range calendars.Items {
		e.SetCalendar(&calendars.Items[i])
	}
	for _, pk := range policyKinds() {
		objs, err := e.listPolicies(ctx, pk)
		if err != nil {
			return err
		}
		for _, obj := range objs {
			// The finalizer may have been taken off by hand.
			if obj.GetDeletionTimestamp().IsZero() {
				if err := staleIsFine(e.keepUntilRestored(ctx, pk, obj)); err != nil {
					// Its controller tries again; the others need not wait for that.
					e.log.Error(err, "put the finalizer on a policy", "kind", pk.name, "policy", client.ObjectKeyFromObject(obj).String())
					e.RefusePolicy(pk, obj, err)
					continue
				}
			}
			e.SetPolicy(pk, obj)
		}
	}
	var adapters v1alpha1.AdapterList
	if err := e.client.List(ctx, &adapters); err != nil {
		return fmt.Errorf("list adapters: %w", err)
	}
	names := make([]string, len(adapters.Items))
	for i := range adapters.Items {
		names[i] = adapters.Items[i].Name
	}
	return together(names, func(name string) error { return e.settleAdapter(ctx, name) })
}

// together does something for each name, all at once, and gives one of the errors.
func together(names []string, do func(name string) error) error {
	var all errgroup.Group
	for _, name := range names {
		all.Go(func() error { return do(name) })
	}
	return all.Wait()
}

// firstSync is how long the start waits for one kind; a kind that takes longer joins later.
const firstSync = 30 * time.Second

func (e *Engine) settleAdapter(ctx context.Context, name string) error {
	deadline := time.Now().Add(firstSync)
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, syncing) {
		again, err := e.reconcileAdapter(ctx, name)
		if err != nil && !apierrors.IsConflict(err) {
			e.log.Error(err, "look at the adapter", "adapter", name)
		}
		if again != syncing || time.Now().After(deadline) {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

var errNoStatus = errors.New("the kind has no policy status")

// recordBatch writes down that a batch is opened, before its first change.
func (e *Engine) recordBatch(ctx context.Context, key apply.BatchKey, opened time.Time) error {
	e.mu.RLock()
	en := e.index.all[key.Policy]
	e.mu.RUnlock()
	if en == nil {
		return nil
	}
	obj := en.object.DeepCopyObject().(client.Object)
	before := obj.DeepCopyObject().(client.Object)
	st := statusOf(obj)
	if st == nil {
		return errNoStatus
	}
	batch := &v1alpha1.BatchStatus{OpenedAt: metav1.NewMicroTime(opened)}
	if key.Direction == workload.DirectionUp {
		st.UpscaleBatch = batch
	} else {
		st.DownscaleBatch = batch
	}
	return client.IgnoreNotFound(e.client.Status().Patch(ctx, obj, client.MergeFrom(before)))
}
