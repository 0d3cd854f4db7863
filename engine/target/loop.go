// Package target brings every target to what its policies agree on. A loop of workers takes targets from a queue, decides anew
// for each from what is observed now, and writes at most one patch. Whatever happens (an object, a namespace, a policy, an
// adapter changes; an instant comes) ends in targets being queued. Package decide decides; this package carries out.
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
	"flyball.dev/flyball/engine/cost"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/resize"
	"flyball.dev/flyball/engine/savings"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/tuning"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

var (
	// ErrSoon asks for another look in a moment.
	ErrSoon = errors.New("look again in a moment")
	// errBehind says that the object has changed, or gone, since it was read: the watch brings what it is now.
	errBehind = errors.New("the watch is behind")
	// errQueued says that the target has been queued again already.
	errQueued = errors.New("queued already")
)

// Templates keeps the objects that policies want to exist.
type Templates interface {
	// Keep makes an object that a template asks for, if it is missing, and keeps the template's fields in place. It reports
	// whether it has changed the object, which the watch then brings back. With an error and missing, there is nothing to
	// decide about either.
	Keep(ctx context.Context, ref workload.Ref) (changed, missing bool, err error)
	// Failure says why an object could not be made or kept for a policy; empty: nothing is wrong.
	Failure(ref workload.Ref, id workload.Policy) string
	// WantedBy lists the policies that want an object to exist.
	WantedBy(ref workload.Ref) []*world.Policy
	// Follow takes over a change of policies and lists the objects concerned.
	Follow(c world.PolicyChange) []workload.Ref
	// OfKind lists the objects of a kind that policies want.
	OfKind(k *world.Kind) []workload.Ref
}

// Pods are what orders the pods of targets for deletion.
type Pods interface {
	// Decided takes note of a target that was decided: claimed says that its pods are to get deletion costs.
	Decided(ref workload.Ref, claimed bool)
	// Note is what has become of the pods of a target.
	Note(ref workload.Ref) cost.Note
}

// Resized are the pods of targets that are changed in place.
type Resized interface {
	// Decided takes note of a target that was decided.
	Decided(ref workload.Ref, v *decide.Verdict)
	// Note is what has become of the pods of a target.
	Note(ref workload.Ref) resize.Note
	// IsRestarting says whether changes that were made may still restart pods of a target.
	IsRestarting(ref workload.Ref) bool
}

// Budgets are the PodDisruptionBudgets, LimitRanges and ResourceQuotas of the cluster.
type Budgets interface {
	// Ask says what keeps pods of a target from being restarted now; empty: nothing does. The target is asked for again when that changes. more
	// says that it is to get more memory. template has the requests and limits of the pods that are to take their place; nil: none does.
	Ask(ctx context.Context, ref workload.Ref, more bool, template workload.Allocations) (waits string)
	// Waits says what a target waits for since it was last asked for.
	Waits(ref workload.Ref) string
	// Forget drops what is known of a target.
	Forget(ref workload.Ref)
}

// Tuned are the targets that policies tune.
type Tuned interface {
	// Note is what is to be said of a target.
	Note(ref workload.Ref) tuning.Note
	// Targets is how many targets a policy tunes.
	Targets(id workload.Policy) int
}

// Keeper keeps an adapter from being deleted, and knows its rights.
type Keeper interface {
	// PutFinalizer sees to it that the adapter of a kind cannot go while something has to be given back through it.
	PutFinalizer(ctx context.Context, k *decide.Kind) error
	// Forbidden has the adapter of a kind look at its rights again: a write was forbidden.
	Forbidden(k *decide.Kind)
}

// Options say how a Loop runs. The zero value of a field means its default.
type Options struct {
	// Clock tells the time by which policies are decided. Default: the machine's.
	Clock clock.WithTicker
	// Workers is the number of targets worked on at once. Default: 16.
	Workers int
	// RetryMin and RetryMax bound the pause before a failed write is tried again. Defaults: 250 ms and 10 s: what was in the way
	// may be gone, and half a minute later everything is to be as it should be.
	RetryMin, RetryMax time.Duration
	// Log gets structured lines. Default: none.
	Log logr.Logger
	// Savings takes note of what policies save. Default: nobody reads it.
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
		o.Savings = savings.NewBook(o.Clock, func(workload.Policy) bool { return false })
	}
}

