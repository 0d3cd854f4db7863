// Package cost gives the pods of targets the deletion costs that the policies agreed on ask for. A loop of workers takes targets from a
// queue. For each it decides anew, has the policy that won plan, and writes within the budget of that policy. Costs of Flyball
// that no plan speaks of are removed. Nothing is remembered that is not on the pods.
package cost

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/fleet"
	"flyball.dev/flyball/engine/poke"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Members knows the pods of targets.
type Members interface {
	// Need has pods and nodes watched with those labels of nodes; Drop ends that.
	Need(ctx context.Context, labels []string) error
	Drop()
	// Fleet gives the active pods of a target; false: not everything is known yet.
	Fleet(ref workload.Ref) (*fleet.Fleet, bool)
	// Costed lists what owns a pod with a cost of Flyball, however far above it, and CostedPods such pods that an object owns directly, also
	// those that have finished. Groups lists what owns pods directly below a target, and Above what owns an object; it is sure where there can
	// be no others.
	Costed() []workload.Ref
	CostedPods(ref workload.Ref) []*fleet.Pod
	Groups(ref workload.Ref) []workload.Ref
	Above(ref workload.Ref) (refs []workload.Ref, sure bool)
	// Look finds the owner of an object again, and Refresh those of all after more kinds have come to be known.
	Look(ref workload.Ref)
	Refresh()
	// Trouble says why not everything is known.
	Trouble() string
}

// Writer sends patches.
type Writer interface {
	Apply(ctx context.Context, resource schema.GroupVersionResource, obj *workload.Object, patch *workload.Patch) (apply.Outcome, error)
}

// Audience hears of what has become of targets.
type Audience struct {
	// Requeue has a target told of anew under its policies. Dirty has the status of a policy looked at again.
	Requeue func(refs ...workload.Ref)
	Dirty   func(workload.Policy)
	// Fault counts a target that could not be worked on because of a fault in Flyball.
	Fault func()
}

// Keeper keeps an adapter from being deleted.
type Keeper interface {
	// PutFinalizer sees to it that the adapter of a kind cannot go while something has to be given back through it.
	PutFinalizer(ctx context.Context, k *decide.Kind) error
}

const (
	// parallel is the number of targets worked on at once.
	parallel = 4
	// calm is how long a target waits after a change, so that changes that come together are planned together.
	calm = 500 * time.Millisecond
)

// Loop keeps the deletion costs of pods as they should be.
type Loop struct {
	// clock tells the time by which pods are judged: that of the cluster, whatever policies are decided by.
	clock    clock.PassiveClock
	log      logr.Logger
	world    *world.World
	members  Members
	writer   Writer
	audience Audience
	keeper   Keeper
	metrics  *Metrics

	queue   workqueue.TypedRateLimitingInterface[workload.Ref]
	needs   chan struct{}
	book    *book
	written *written
	// leaving is true while pods are watched only because there are costs to be removed.
	leaving atomic.Bool
}

// New makes a Loop. It hears of changes of the world from now on, and works once it runs.
func New(w *world.World, m Members, writer Writer, a Audience, k Keeper, metrics *Metrics, log logr.Logger) *Loop {
	l := &Loop{
		clock: clock.RealClock{}, log: log, world: w, members: m, writer: writer, audience: a, keeper: k, metrics: metrics,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[workload.Ref](time.Second, time.Minute)),
		needs: make(chan struct{}, 1), book: newBook(), written: newWritten(),
	}
	w.Observe(l)
	return l
}

