// Package adapters keeps the kinds in use in step with Adapter objects. It checks each adapter against the live API
// server, and starts and replaces watches. It puts kinds to use, blocks them and drops them. It also protects an
// adapter from deletion while something has to be restored through the adapter.
package adapters

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/controller"
	"flyball.dev/flyball/engine/inspect"
	"flyball.dev/flyball/engine/reconcile"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Options configure a Controller.
type Options struct {
	*Finalizers
	Targets *reconcile.Queue
	// ChangedOn returns the number of a kind's objects with something to be restored on their pods, and the reason why there
	// may be more; empty: there are no more.
	ChangedOn func(schema.GroupKind) (n int, unread string)
	Config    *rest.Config
	// DryRun shows the objects as if they were written; nil: the objects are shown as they are.
	DryRun *apply.DryRun
	Client client.Client
	World  *world.World
	Health *status.AdapterHealth
	// Listings records which adapted kinds can be listed.
	Listings *status.Listings
	// PolicyEmptied is called with a policy that has lost its last ledger on objects of some kind.
	PolicyEmptied func(id workload.Policy)
	// PolicyDirty schedules a new look at the status of a policy.
	PolicyDirty func(id workload.Policy)
	// Forget is called with the name of a deleted adapter.
	Forget func(name string)
	// Recorder sends events. nil means that no events are sent.
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Log      logr.Logger
}

// Controller reconciles adapters.
type Controller struct {
	Options
	Metrics *Metrics

	inspector *inspect.Inspector
	groups    *watch.Groups
	watches   *watch.Manager
	requests  controller.Requests[ctrl.Request]

	// reconciling serializes reconciliations. It guards idleSince.
	reconciling sync.Mutex
	idleSince   map[string]time.Time

	mu sync.RWMutex
	// checked has the successful checks of each adapter, by adapter name, until one of their inputs changes.
	checked map[string]*checks
	// round counts the changes of inputs. Checks that began in an earlier round are not stored in checked.
	round int
	// running has the watch of each adapter, by adapter name.
	running map[string]*running
	// suspected has the time at which a forbidden write last caused a check of an adapter's rights.
	suspected map[string]time.Time
	// hidden has the adapters of kinds defined but not served yet.
	hidden map[string]bool
}

// New returns a Controller. A rest.Config without a usable API server is an error.
func New(m *Metrics, opts Options) (*Controller, error) {
	watches, err := watch.NewManager(opts.Config)
	if err != nil {
		return nil, fmt.Errorf("prepare the watches: %w", err)
	}
	if opts.DryRun != nil {
		watches.ShowOver(opts.DryRun)
		opts.DryRun.ShowBy(watches.Show)
	}
	inspector, err := inspect.New(opts.Config)
	if err != nil {
		return nil, fmt.Errorf("prepare the inspection of adapters: %w", err)
	}
	c := &Controller{
		Options: opts, Metrics: m, inspector: inspector, watches: watches, idleSince: map[string]time.Time{},
		checked: map[string]*checks{}, running: map[string]*running{}, suspected: map[string]time.Time{}, hidden: map[string]bool{},
	}
	c.groups = &watch.Groups{Manager: watches, Changed: func(group string) { c.recheckGroup(context.Background(), group) }}
	return c, nil
}

// changed returns the number of a kind's objects for which Flyball has something to restore, on the object or on its
// pods, and the reason why there may be more; empty: there are no more.
func (c *Controller) changed(k *world.LiveKind) (n int, unread string) {
	n, unread = c.ChangedOn(k.GroupKind)
	return k.Live.Ledgers() + n, unread
}

// isUnchanged reports whether nothing on a kind's objects or their pods has to be restored.
func (c *Controller) isUnchanged(k *world.LiveKind) bool {
	n, unread := c.changed(k)
	return n == 0 && unread == ""
}

// SetupWithManager adds the controller and the watch of API groups. The error is a refusal of the manager, such as a name
// in use.
func (c *Controller) SetupWithManager(mgr ctrl.Manager) error {
	c.World.Observe(c)
	err := ctrl.NewControllerManagedBy(mgr).Named("adapter").
		For(&v1alpha1.Adapter{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, controller.FinalizerLost()))).
		WatchesRawSource(c.requests.Source()).
		WithOptions(controller.Options[ctrl.Request](1, controller.DefaultRetry)).
		Complete(c)
	if err != nil {
		return fmt.Errorf("set up the controller of Adapter: %w", err)
	}
	return mgr.Add(manager.RunnableFunc(c.groups.Start)) // the watch runs on the leader only
}

