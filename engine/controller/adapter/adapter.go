// Package adapter keeps kinds in use in step with Adapter objects: it checks each adapter against the live API server, starts and
// replaces watches, puts kinds to use, blocks and drops them, and keeps an adapter from going while something has to be given
// back through it.
package adapter

import (
	"context"
	"errors"
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
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/controller"
	"flyball.dev/flyball/engine/inspect"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Targets is the loop over targets.
type Targets interface {
	// Queue has targets looked at.
	Queue(refs ...workload.Ref)
	// Arrived tells of an object that was not there before.
	Arrived(ref workload.Ref)
	// Retry looks again at every object of a kind, without the pauses that failures have brought.
	Retry(k *world.Kind)
	// Started says whether everything has been looked at for the first time.
	Started() bool
}

// Options are what a Controller needs.
type Options struct {
	Config *rest.Config
	Client client.Client
	// Reader reads past the cache.
	Reader client.Reader
	World  *world.World
	Health *status.AdapterHealth
	// Enabled names the adapters that the installation brings. One that was being deleted before this process is made again once it is
	// gone.
	Enabled []string
	// Listings is told which adapted kinds can be listed.
	Listings *status.Listings
	// PolicyEmptied is called with a policy that has lost its last ledger on objects of some kind.
	PolicyEmptied func(id workload.Policy)
	// PolicyDirty has the status of a policy looked at again.
	PolicyDirty func(id workload.Policy)
	// Forget is called with the name of an adapter that is gone.
	Forget func(name string)
	// Recorder takes events; nil: nobody reads them.
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Log      logr.Logger
}

// Controller reconciles adapters.
type Controller struct {
	Options
	Metrics *Metrics
	targets Targets
	// pods counts what has been changed on pods of objects of a kind; nil: nothing ever is.
	pods func(schema.GroupKind) int

	inspector *inspect.Inspector
	groups    *inspect.Watcher
	watches   *watch.Manager
	requests  controller.Requests

	// reconciling has adapters looked at one by one; it guards idleSince and returning.
	reconciling sync.Mutex
	idleSince   map[string]time.Time
	returning   returning

	mu sync.RWMutex
	// checked has, by the adapter's name, what the last checks came to, as long as nothing has changed that they look at.
	checked map[string]*checks
	// round counts what made checks be forgotten.
	round int
	// running holds the watch of each adapter, by the adapter's name.
	running map[string]*running
	// suspected says when the rights of an adapter were last looked at because of a write that was forbidden.
	suspected map[string]time.Time
	// hidden has the adapters whose kind the API server ought to serve, and does not yet.
	hidden map[string]bool
	// finalized has the adapters that this process has given the finalizer and not taken it from again.
	finalized map[string]bool
	// finalizing lets one writer at a time add or remove the finalizer.
	finalizing sync.Mutex
}

// New makes a Controller.
func New(m *Metrics, opts Options) (*Controller, error) {
	watches, err := watch.NewManager(opts.Config)
	if err != nil {
		return nil, fmt.Errorf("prepare the watches: %w", err)
	}
	inspector, err := inspect.New(opts.Config)
	if err != nil {
		return nil, fmt.Errorf("prepare the inspection of adapters: %w", err)
	}
	c := &Controller{
		Options: opts, Metrics: m, inspector: inspector, watches: watches, idleSince: map[string]time.Time{}, returning: newReturning(opts.Enabled),
		checked: map[string]*checks{}, running: map[string]*running{}, suspected: map[string]time.Time{}, hidden: map[string]bool{},
		finalized: map[string]bool{},
	}
	c.groups, err = inspect.NewWatcher(opts.Config, inspect.WatcherOptions{Log: opts.Log}, func(group string) { c.recheckGroup(context.Background(), group) })
	return c, err
}

// Drive says whose targets the adapters are for. It must be called before anything runs.
func (c *Controller) Drive(t Targets) { c.targets = t }

// FollowPods says who counts what has been changed on pods of objects of a kind. It must be called before anything runs.
func (c *Controller) FollowPods(changed func(schema.GroupKind) int) { c.pods = changed }

// changed counts what has to be given back on objects of a kind and on their pods.
func (c *Controller) changed(k *world.Kind) int {
	n := k.Live.Ledgers()
	if c.pods != nil {
		n += c.pods(k.GroupKind)
	}
	return n
}

// SetupWithManager adds the controller and the watch of API groups.
func (c *Controller) SetupWithManager(mgr ctrl.Manager) error {
	c.World.Observe(c)
	err := ctrl.NewControllerManagedBy(mgr).Named("adapter").
		For(&v1alpha1.Adapter{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, controller.FinalizerLost()))).
		WatchesRawSource(c.requests.Source()).
		WithOptions(controller.Options(1, controller.DefaultRetry)).
		Complete(c)
	if err != nil {
		return fmt.Errorf("set up the controller of Adapter: %w", err)
	}
	return mgr.Add(manager.RunnableFunc(c.groups.Start)) // on the leader only
}

