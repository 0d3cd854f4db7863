package reconcile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/inspect"
	"flyball.dev/flyball/engine/policy/target"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

var (
	// errSoon asks for another look in a moment: the object's batch is just being opened.
	errSoon = errors.New("look again in a moment")
	// errBehind says that the object has changed, or gone, since it was read: the watch brings what it is now.
	errBehind = errors.New("the watch is behind")
)

// Options say how an Engine runs. The zero value of a field means its default.
type Options struct {
	// Clock tells the time by which policies are decided. Default: the machine's.
	Clock clock.WithTicker
	// Workers is the number of targets worked on at once. Default: 16.
	Workers int
	// Scope is what compiling a selection needs to know of the cluster; see the function Scope.
	Scope target.Scope
	// Freezes says when writes that restart pods have to wait. Default: never.
	Freezes *Freezes
	// StatusInterval is the shortest time between two status writes of a policy. Default: 500 ms.
	StatusInterval time.Duration
	// RetryMin and RetryMax bound the pause before a failed write is tried again. Defaults: 250 ms and 20 s: what was in the way
	// may be gone, and half a minute later everything is to be as it should be.
	RetryMin, RetryMax time.Duration
	// Log gets structured lines. Default: none.
	Log logr.Logger
}

func (o *Options) setDefaults() {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Workers == 0 {
		o.Workers = 16
	}
	if o.StatusInterval == 0 {
		o.StatusInterval = 500 * time.Millisecond
	}
	if o.RetryMin == 0 {
		o.RetryMin = 250 * time.Millisecond
	}
	if o.RetryMax == 0 {
		o.RetryMax = 20 * time.Second
	}
}

// Engine keeps every target of every policy where it should be.
type Engine struct {
	opts      Options
	log       logr.Logger
	client    client.Client
	writer    *apply.Writer
	templater *apply.Templates
	templates *templates
	batches   *apply.Batches
	inspector *inspect.Inspector
	watches   *watch.Manager
	recorder  events.EventRecorder
	metrics   *metrics

	// policyMu lets one policy be compiled and taken over at a time; it guards refusals.
	policyMu sync.Mutex
	// refusals says of policies that could not be given the finalizer why.
	refusals map[workload.Policy]string
	// mu guards what judging reads: kinds, index, calendars.
	mu         sync.RWMutex
	kinds      map[schema.GroupKind]*kind
	index      policyIndex
	calendars  map[string]calendar
	namespaces objects

	ledgers   *ledgers
	governors *governors
	wakes     *wakes
	contests  *contests
	rollup    *rollup
	thaw      thaw
	queue     workqueue.TypedRateLimitingInterface[workload.Ref]
	// lagging says how long to wait for the watch to bring what an object is now.
	lagging workqueue.TypedRateLimiter[workload.Ref]

	recordsMu sync.Mutex
	records   map[workload.Ref]record

	adapters *adapterState
	// adapterMu has adapters looked at one by one; it guards idleSince.
	adapterMu sync.Mutex
	idleSince map[string]time.Time
	// ready is closed once the first look at everything is done and targets are worked on.
	ready chan struct{}
	// nudges wake the controllers of Flyball's own kinds from within.
	nudges nudges
}

// New makes an Engine that writes with the given configuration. cached reads Flyball's own objects from a cache and writes
// them; recorder takes events.
func New(config *rest.Config, cached client.Client, recorder events.EventRecorder, m *Metrics, opts Options) (*Engine, error) {
	opts.setDefaults()
	writer, err := apply.NewWriter(config)
	if err != nil {
		return nil, err
	}
	templater, err := apply.NewTemplates(config)
	if err != nil {
		return nil, err
	}
	watches, err := watch.NewManager(config)
	if err != nil {
		return nil, fmt.Errorf("prepare the watches: %w", err)
	}
	inspector, err := inspect.New(config)
	if err != nil {
		return nil, fmt.Errorf("prepare the inspection of adapters: %w", err)
	}
	e := &Engine{
		opts: opts, log: opts.Log, client: cached, writer: writer, templater: templater, templates: newTemplates(), watches: watches, inspector: inspector, recorder: recorder, metrics: m.metrics,
		kinds: map[schema.GroupKind]*kind{}, index: newPolicyIndex(), calendars: map[string]calendar{},
		ledgers: newLedgers(), governors: newGovernors(), wakes: newWakes(opts.Clock), contests: newContests(),
		records: map[workload.Ref]record{}, adapters: newAdapterState(), idleSince: map[string]time.Time{}, ready: make(chan struct{}), nudges: newNudges(),
		refusals: map[workload.Policy]string{},
		queue:    workqueue.NewTypedRateLimitingQueue(newBackoff(opts.RetryMin, opts.RetryMax)),
		lagging:  newBackoff(behindMin, opts.RetryMax),
	}
	e.batches = apply.NewBatches(e.recordBatch)
	e.rollup = newRollup(e)
	m.observe(e)
	return e, nil
}

// NeedLeaderElection says that only one replica works on targets.
func (e *Engine) NeedLeaderElection() bool { return true }

// Ready is closed once everything has been looked at for the first time.
func (e *Engine) Ready() <-chan struct{} { return e.ready }

