// Package target brings every target to the plan of its policies. Workers take targets from a queue, decide about
// each from the current state, and write at most one patch. Every event only queues targets: a change of an object, a
// namespace, a policy or an adapter, or an instant that has come. Package decide makes the decisions, and this
// package executes them.
//
// Decisions (docs/decisions): 0026.
package target

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/pods/cost"
	"flyball.dev/flyball/engine/pods/resize"
	"flyball.dev/flyball/engine/savings"
	"flyball.dev/flyball/engine/savings/worth"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/tuning"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

var (
	// ErrSoon requests another look after a short pause.
	ErrSoon = errors.New("look again in a moment")
	// errBehind is the error for an object that was changed or deleted since it was read. The watch will deliver the
	// change.
	errBehind = errors.New("the watch is behind")
	// errQueued is the error for a target that is already queued again.
	errQueued = errors.New("queued already")
)

// Templates keeps the objects created from policies' templates.
type Templates interface {
	// Keep creates a missing object of a template and keeps the template's fields. changed is true if the object was
	// changed. The watch will deliver the change. missing is true if the object does not exist. With an error or a
	// missing object, there is nothing to decide.
	Keep(ctx context.Context, ref workload.Ref) (changed, missing bool, err error)
	// Failure returns the reason why an object could not be created or kept for a policy, or "" without a failure.
	Failure(ref workload.Ref, id workload.Policy) string
	// WantedBy returns the policies with a template for an object.
	WantedBy(ref workload.Ref) []*world.Policy
	// Follow applies a change of a policy and returns the affected objects.
	Follow(c world.PolicyChange) []workload.Ref
	// OfKind returns the objects of a kind created from templates.
	OfKind(k *world.Kind) []workload.Ref
}

// Pods orders the pods of targets for deletion.
type Pods interface {
	// Decided records a decision about a target. claimed is true if the target's pods shall get deletion costs.
	Decided(ref workload.Ref, claimed bool)
	// Note returns the state of a target's pods.
	Note(ref workload.Ref) cost.PodStatus
}

// Resized changes the pods of targets in place.
type Resized interface {
	// Decided records a decision about a target.
	Decided(ref workload.Ref, v *decide.Verdict)
	// Note returns the state of a target's pods.
	Note(ref workload.Ref) resize.Note
	// IsRestarting reports whether earlier changes may still restart pods of a target.
	IsRestarting(ref workload.Ref) bool
}

// Budgets are the PodDisruptionBudgets, LimitRanges and ResourceQuotas of the cluster.
type Budgets interface {
	// Ask returns the obstacle to restarting a target's pods now, or "" if there is none. The target is queued when the
	// obstacle may be gone. more is true if the target gets more memory. template has the requests and limits of the
	// replacement pods. It is nil if pods are not replaced.
	Ask(ctx context.Context, ref workload.Ref, more bool, template workload.Allocations) (waits string)
	// Waits returns the obstacle found by the last Ask for a target.
	Waits(ref workload.Ref) string
	// Forget drops all records about a target.
	Forget(ref workload.Ref)
}

// Tuned are the targets of tuning policies.
type Tuned interface {
	// Note returns the state of tuning for a target.
	Note(ref workload.Ref) tuning.Note
	// Targets returns the number of targets tuned by a policy.
	Targets(id workload.Policy) int
}

// Keeper protects adapters from deletion and checks their rights.
type Keeper interface {
	// PutFinalizer adds the finalizer to the adapter of a kind, so that the adapter stays while something has to be
	// restored through it.
	PutFinalizer(ctx context.Context, k *decide.Kind) error
	// Forbidden starts a new check of the adapter's rights after a forbidden write.
	Forbidden(k *decide.Kind)
}

// Options configure a Loop. The zero value of a field means its default.
type Options struct {
	// Clock is the clock for decisions. The default is the machine's clock.
	Clock clock.WithTicker
	// Workers is the number of targets that are processed at once. The default is 16.
	Workers int
	// RetryMin and RetryMax are the limits of the pause before a failed write is retried. The defaults are 250 ms and 10
	// s, so every target is right within half a minute after an obstacle is gone.
	RetryMin, RetryMax time.Duration
	// Log receives structured lines. By default there is no log.
	Log logr.Logger
	// Savings records the savings of policies. By default they are not recorded.
	Savings *savings.Book
}

func (o *Options) setDefaults() {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Workers == 0 {
		o.Workers = 16
	}
	if o.RetryMin == 0 {
		o.RetryMin = 250 * time.Millisecond
	}
	if o.RetryMax == 0 {
		o.RetryMax = 10 * time.Second
	}
	if o.Savings == nil {
		o.Savings = savings.NewBook(o.Clock, worth.Rates{}, func(workload.Policy) bool { return false })
	}
}

// Loop keeps every target of every policy at its plan.
type Loop struct {
	opts      Options
	world     *world.World
	writer    *apply.Writer
	batches   *apply.Batches
	status    *status.Writer
	templates Templates
	keeper    Keeper
	pods      Pods
	tuned     Tuned
	resized   Resized
	budgets   Budgets
	metrics   *Metrics

	timer *timer
	drift *drift
	queue workqueue.TypedRateLimitingInterface[workload.Ref]
	// lagging gives the pauses after errBehind, while the watch has not delivered an object's current form.
	lagging   workqueue.TypedRateLimiter[workload.Ref]
	obstacles *obstacles
	unseen    *inflight
	// orders keeps the targets that wait for waves.
	orders *orders
	// rollouts limits how many targets of a policy roll out tuned values at the same time.
	rollouts *apply.Rollouts
	// frozen has the targets (workload.Ref) that wait for the end of a freeze. They are queued when an input of
	// admission verdicts changes.
	frozen sync.Map
	// started becomes true when Run begins, after all targets were queued.
	started atomic.Bool
}