// AfterPublish implements world.Observer. If policies read other annotations than before, it queues all adapters,
// because their watches keep these annotations.
func (c *Controller) AfterPublish(_ *world.Snapshot, change *world.Change) {
	if !change.Keys {
		return
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for name := range c.running {
		c.requests.Add(controller.Named(name))
	}
}

// recheckGroup queues the adapters of an API group for new checks. For watch.AllGroups it queues all adapters.
func (c *Controller) recheckGroup(ctx context.Context, group string) {
	var list v1alpha1.AdapterList
	if err := c.Client.List(ctx, &list); err != nil {
		c.Log.Error(err, "Failed to list adapters")
		return
	}
	for i := range list.Items {
		if group == watch.AllGroups || list.Items[i].Spec.Target.Group == group {
			c.forgetChecks(list.Items[i].Name)
			c.requests.Add(controller.Named(list.Items[i].Name))
		}
	}
}

// firstSync is the time for which the start of the manager waits for the watch of a kind. A slower kind is put to use
// later. autoscalerSync is the time for autoscalers whose watch has no failure: a target that is written before its
// autoscaler is known is brought back by it.
const (
	firstSync      = 30 * time.Second
	autoscalerSync = 20 * firstSync
)

// quickSync is the time after which the status of an adapter says that the first list of its objects is under way.
// Without it each start of the manager would report a ready adapter as not ready for a moment.
const quickSync = 5 * time.Second

// Settle reconciles every adapter once and waits until their watches are in sync. Otherwise Flyball could write a
// target before it knows the target's autoscaler. Adapters that cannot be listed are an error, and so is the end of the
// context. A fault of one adapter is only logged.
func (c *Controller) Settle(ctx context.Context) error {
	var list v1alpha1.AdapterList
	if err := c.Client.List(ctx, &list); err != nil {
		return fmt.Errorf("list adapters: %w", err)
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return together(names, func(name string) error { return c.settle(ctx, name) })
}

// Close ends every watch.
func (c *Controller) Close() { c.watches.Close() }

// together calls a function for each name, all at once, and returns one of the errors.
func together(names []string, do func(name string) error) error {
	var all errgroup.Group
	for _, name := range names {
		all.Go(func() error { return do(name) })
	}
	return all.Wait()
}

// settle reconciles one adapter until the API server serves its kind, and once more when its watch is in sync.
func (c *Controller) settle(ctx context.Context, name string) error {
	waiting, cancel := context.WithTimeout(ctx, firstSync)
	defer cancel()
	for pause := 20 * time.Millisecond; waiting.Err() == nil; pause = min(2*pause, time.Second) {
		err := c.reconcileSafely(ctx, name)
		switch {
		case err == nil && !c.isHidden(name):
			return c.settleWatch(ctx, name)
		case err != nil && !apierrors.IsConflict(err):
			c.Log.Error(err, "Failed to reconcile the adapter", "adapter", name)
			return c.settleWatch(ctx, name) // only the write of the status may have failed
		}
		select {
		case <-waiting.Done():
		case <-time.After(pause):
		}
	}
	return ctx.Err()
}

func (c *Controller) isHidden(name string) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.hidden[name]
}

func (c *Controller) setHidden(name string, hidden bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if hidden {
		c.hidden[name] = true
		return
	}
	delete(c.hidden, name)
}

// settleWatch waits for the watch of an adapter and reconciles the adapter once more. The time begins with the wait,
// because adapters are reconciled one after the other.
func (c *Controller) settleWatch(ctx context.Context, name string) error {
	if !c.waitSynced(ctx, name) {
		return ctx.Err()
	}
	if err := c.reconcileSafely(ctx, name); err != nil && !apierrors.IsConflict(err) {
		c.Log.Error(err, "Failed to reconcile the adapter", "adapter", name)
	}
	return ctx.Err()
}

// waitSynced waits for the watch of an adapter for firstSync, for one of autoscalers up to autoscalerSync, and reports
// whether it is in sync. Beside the wait the controller may replace the watch by another.
func (c *Controller) waitSynced(ctx context.Context, name string) bool {
	for begun := time.Now(); ctx.Err() == nil && time.Since(begun) < autoscalerSync; {
		c.mu.RLock()
		r := c.running[name]
		governs := r != nil && r.adapter.CanGovern()
		c.mu.RUnlock()
		if r == nil {
			return false
		}
		waiting, cancel := context.WithTimeout(ctx, firstSync)
		err := r.watch.WaitSynced(waiting)
		isSlow := waiting.Err() != nil // otherwise the watch was released
		cancel()
		_, failure := r.watch.Err()
		switch {
		case err == nil:
			return true
		case isSlow && (failure != nil || !governs):
			return false
		case isSlow:
			c.Log.Info("No target is written before the first list of its possible autoscalers", "adapter", name)
		}
	}
	return false
}

// Reconcile reconciles one adapter after the policies are known, because they decide which annotations the watches
// keep. A read or write of the API server that must be tried again is an error.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	select {
	case <-ctx.Done():
		return ctrl.Result{}, ctx.Err()
	case <-c.World.Loaded():
	}
	again, err := c.reconcile(ctx, req.Name)
	return ctrl.Result{RequeueAfter: again}, err
}