// Start works until the context ends; a write in flight is then finished before it returns.
func (e *Engine) Start(ctx context.Context) error {
	defer e.watches.Close()
	defer e.queue.ShutDown()
	namespaces, err := e.watchNamespaces(ctx)
	if err != nil {
		return err
	}
	e.mu.Lock()
	e.namespaces = namespaces
	e.mu.Unlock()
	if err := e.loadAll(ctx); err != nil {
		return err
	}
	close(e.ready)
	e.log.Info("ready", "kinds", len(e.kinds), "policies", len(e.index.all))

	var wg sync.WaitGroup
	wg.Go(func() { e.wakes.Run(ctx, e.fire) })
	wg.Go(func() { e.rollup.Run(ctx) })
	wg.Go(func() { e.runThaw(ctx) })
	for range e.opts.Workers {
		wg.Go(func() { e.work(ctx) })
	}
	<-ctx.Done()
	e.queue.ShutDownWithDrain()
	wg.Wait()
	return nil
}

// work takes targets from the queue until it is shut down. Once the context has ended, what is under way is finished and
// what still waits is left to the next run.
func (e *Engine) work(ctx context.Context) {
	for {
		ref, shutdown := e.queue.Get()
		if shutdown {
			return
		}
		if ctx.Err() != nil {
			e.queue.Done(ref)
			continue
		}
		e.again(ref, e.target(context.WithoutCancel(ctx), ref))
		e.queue.Done(ref)
	}
}

// again has a target looked at again as what came of it asks for.
func (e *Engine) again(ref workload.Ref, err error) {
	switch {
	case err == nil:
		e.queue.Forget(ref)
		e.lagging.Forget(ref)
	case errors.Is(err, errSoon):
		e.queue.AddAfter(ref, 50*time.Millisecond)
	case errors.Is(err, errBehind):
		e.queue.AddAfter(ref, e.lagging.When(ref))
	default:
		e.log.V(1).Info("will try again", "target", ref.String(), "reason", err.Error())
		e.queue.AddRateLimited(ref)
	}
}

// fire looks again at what wake-ups were set for. Transitions begin before anything follows from them, and no status is
// written in between that counts as settled what has still to be looked at.
func (e *Engine) fire(due []wakeKey) {
	targets := make([]workload.Ref, 0, len(due))
	for _, key := range due {
		if key.policy == (workload.Policy{}) {
			targets = append(targets, key.target)
			continue
		}
		e.rollup.Turn(key.policy)
	}
	e.await(targets)
	for _, ref := range targets {
		e.queue.Add(ref)
	}
	for _, key := range due {
		if key.policy != (workload.Policy{}) {
			e.rollup.Dirty(key.policy)
		}
	}
}

func (e *Engine) watchNamespaces(ctx context.Context) (objects, error) {
	w, err := e.watches.Ensure(ctx, watch.Source{
		GVR:       corev1.SchemeGroupVersion.WithResource("namespaces"),
		ID:        "namespaces",
		Projector: watch.MetadataProjector(v1alpha1.AnnotationAwakeUntil),
		Handler:   watch.HandlerFunc(e.namespaceChanged),
	})
	if err != nil {
		return nil, fmt.Errorf("watch namespaces: %w", err)
	}
	if err := w.WaitSynced(ctx); err != nil {
		return nil, fmt.Errorf("watch namespaces: %w", err)
	}
	return w, nil
}

// namespaceChanged looks again at the objects of a namespace whose labels, annotation or life has changed.
func (e *Engine) namespaceChanged(old, cur *workload.Object) {
	name := ""
	switch {
	case cur != nil:
		name = cur.Name
	default:
		name = old.Name
	}
	if old != nil && cur != nil && old.Deleting == cur.Deleting &&
		samePairs(old.Labels, cur.Labels) && samePairs(old.Annotations, cur.Annotations) {
		return
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, k := range e.kinds {
		k.watch.RangeNamespace(name, func(obj *workload.Object) bool {
			e.queue.Add(k.ref(obj))
			return true
		})
	}
}

func samePairs(a, b workload.Pairs) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// objectChanged keeps the indexes and has the object, what it governs and what governs it looked at again.
func (e *Engine) objectChanged(gk schema.GroupKind, governs func(*workload.Object) (workload.Ref, bool), old, cur *workload.Object) {
	obj := cur
	var ledger workload.Ledger
	if cur == nil {
		obj = old
	} else {
		ledger = cur.Ledger
	}
	ref := workload.Ref{GroupKind: gk, Namespace: obj.Namespace, Name: obj.Name}
	if cur != nil && cur.LedgerError != "" {
		e.ledgers.Unreadable(ref)
	} else {
		emptied, turned := e.ledgers.Update(ref, ledger)
		for _, p := range emptied {
			e.nudges.policy(p)
		}
		if turned {
			e.nudgeKind(gk)
		}
	}
	if governs != nil {
		var target workload.Ref
		if cur != nil {
			target, _ = governs(cur)
		}
		if before := e.governors.Set(ref, target); before != (workload.Ref{}) && before != target {
			e.queue.Add(before)
		}
		if target != (workload.Ref{}) {
			e.queue.Add(target)
		}
	}
	for _, g := range e.governors.Of(ref) {
		e.queue.Add(g)
	}
	e.queue.Add(ref)
}

// Scope is what compiling a selection needs to know of the cluster: the namespaces that only a selector naming them reaches,
// Flyball's own among them, and which kinds live outside namespaces.
func Scope(namespace string, clusterScoped func(schema.GroupKind) bool) target.Scope {
	protected := sets.New("kube-system", "kube-public", "kube-node-lease")
	if namespace != "" {
		protected.Insert(namespace)
	}
	return target.Scope{Protected: protected, ClusterScoped: clusterScoped}
}