// New returns a Loop. The Loop observes all later changes of the world. It processes targets only while Run runs.
func New(w *world.World, writer *apply.Writer, batches *apply.Batches, st *status.Writer, templates Templates, keeper Keeper, m *Metrics,
	opts Options) *Loop {
	opts.setDefaults()
	l := &Loop{
		opts: opts, world: w, writer: writer, batches: batches, status: st, templates: templates, keeper: keeper, metrics: m,
		timer: newTimer(opts.Clock), drift: newDrift(), unseen: newInflight(), orders: &orders{},
		queue:   workqueue.NewTypedRateLimitingQueue(newBackoff(opts.RetryMin, opts.RetryMax)),
		lagging: newBackoff(behindMin, opts.RetryMax),
	}
	l.obstacles = newObstacles(opts.RetryMin, opts.RetryMax, l.queue.AddAfter)
	l.rollouts = apply.NewRollouts(l.Queue)
	st.Follow(l)
	st.FollowOrders(l.orders)
	w.Observe(l)
	return l
}

// FollowPods sets the component that orders pods for deletion. It must be called before Run.
func (l *Loop) FollowPods(p Pods) { l.pods = p }

// FollowResized sets the component that changes pods in place. It must be called before Run.
func (l *Loop) FollowResized(r Resized) { l.resized = r }

// FollowBudgets sets the component that checks whether pods may be restarted. It must be called before Run.
func (l *Loop) FollowBudgets(b Budgets) { l.budgets = b }

// FollowTuned sets the component that tunes targets. It must be called before Run.
func (l *Loop) FollowTuned(t Tuned) { l.tuned = t }

// CountFault counts a target that could not be worked on because of a fault in Flyball.
func (l *Loop) CountFault() { l.metrics.panics.Inc() }

// Started reports whether the workers run and all targets were queued.
func (l *Loop) Started() bool { return l.started.Load() }

// Run processes targets until the context ends. It finishes writes in flight before it returns. Batches recorded by
// an earlier run count as full.
func (l *Loop) Run(ctx context.Context) {
	for p := range l.world.Snapshot().Policies {
		l.resumeBatches(p)
	}
	l.started.Store(true)
	var wg sync.WaitGroup
	wg.Go(func() { l.timer.Run(ctx, l.fire) })
	wg.Go(func() { l.status.Run(ctx) })
	wg.Go(func() { l.followFreezes(ctx) })
	workers.Loop{
		Queue: l.queue, Settle: l.handleResult, Log: l.opts.Log,
		// The end of the context does not interrupt a write in flight.
		Process: func(ctx context.Context, ref workload.Ref) error { return l.process(context.WithoutCancel(ctx), ref) },
		Fault: func(ref workload.Ref, err error) {
			l.CountFault()
			l.countAsFailed(ref, err)
		},
	}.Run(ctx, l.opts.Workers)
	wg.Wait()
}

// Stop shuts down the queue of a Loop whose Run is never called.
func (l *Loop) Stop() { l.queue.ShutDown() }

// Queue queues targets.
func (l *Loop) Queue(refs ...workload.Ref) {
	for _, ref := range refs {
		l.queue.Add(ref)
	}
}

// handleResult queues a target again according to the result of its processing.
func (l *Loop) handleResult(ref workload.Ref, err error) {
	switch {
	case err == nil:
		l.queue.Forget(ref)
		l.lagging.Forget(ref)
	case errors.Is(err, errQueued):
	case errors.Is(err, ErrSoon):
		l.queue.AddAfter(ref, 50*time.Millisecond)
	case errors.Is(err, errBehind):
		l.queue.AddAfter(ref, l.lagging.When(ref))
	default:
		workers.LogFailure(l.opts.Log, l.queue, ref, err)
		l.queue.AddRateLimited(ref)
	}
}

// Retry queues every object of a kind without the pauses of earlier failures, because the API server answers again.
func (l *Loop) Retry(k *world.Kind) {
	l.obstacles.ForgetKind(k.GroupKind)
	k.Live.Range(func(obj *workload.Object) bool {
		ref := k.Ref(obj)
		l.queue.Forget(ref)
		l.queue.Add(ref)
		return true
	})
}

// fire handles due instants. It first records the transitions that have begun, then marks the due targets as pending
// and queues them, and only then requests status writes. So no status counts a target as settled before the target is
// decided.
func (l *Loop) fire(due []key) {
	targets := make([]workload.Ref, 0, len(due))
	for _, k := range due {
		if k.policy == (workload.Policy{}) {
			targets = append(targets, k.target)
			continue
		}
		l.status.Began(k.policy)
	}
	l.status.Book.Await(targets)
	l.Queue(targets...)
	for _, k := range due {
		if k.policy != (workload.Policy{}) {
			l.status.Dirty(k.policy)
		}
	}
}

// SetTransition implements status.Transitions.
func (l *Loop) SetTransition(id workload.Policy, at time.Time) { l.timer.Set(key{policy: id}, at) }

// FireDue implements status.Transitions.
func (l *Loop) FireDue() { l.timer.fireDue(l.fire) }