// Run works until the context ends. What statuses tell of the last hour goes on to count.
func (l *Loop) Run(ctx context.Context) {
	for p := range l.world.Snapshot().Policies {
		if o := p.PodOrderer(); o != nil {
			writes, last := o.Told(p.Object)
			l.book.resume(p.ID, writes, last)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { l.followNeeds(ctx) })
	wg.Go(func() { l.age(ctx) })
	workers.Loop{Queue: l.queue, Process: l.process, Fault: l.fault, Log: l.log}.Run(ctx, parallel)
	wg.Wait()
	l.members.Drop()
}

// Decided takes note of a target that was decided: claimed says that its pods are to get costs.
func (l *Loop) Decided(ref workload.Ref, claimed bool) {
	l.members.Look(ref)
	news := l.book.claim(ref, claimed, l.isGoing(ref), l.clock.Now())
	if news {
		l.queueBelow(ref)
	}
	if news || claimed {
		l.queue.Add(ref)
	}
}

// isGoing says whether a target is gone, or about to be.
func (l *Loop) isGoing(ref workload.Ref) bool {
	snapshot := l.world.Snapshot()
	obj := snapshot.Object(ref)
	return obj == nil || obj.Deleting || snapshot.Namespace(ref.Namespace).Terminating
}

// queueBelow has everything looked at that lies between a target and its pods.
func (l *Loop) queueBelow(ref workload.Ref) {
	for _, group := range l.members.Groups(ref) {
		l.queue.Add(group)
		between, _ := l.members.Above(group)
		for _, ref := range between {
			l.queue.Add(ref)
		}
	}
}

// MembersChanged implements members.Listener.
func (l *Loop) MembersChanged(refs []workload.Ref) {
	for _, ref := range refs {
		l.queue.AddAfter(ref, calm)
	}
	if l.leaving.Load() {
		poke.Poke(l.needs)
	}
}

// MembersSettled implements members.Listener.
func (l *Loop) MembersSettled() {
	for _, ref := range append(l.book.claimed(), l.members.Costed()...) {
		l.queue.Add(ref)
	}
}

// unknownRetry is the pause after which it is told again why pods are not known.
const unknownRetry = 5 * time.Second

// process brings the costs of the pods of one target to what its policies agree on. It returns an error when it has to be tried again.
func (l *Loop) process(ctx context.Context, ref workload.Ref) error {
	p := l.claimOn(ref)
	f, known := l.members.Fleet(ref)
	switch {
	case !known && p == nil:
		return nil
	case !known:
		l.setNote(ref, p, Note{Waiting: "the pods are not known yet", Failure: l.members.Trouble()})
		l.queue.AddAfter(ref, unknownRetry) // to tell of what stands in the way; once they are known it comes at once
		return nil
	case p == nil:
		l.forget(ref)
		return l.clean(ctx, ref)
	}
	if by, above := l.claimedAbove(ref); above != nil {
		l.book.setStats(ref, p.ID, stats{})
		l.setNote(ref, p, Note{Yields: fmt.Sprintf("its pods are ordered with all pods of %s, by %s", by, above.ID)})
		return nil
	}
	return l.carryOut(ctx, ref, p, f)
}

// fault takes note of a panic.
func (l *Loop) fault(ref workload.Ref, err error) {
	l.audience.Fault()
	defer func() { _ = recover() }() // deciding may be what panics
	if p := l.claimOn(ref); p != nil {
		l.setNote(ref, p, Note{Failure: "a fault in Flyball, please report it: " + err.Error()})
	}
}

// claimedAbove finds the object furthest above a target whose pods are to have costs: they include those of the target. Without one the policy
// is nil.
func (l *Loop) claimedAbove(ref workload.Ref) (by workload.Ref, p *world.Policy) {
	above, _ := l.members.Above(ref)
	for _, owner := range slices.Backward(above) {
		if p := l.claimOn(owner); p != nil {
			return owner, p
		}
	}
	return workload.Ref{}, nil
}

// claimOn gives the policy whose costs the pods of a target are to have; nil: none.
func (l *Loop) claimOn(ref workload.Ref) *world.Policy {
	snapshot := l.world.Snapshot()
	v := decide.Target(snapshot, ref, l.clock.Now(), nil)
	if v.Plan.DeletionCosts == nil {
		return nil
	}
	if p := snapshot.Find(v.Plan.DeletionCosts.By); p != nil && p.PodOrderer() != nil {
		return p
	}
	return nil
}

// carryOut plans for a target and writes what the budget permits.
func (l *Loop) carryOut(ctx context.Context, ref workload.Ref, p *world.Policy, f *fleet.Fleet) error {
	now, orderer := l.clock.Now(), p.PodOrderer()
	l.written.setCostsIn(f, now)
	plan := orderer.PlanCosts(f, now)
	if !plan.Again.IsZero() {
		l.queue.AddAfter(ref, plan.Again.Sub(now))
	}
	n := Note{Foreign: foreignIn(f)}
	if plan.RollingOut {
		n.Waiting = "a roll-out is under way"
	}
	l.book.setStats(ref, p.ID, statsOf(f, orderer.NodeLabels()[0], now))
	if kind := l.world.Snapshot().Kind(ref.GroupKind); kind != nil && len(plan.Changes) > 0 {
		if err := l.keeper.PutFinalizer(ctx, kind); err != nil {
			l.setNote(ref, p, Note{Failure: err.Error(), Foreign: n.Foreign})
			return err
		}
	}
	n, err := l.setAll(ctx, ref, p, plan.Changes, n)
	l.setNote(ref, p, n)
	return err
}

// setNote remembers what has become of a target, and has it told if that is news.
func (l *Loop) setNote(ref workload.Ref, p *world.Policy, n Note) {
	n.Policy = p.ID
	before, news := l.book.setNote(ref, n)
	if news {
		l.audience.Requeue(ref)
	}
	if before != p.ID && before != (workload.Policy{}) {
		l.audience.Dirty(before) // it has told of the target's pods, maybe even since it lost them
	}
	l.audience.Dirty(p.ID)
}

// forget drops a target whose pods are to have no costs.
func (l *Loop) forget(ref workload.Ref) {
	if id, was := l.book.drop(ref); was {
		l.audience.Requeue(ref)
		l.audience.Dirty(id)
	}
}

// Note is what has become of the pods of a target.
func (l *Loop) Note(ref workload.Ref) Note { return l.book.noteOf(ref) }

// Summary is what has become of all pods of a policy.
func (l *Loop) Summary(id workload.Policy) policy.PodSummary {
	s := l.book.summary(id, l.clock.Now())
	l.metrics.publish(id, s)
	return s
}

// age has statuses looked at again that tell of writes that are long past.
func (l *Loop) age(ctx context.Context) {
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
