// Package cost sets the deletion costs of pods as the merged policies ask. Workers take targets from a queue. For each
// target they decide, let the winning policy plan, and write within the policy's budget. A cost set by Flyball is
// removed if no plan has it any more. All durable state is on the pods.
//
// Decisions (docs/decisions): 0035.
package cost

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/pods"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/reconcile/gate"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// PodsWithCosts returns the pods of targets.
type PodsWithCosts interface {
	pods.Index
	// Need starts watches of pods and of nodes with the given labels; Drop ends them.
	Need(ctx context.Context, labels []string) error
	Drop()
	// Costed returns all owners, direct and indirect, of pods with a cost of Flyball. CostedPods returns the pods with
	// such a cost that an object owns directly, finished pods included.
	Costed() []workload.Ref
	CostedPods(ref workload.Ref) []*workload.Pod
	// Relink looks up the owner of an object again. Refresh looks up the owners of all objects again, after more kinds
	// have become known.
	Relink(ref workload.Ref)
	Refresh()
}

// Callbacks is notified of the results for targets.
type Callbacks struct {
	// Requeue queues targets of the main loop, which updates their marks. Dirty schedules a new look at the
	// status of a policy.
	Requeue func(refs ...workload.Ref)
	Dirty   func(workload.Policy)
	// Fault counts a target that could not be worked on because of a fault in Flyball.
	Fault func()
}

// calm is the pause of a target after a change, so that simultaneous changes are planned together.
const calm = 500 * time.Millisecond

// Actuator keeps the deletion costs of pods up to date.
type Actuator struct {
	base *pods.Skeleton
	// clock is the clock for pods: the cluster's time, even if policies are decided at another time.
	clock    clock.PassiveClock
	log      logr.Logger
	world    *world.World
	members  PodsWithCosts
	audience Callbacks
	keeper   gate.Protector
	metrics  *Metrics

	queue   workqueue.TypedRateLimitingInterface[workload.Ref]
	needs   chan struct{}
	book    *book
	written *written
	// leaving is true while pods are watched only to remove costs.
	leaving atomic.Bool
}

// New returns an Actuator. It observes the world from now on, and works after Run.
func New(w *world.World, m PodsWithCosts, writer pods.Writer, a Callbacks, k gate.Protector, metrics *Metrics, log logr.Logger) *Actuator {
	base := pods.NewSkeleton(m, writer, calm)
	l := &Actuator{
		base: base, clock: clock.RealClock{}, log: log, world: w, members: m, audience: a, keeper: k, metrics: metrics, queue: base.Queue,
		needs: make(chan struct{}, 1), book: newBook(), written: newWritten(),
	}
	m.Observe(l)
	w.Observe(l)
	return l
}

