// Package reconcile brings every target to the plan of its policies. Workers take targets from a queue, decide about
// each from the current state, and write at most one patch. Every event only queues targets: a change of an object, a
// namespace, a policy or an adapter, or an instant that has come. Package decide makes the decisions, and this
// package executes them. It also keeps the objects of policies' templates (template_keeper.go).
//
// Decisions (docs/decisions): 0011, 0026.
package reconcile

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/reconcile/gate"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
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
	OfKind(k *world.LiveKind) []workload.Ref
}

// AdapterProtector protects adapters from deletion and checks their rights.
type AdapterProtector interface {
	gate.Protector
	// Forbidden starts a new check of the adapter's rights after a forbidden write.
	Forbidden(k *decide.Kind)
}

// Options configure a Loop.
type Options struct {
	World     *world.World
	Queue     *Queue
	Actuators Actuators
	// Gates are further gates of each write, after the gate of obstacles.
	Gates     []gate.Gate
	Writer    *apply.Writer
	Batches   *apply.Batches
	Tracker   *status.Tracker
	Status    *status.Writer
	Templates Templates
	Keeper    AdapterProtector
	Metrics   *Metrics
	// Savings records the savings of policies.
	Savings *status.Savings
	// Clock is the clock for decisions.
	Clock clock.PassiveClock
	// Workers is the number of targets that are processed at once. The default is 16.
	Workers int
	// Log receives structured lines. By default there is no log.
	Log logr.Logger
}

// Loop keeps every target of every policy at its plan.
type Loop struct {
	*Queue
	opts      Options
	writer    *apply.Writer
	batches   *apply.Batches
	status    *status.Writer
	templates Templates
	keeper    AdapterProtector
	actuators Actuators
	metrics   *Metrics

	// gates are the gates of a write, and openings those of an autoscaler that is opened before its target is written.
	gates, openings gate.Chain
	freeze          *gate.Freeze
	contest         *gate.Contest
	batch           *gate.Batch
	inflight        *gate.Inflight
}

// New returns a Loop. The Loop observes all later changes of the world. It processes targets only while Run runs.
func New(opts Options) *Loop {
	if opts.Workers == 0 {
		opts.Workers = defaultWorkers
	}
	l := &Loop{
		Queue: opts.Queue, opts: opts, writer: opts.Writer, batches: opts.Batches, status: opts.Status, templates: opts.Templates,
		keeper: opts.Keeper, actuators: opts.Actuators, metrics: opts.Metrics, freeze: &gate.Freeze{}, contest: gate.NewContest(),
		batch: gate.NewBatch(opts.World, opts.Batches), inflight: gate.NewInflight(),
	}
	l.obstacle.Log = opts.Log
	l.setGates()
	opts.World.Observe(l)
	return l
}

// defaultWorkers is the number of targets that are processed at once unless the options say otherwise.
const defaultWorkers = 16

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
	wg.Go(func() { l.actuators.Run(ctx) })
	workers.Pool{
		Queue: l.queue, Settle: l.handleResult, Log: l.opts.Log,
		// The end of the context does not interrupt a write in flight.
		Process: func(ctx context.Context, ref workload.Ref) error { return l.process(context.WithoutCancel(ctx), ref) },
		Fault: func(ref workload.Ref, err error) {
			l.metrics.CountFault()
			l.countAsFailed(ref, err)
		},
	}.Run(ctx, l.opts.Workers)
	wg.Wait()
}

// handleResult queues a target again according to the result of its processing.
func (l *Loop) handleResult(ref workload.Ref, err error) {
	switch {
	case err == nil:
		l.queue.Forget(ref)
		l.lagging.Forget(ref)
	case errors.Is(err, gate.ErrQueued):
	case errors.Is(err, gate.ErrSoon):
		l.queue.AddAfter(ref, 50*time.Millisecond)
	case errors.Is(err, gate.ErrBehind):
		l.queue.AddAfter(ref, l.lagging.When(ref))
	default:
		workers.LogFailure(l.opts.Log, l.queue, ref, err)
		l.queue.AddRateLimited(ref)
	}
}