// Loop keeps every target of every policy where it should be.
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
	// lagging says how long to wait for the watch to bring what an object is now.
	lagging   workqueue.TypedRateLimiter[workload.Ref]
	obstacles *obstacles
	unseen    *unseen
	// rollouts lets some targets of a policy at once roll out what was tuned.
	rollouts *apply.Rollouts
	// frozen are the targets, as workload.Ref, whose writes wait for a freeze to end. They are looked at again when policies change.
	frozen sync.Map
	// started is true once everything has been looked at for the first time and targets are worked on.
	started atomic.Bool
}

// New makes a Loop. It hears of changes of the world from now on, and works once it runs.
func New(w *world.World, writer *apply.Writer, batches *apply.Batches, st *status.Writer, templates Templates, keeper Keeper, m *Metrics, opts Options) *Loop {
	opts.setDefaults()
	l := &Loop{
		opts: opts, world: w, writer: writer, batches: batches, status: st, templates: templates, keeper: keeper, metrics: m,
		timer: newTimer(opts.Clock), drift: newDrift(), unseen: newUnseen(),
		queue:   workqueue.NewTypedRateLimitingQueue(newBackoff(opts.RetryMin, opts.RetryMax)),
		lagging: newBackoff(behindMin, opts.RetryMax),
	}
	l.obstacles = newObstacles(opts.RetryMin, opts.RetryMax, l.queue.AddAfter)
	l.rollouts = apply.NewRollouts(l.Queue)
	st.Follow(l)
	w.Observe(l)
	return l
}

// FollowPods says who orders the pods of targets. It must be called before Run.
func (l *Loop) FollowPods(p Pods) { l.pods = p }

// FollowResized says who changes pods in place. It must be called before Run.
func (l *Loop) FollowResized(r Resized) { l.resized = r }

// FollowBudgets says who knows which pods may be restarted. It must be called before Run.
func (l *Loop) FollowBudgets(b Budgets) { l.budgets = b }

// FollowTuned says who tunes targets. It must be called before Run.
func (l *Loop) FollowTuned(t Tuned) { l.tuned = t }

// CountFault counts a target that could not be worked on because of a fault in Flyball.
func (l *Loop) CountFault() { l.metrics.panics.Inc() }

// Started says whether targets are worked on: everything has been looked at for the first time.
func (l *Loop) Started() bool { return l.started.Load() }

// Run works until the context ends; a write in flight is then finished before it returns. Batches that an earlier run has
// recorded count as used up.
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
		// A write that is under way is finished.
		Process: func(ctx context.Context, ref workload.Ref) error { return l.process(context.WithoutCancel(ctx), ref) },
		Fault: func(ref workload.Ref, err error) {
			l.CountFault()
			l.countAsFailed(ref, err)
		},
	}.Run(ctx, l.opts.Workers)
	wg.Wait()
}

// Stop drops what is queued. It is for a Loop that does not run.
func (l *Loop) Stop() { l.queue.ShutDown() }

// Queue has targets looked at.
func (l *Loop) Queue(refs ...workload.Ref) {
	for _, ref := range refs {
		l.queue.Add(ref)
	}
}

// handleResult queues a target again as what came of it asks for.
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

// Retry looks again at every object of a kind, without the pauses that failures have brought: the API server is back.
func (l *Loop) Retry(k *world.Kind) {
	l.obstacles.ForgetKind(k.GroupKind)
	k.Live.Range(func(obj *workload.Object) bool {
		ref := k.Ref(obj)
		l.queue.Forget(ref)
		l.queue.Add(ref)
		return true
	})
}

// fire looks again at what instants were set for. Transitions begin before anything follows from them, and no status is
// written in between that counts as settled what has still to be looked at.
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
