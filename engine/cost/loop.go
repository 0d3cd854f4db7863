// Package cost gives the pods of targets the deletion costs that the policies agreed on ask for. A loop of workers takes targets from a
// queue. For each it decides anew, has the policy that won plan, and writes within the budget of that policy. Costs of Flyball
// that no plan speaks of are removed. Nothing is remembered that is not on the pods.
package cost

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/fleet"
	"flyball.dev/flyball/engine/policy"
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
	// Costed lists what owns a pod with a cost of Flyball, Groups what owns pods directly below a target, and Above what owns that.
	Costed() []workload.Ref
	Groups(ref workload.Ref) []workload.Ref
	Above(ref workload.Ref) []workload.Ref
	// Refresh looks for owners again after more kinds have come to be known.
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
}

// Keeper keeps an adapter from being deleted.
type Keeper interface {
	// Hold sees to it that the adapter of a kind cannot go while something has to be given back through it.
	Hold(ctx context.Context, k *decide.Kind) error
}

// Options say how a Loop runs. The zero value of a field means its default.
type Options struct {
	// Clock tells the time by which pods are judged: that of the cluster. Default: the machine's.
	Clock clock.Clock
	// Workers is the number of targets worked on at once. Default: 4.
	Workers int
	// Calm is how long a target waits after a change, so that changes that come together are planned together. Default: 500 ms.
	Calm time.Duration
	// Log gets structured lines. Default: none.
	Log logr.Logger
}

func (o *Options) setDefaults() {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Workers == 0 {
		o.Workers = 4
	}
	if o.Calm == 0 {
		o.Calm = 500 * time.Millisecond
	}
}

// Loop keeps the deletion costs of pods as they should be.
type Loop struct {
	opts     Options
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
}

// New makes a Loop. It hears of changes of the world from now on, and works once it runs.
func New(w *world.World, m Members, writer Writer, a Audience, k Keeper, metrics *Metrics, opts Options) *Loop {
	opts.setDefaults()
	l := &Loop{
		opts: opts, world: w, members: m, writer: writer, audience: a, keeper: k, metrics: metrics,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[workload.Ref](time.Second, time.Minute)),
		needs: make(chan struct{}, 1), book: newBook(), written: newWritten(),
	}
	w.Observe(l)
	return l
}

// Run works until the context ends.
func (l *Loop) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { l.followNeeds(ctx) })
	wg.Go(func() { l.age(ctx) })
	for range l.opts.Workers {
		wg.Go(func() { l.work(ctx) })
	}
	<-ctx.Done()
	l.queue.ShutDown()
	wg.Wait()
	l.members.Drop()
}

// Changing implements world.Observer.
func (l *Loop) Changing(_, _ *world.Snapshot, _ *world.Change) {}

// Changed implements world.Observer: which policies there are says what is to be watched.
func (l *Loop) Changed(_ *world.Snapshot, c *world.Change) {
	for _, p := range c.Policies {
		if p.New == nil {
			l.book.forgetPolicy(p.ID)
			l.metrics.forget(p.ID)
		}
	}
	if len(c.Policies) > 0 || len(c.Kinds) > 0 {
		l.poke()
	}
}

func (l *Loop) poke() {
	select {
	case l.needs <- struct{}{}:
	default:
	}
}

// followNeeds has pods and nodes watched while some policy orders pods: one that is being deleted does so until nothing is left of it.
func (l *Loop) followNeeds(ctx context.Context) {
	l.poke()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.needs:
		}
		needed := false
		var labels []string
		for p := range l.world.Snapshot().Policies {
			if o := p.PodOrderer(); o != nil {
				needed, labels = true, append(labels, o.NodeLabels()...)
			}
		}
		if !needed {
			l.members.Drop()
			continue
		}
		slices.Sort(labels)
		if err := l.members.Need(ctx, slices.Compact(labels)); err != nil && ctx.Err() == nil {
			l.opts.Log.Error(err, "pods and nodes are not watched")
			time.AfterFunc(time.Second, l.poke)
			continue
		}
		l.members.Refresh()
		l.MembersSettled()
	}
}

// Decided takes note of a target that was decided: claimed says that its pods are to get costs.
func (l *Loop) Decided(ref workload.Ref, claimed bool) {
	if l.book.claim(ref, claimed, l.opts.Clock.Now()) || claimed {
		l.queue.Add(ref)
	}
}

// MembersChanged implements members.Listener.
func (l *Loop) MembersChanged(refs []workload.Ref) {
	for _, ref := range refs {
		l.queue.AddAfter(ref, l.opts.Calm)
	}
}

// MembersSettled implements members.Listener.
func (l *Loop) MembersSettled() {
	for _, ref := range append(l.book.claimed(), l.members.Costed()...) {
		l.queue.Add(ref)
	}
}

func (l *Loop) work(ctx context.Context) {
	for {
		ref, shutdown := l.queue.Get()
		if shutdown {
			return
		}
		if err := l.processSafely(ctx, ref); err != nil && ctx.Err() == nil {
			l.opts.Log.V(1).Info("will try again", "target", ref.String(), "reason", err.Error())
			l.queue.AddRateLimited(ref)
		} else {
			l.queue.Forget(ref)
		}
		l.queue.Done(ref)
	}
}