// Run works until the context ends. It starts with the number of writes in the last hour that the status of each policy
// has.
func (l *Actuator) Run(ctx context.Context) {
	for p := range l.world.Snapshot().Policies {
		if p.PodOrderer != nil {
			l.resume(p)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { l.followNeeds(ctx) })
	wg.Go(func() { l.age(ctx) })
	l.base.Run(ctx, l.process, l.fault, l.log)
	wg.Wait()
	l.members.Drop()
}

// Decided implements reconcile.Actuator.
func (l *Actuator) Decided(ref workload.Ref, v *decide.Verdict) {
	claimed := v.Plan.DeletionCosts != nil
	l.members.Relink(ref)
	news := l.book.claim(ref, claimed, l.isGoing(ref), l.clock.Now())
	if news {
		l.queueBelow(ref)
	}
	if news || claimed {
		l.queue.Add(ref)
	}
}

// isGoing reports whether a target was deleted or is being deleted.
func (l *Actuator) isGoing(ref workload.Ref) bool {
	snapshot := l.world.Snapshot()
	obj := snapshot.Object(ref)
	return obj == nil || obj.Deleting || snapshot.Namespace(ref.Namespace).Terminating
}

// queueBelow queues all objects between a target and its pods.
func (l *Actuator) queueBelow(ref workload.Ref) {
	for _, group := range l.members.Groups(ref) {
		l.queue.Add(group)
		between, _ := l.members.Above(group)
		l.base.Add(between...)
	}
}

// MembersChanged implements pods.Listener.
func (l *Actuator) MembersChanged(refs []workload.Ref) {
	l.base.Calm(refs...)
	if l.leaving.Load() {
		workers.Poke(l.needs)
	}
}

// MembersSettled implements pods.Listener.
func (l *Actuator) MembersSettled() { l.base.Add(append(l.book.claimed(), l.members.Costed()...)...) }

// unknownRetry is the pause before the reason for unknown pods is reported again.
const unknownRetry = 5 * time.Second

// process brings the costs of a target's pods to its plan. It returns an error if the work must be retried.
func (l *Actuator) process(ctx context.Context, ref workload.Ref) error {
	p := l.claimOn(ref)
	f, known := l.members.Fleet(ref)
	switch {
	case !known && p == nil:
		return nil
	case !known:
		l.setNote(ref, p, PodStatus{Waiting: "the pods are not known yet", Failure: l.members.Trouble()})
		l.queue.AddAfter(ref, unknownRetry) // to report the obstacle; once the pods are known, the target is queued at once
		return nil
	case p == nil:
		l.forget(ref)
		return l.clean(ctx, ref)
	}
	if by, above := l.claimedAbove(ref); above != nil {
		l.book.setStats(ref, p.ID, stats{})
		l.setNote(ref, p, PodStatus{Yields: fmt.Sprintf("its pods are ordered with all pods of %s, by %s", by, above.ID)})
		return nil
	}
	return l.carryOut(ctx, ref, p, f)
}

// fault records a panic.
func (l *Actuator) fault(ref workload.Ref, err error) {
	l.audience.Fault()
	defer func() { _ = recover() }() // the decision itself may panic again
	if p := l.claimOn(ref); p != nil {
		l.setNote(ref, p, PodStatus{Failure: "a fault in Flyball, please report it: " + err.Error()})
	}
}

// claimedAbove returns the topmost owner of a target that has a claim for costs, because the claim applies to the
// target's pods as well. It returns a nil policy if no owner has a claim.
func (l *Actuator) claimedAbove(ref workload.Ref) (by workload.Ref, p *world.Policy) {
	above, _ := l.members.Above(ref)
	for _, owner := range slices.Backward(above) {
		if p := l.claimOn(owner); p != nil {
			return owner, p
		}
	}
	return workload.Ref{}, nil
}

// claimOn returns the policy with the winning claim for the costs of a target's pods; nil: none.
func (l *Actuator) claimOn(ref workload.Ref) *world.Policy {
	snapshot := l.world.Snapshot()
	v := decide.Target(snapshot, ref, l.clock.Now(), nil)
	if v.Plan.DeletionCosts == nil {
		return nil
	}
	if p := snapshot.Find(v.Plan.DeletionCosts.By); p != nil && p.PodOrderer != nil {
		return p
	}
	return nil
}

// carryOut plans for a target and writes within the budget.
func (l *Actuator) carryOut(ctx context.Context, ref workload.Ref, p *world.Policy, f *workload.Fleet) error {
	now, orderer := l.clock.Now(), p.PodOrderer
	l.written.setCostsIn(f, now)
	plan := orderer.PlanCosts(f, now)
	if !plan.Again.IsZero() {
		l.queue.AddAfter(ref, plan.Again.Sub(now))
	}
	n := PodStatus{Foreign: foreignIn(f)}
	if plan.RollingOut {
		n.Waiting = "a roll-out is under way"
	}
	l.book.setStats(ref, p.ID, statsOf(f, orderer.NodeLabels()[0], now))
	if kind := l.world.Snapshot().Kind(ref.GroupKind); kind != nil && len(plan.Changes) > 0 {
		if err := l.keeper.PutFinalizer(ctx, kind); err != nil {
			l.setNote(ref, p, PodStatus{Failure: err.Error(), Foreign: n.Foreign})
			return err
		}
	}
	n, err := l.setAll(ctx, ref, p, plan.Changes, n)
	l.setNote(ref, p, n)
	return err
}

// setNote records the result for a target and publishes a change.
func (l *Actuator) setNote(ref workload.Ref, p *world.Policy, n PodStatus) {
	n.Policy = p.ID
	before, news := l.book.setStatus(ref, n)
	if news {
		l.audience.Requeue(ref)
	}
	if before != p.ID && before != (workload.Policy{}) {
		l.audience.Dirty(before) // its status may still count the target's pods
	}
	l.audience.Dirty(p.ID)
}

// forget drops a target without a claim for costs.
func (l *Actuator) forget(ref workload.Ref) {
	if id, was := l.book.drop(ref); was {
		l.audience.Requeue(ref)
		l.audience.Dirty(id)
	}
}

// Mark implements reconcile.Actuator. It adds the state of a target's pods to the result of the policy that orders them.
func (l *Actuator) Mark(ref workload.Ref, _ []decide.Opinion, results []status.TargetResult) {
	n := l.book.statusOf(ref)
	for i := range results {
		r := &results[i]
		if r.Policy != n.Policy || r.State != status.Set {
			continue
		}
		r.Failure, r.Waiting, r.Contested = n.Failure, n.Waiting, n.Contested()
		switch {
		case n.Yields != "":
			r.State, r.Override = status.Overridden, n.Yields
		case n.Failure != "":
			r.State = status.Failed
		case n.Waiting != "":
			r.State = status.Pending
		}
	}
}

// resume counts the writes of the last hour in a policy's status, unless the policy's writes are counted already.
func (l *Actuator) resume(p *world.Policy) {
	writes, last := p.PodOrderer.Told(p.Object)
	l.book.resume(p.ID, writes, last)
}

// Report implements reconcile.Actuator. The first status may be written before Run begins.
func (l *Actuator) Report(p *world.Policy, obj policy.Object) (reason, message string) {
	if p.PodOrderer != nil {
		l.resume(p)
		s := l.book.summary(p.ID, l.clock.Now())
		l.metrics.publish(p.ID, s)
		p.PodOrderer.FillPods(obj, s)
	}
	return "", ""
}

// age schedules a new look at statuses with writes older than an hour.
func (l *Actuator) age(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Minute):
		}
		for _, id := range l.book.aged(l.clock.Now()) {
			l.audience.Dirty(id)
		}
	}
}