// reconcileSafely reconciles an adapter and returns a panic as an error. It is used before the start of the
// controller, which handles panics itself. So a panic affects only this adapter, and the manager starts.
func (c *Controller) reconcileSafely(ctx context.Context, name string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("a fault in Flyball, please report it: %v\n%s", r, debug.Stack())
		}
	}()
	_, err = c.reconcile(ctx, name)
	return err
}

// patience is the longest time for a write of an adapter. A write without an end would keep all adapters waiting, because
// they are reconciled one after the other, and all targets whose kind needs the finalizer.
const patience = 20 * time.Second

// reconcile checks an adapter, uses, blocks or drops its kind accordingly, and writes its status.
func (c *Controller) reconcile(ctx context.Context, name string) (time.Duration, error) {
	c.reconciling.Lock()
	defer c.reconciling.Unlock()
	var a v1alpha1.Adapter
	if err := c.Client.Get(ctx, client.ObjectKey{Name: name}, &a); err != nil {
		if apierrors.IsNotFound(err) {
			c.drop(name)
			c.Metrics.forget(name)
			c.Forget(name)
			return 0, c.recheckDuplicates(ctx)
		}
		return 0, fmt.Errorf("get the adapter %s: %w", name, err)
	}
	if !a.DeletionTimestamp.IsZero() {
		return c.release(ctx, &a)
	}
	f, err := c.checkAndUse(ctx, &a)
	if err != nil {
		return 0, err
	}
	if rest := f.listing; rest > 0 {
		c.report(&a, f)
		return rest, nil // a watch that comes into sync queues the adapter before that
	}
	if err := c.writeFinding(ctx, &a, f); err != nil {
		return 0, err
	}
	if err := c.putFinalizerBack(ctx, &a); err != nil {
		return 0, err
	}
	if idle := c.letGoIfIdle(ctx, &a); idle > 0 && (f.again == 0 || idle < f.again) {
		f.again = idle
	}
	return f.again, nil
}

// recheckDuplicates queues the adapters that were not accepted because an older adapter had the same kind.
func (c *Controller) recheckDuplicates(ctx context.Context) error {
	var all v1alpha1.AdapterList
	if err := c.Client.List(ctx, &all); err != nil {
		return fmt.Errorf("list adapters: %w", err)
	}
	for i := range all.Items {
		accepted := meta.FindStatusCondition(all.Items[i].Status.Conditions, v1alpha1.ConditionAccepted)
		if accepted != nil && accepted.Reason == duplicateKind {
			c.forgetChecks(all.Items[i].Name)
			c.requests.Add(controller.Named(all.Items[i].Name))
		}
	}
	return nil
}

// formOf returns a text that changes with every edit of an adapter's spec, and with its recreation.
func formOf(a *v1alpha1.Adapter) string { return fmt.Sprintf("%s/%d", a.UID, a.Generation) }