// processSafely works on a target. A panic stays that target's.
func (l *Loop) processSafely(ctx context.Context, ref workload.Ref) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
			l.opts.Log.Error(err, "the pods of a target could not be worked on because of a fault in Flyball", "target", ref.String(), "stack", string(debug.Stack()))
		}
	}()
	return l.process(ctx, ref)
}

// unknownRetry is the pause after which it is told again why pods are not known.
const unknownRetry = 5 * time.Second

// process brings the costs of the pods of one target to what its policies agree on. It returns an error when it has to be tried again.
func (l *Loop) process(ctx context.Context, ref workload.Ref) error {
	f, known := l.members.Fleet(ref)
	if !known {
		if p := l.claimOn(ref); p != nil {
			l.note(ref, p, Note{Waiting: "the pods are not known yet", Failure: l.members.Trouble()})
			l.queue.AddAfter(ref, unknownRetry) // to tell of what stands in the way; once they are known it comes at once
		}
		return nil
	}
	p := l.claimOn(ref)
	if p == nil {
		l.forget(ref)
		return l.clean(ctx, ref, f)
	}
	return l.carryOut(ctx, ref, p, f)
}

// claimOn gives the policy whose costs the pods of a target are to have; nil: none.
func (l *Loop) claimOn(ref workload.Ref) *world.Policy {
	snapshot := l.world.Snapshot()
	v := decide.Target(snapshot, ref, l.opts.Clock.Now(), nil)
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
	now, orderer := l.opts.Clock.Now(), p.PodOrderer()
	l.written.overlay(f, now)
	plan := orderer.PlanCosts(f, now)
	if !plan.Again.IsZero() {
		l.queue.AddAfter(ref, plan.Again.Sub(now))
	}
	n := Note{Foreign: foreignIn(f)}
	if plan.RollingOut {
		n.Waiting = "a roll-out is under way"
	}
	l.book.set(ref, p.ID, statOf(f, orderer.NodeLabels()[0], now))
	if kind := l.world.Snapshot().Kind(ref.GroupKind); kind != nil && len(plan.Changes) > 0 {
		if err := l.keeper.Hold(ctx, kind); err != nil {
			l.note(ref, p, Note{Failure: err.Error(), Foreign: n.Foreign})
			return err
		}
	}
	err := l.setAll(ctx, ref, p, plan.Changes, &n)
	l.note(ref, p, n)
	return err
}

// failuresAtMost is after how many refused writes the rest of a plan is left to the next try.
const failuresAtMost = 3

// setAll sets as many costs as the budget permits. It edits the note.
func (l *Loop) setAll(ctx context.Context, ref workload.Ref, p *world.Policy, changes []fleet.Change, n *Note) error {
	now, budget := l.opts.Clock.Now(), l.book.budget(p.ID, p.PodOrderer())
	var failures []error
	for i, c := range changes {
		if l.written.isUndone(c, now) {
			n.Undone++
			continue
		}
		if wait := budget.take(l.opts.Clock.Now()); wait > 0 {
			n.Waiting = "the write budget holds up " + workload.Count(len(changes)-i, "pod")
			l.queue.AddAfter(ref, wait)
			break
		}
		cost := strconv.Itoa(int(c.Cost))
		switch err := l.write(ctx, p.ID, c.Pod, &cost); {
		case err == nil:
			l.written.add(c, now)
		case errors.Is(err, errBehind): // the watch brings what it is now
			l.queue.AddAfter(ref, l.opts.Calm)
		default:
			failures = append(failures, err)
		}
		if len(failures) == failuresAtMost {
			break
		}
	}
	if len(failures) == 0 {
		return nil
	}
	n.Failure = failures[0].Error()
	return failures[0]
}

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// errBehind says that a pod has changed since it was read.
var errBehind = errors.New("a pod has changed since it was read")

// write sets the cost of a pod, or removes it. The pod must be as it was read: somebody else may have set a cost meanwhile.
func (l *Loop) write(ctx context.Context, id workload.Policy, pod *fleet.Pod, cost *string) error {
	value := "null"
	if cost != nil {
		value = strconv.Quote(*cost)
	}
	body := fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"annotations":{%q:%s}}}`, pod.Version, fleet.CostAnnotation, value)
	obj := &workload.Object{Namespace: pod.Namespace, Name: pod.Name, ResourceVersion: pod.Version}
	result, err := l.writer.Apply(ctx, podResource, obj, &workload.Patch{Type: types.MergePatchType, Body: []byte(body)})
	l.metrics.wrote(id, string(result))
	switch result {
	case apply.Applied, apply.Unchanged:
		if l.book.wrote(id, l.opts.Clock.Now()) {
			l.audience.Dirty(id)
		}
		return nil
	case apply.Gone:
		return nil
	case apply.Stale:
		return errBehind
	}
	return err
}

// note remembers what has become of a target, and has it told if that is news.
func (l *Loop) note(ref workload.Ref, p *world.Policy, n Note) {
	n.Policy = p.ID
	if l.book.note(ref, n) {
		l.audience.Requeue(ref)
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
	s := l.book.summary(id, l.opts.Clock.Now())
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
		for _, id := range l.book.aged(l.opts.Clock.Now()) {
			l.audience.Dirty(id)
		}
	}
}