// Changed implements world.Observer: other annotations may have to be kept of objects.
func (c *Controller) Changed(_ *world.Snapshot, change *world.Change) {
	if !change.Keys {
		return
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for name := range c.running {
		c.requests.Add("", name)
	}
}

// recheckGroup has the adapters of an API group checked again, all of them for inspect.AllGroups.
func (c *Controller) recheckGroup(ctx context.Context, group string) {
	var list v1alpha1.AdapterList
	if err := c.Client.List(ctx, &list); err != nil {
		c.Log.Error(err, "list adapters")
		return
	}
	for i := range list.Items {
		if group == inspect.AllGroups || list.Items[i].Spec.Target.Group == group {
			c.forgetChecks(list.Items[i].Name)
			c.requests.Add("", list.Items[i].Name)
		}
	}
}

// firstSync is how long the start waits for one kind; a kind that takes longer joins later.
const firstSync = 30 * time.Second

// Settle looks at every adapter once and waits until their watches are in sync: a target that an autoscaler governs must not be
// worked on before the autoscaler is known.
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

// together does something for each name, all at once, and gives one of the errors.
func together(names []string, do func(name string) error) error {
	var all errgroup.Group
	for _, name := range names {
		all.Go(func() error { return do(name) })
	}
	return all.Wait()
}

// settle looks at one adapter until the API server serves its kind, and once more when its watch is in sync.
func (c *Controller) settle(ctx context.Context, name string) error {
	waiting, cancel := context.WithTimeout(ctx, firstSync)
	defer cancel()
	for pause := 20 * time.Millisecond; waiting.Err() == nil; pause = min(2*pause, time.Second) {
		err := c.reconcileSafely(ctx, name)
		switch {
		case err == nil && !c.isHidden(name):
			return c.settleWatch(ctx, waiting, name)
		case err != nil && !apierrors.IsConflict(err):
			c.Log.Error(err, "look at the adapter", "adapter", name)
			return ctx.Err()
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

func (c *Controller) settleWatch(ctx, waiting context.Context, name string) error {
	c.mu.RLock()
	r := c.running[name]
	c.mu.RUnlock()
	if r == nil || r.watch.WaitSynced(waiting) != nil {
		return ctx.Err()
	}
	if err := c.reconcileSafely(ctx, name); err != nil && !apierrors.IsConflict(err) {
		c.Log.Error(err, "look at the adapter", "adapter", name)
	}
	return ctx.Err()
}

// Reconcile looks at one adapter, once the policies are known: they say which annotations have to be kept of objects.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	select {
	case <-ctx.Done():
		return reconcile.Result{}, ctx.Err()
	case <-c.World.Loaded():
	}
	again, err := c.reconcile(ctx, req.Name)
	return reconcile.Result{RequeueAfter: again}, err
}

// reconcileSafely looks at one adapter before the controller runs, which lives through panics by itself: a fault stays that adapter's, and
// the manager starts.
func (c *Controller) reconcileSafely(ctx context.Context, name string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("a fault in Flyball, please report it: %v\n%s", r, debug.Stack())
		}
	}()
	_, err = c.reconcile(ctx, name)
	return err
}

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
			return 0, errors.Join(c.makeAgain(ctx, name), c.recheckDuplicates(ctx))
		}
		return 0, fmt.Errorf("get the adapter %s: %w", name, err)
	}
	if err := c.returning.see(&a, func() (string, error) { return c.applierOf(ctx, name) }); err != nil {
		return 0, err
	}
	if !a.DeletionTimestamp.IsZero() {
		return c.release(ctx, &a)
	}
	f, err := c.checkAndUse(ctx, &a)
	if err != nil {
		return 0, err
	}
	if err := c.writeFinding(ctx, &a, f); err != nil {
		return 0, err
	}
	if err := c.holdAgain(ctx, &a); err != nil {
		return 0, err
	}
	if idle := c.letGoIfIdle(ctx, &a); idle > 0 && (f.again == 0 || idle < f.again) {
		f.again = idle
	}
	return f.again, nil
}

// recheckDuplicates has the adapters looked at again that had to stand back for another one of their kind.
func (c *Controller) recheckDuplicates(ctx context.Context) error {
	var all v1alpha1.AdapterList
	if err := c.Client.List(ctx, &all); err != nil {
		return fmt.Errorf("list adapters: %w", err)
	}
	for i := range all.Items {
		accepted := meta.FindStatusCondition(all.Items[i].Status.Conditions, v1alpha1.ConditionAccepted)
		if accepted != nil && accepted.Reason == duplicateKind {
			c.forgetChecks(all.Items[i].Name)
			c.requests.Add("", all.Items[i].Name)
		}
	}
	return nil
}

// formOf tells the forms of an adapter apart.
func formOf(a *v1alpha1.Adapter) string { return fmt.Sprintf("%s/%d", a.UID, a.Generation) }
