// Package tuning feeds the usage of targets' pods to the policies that tune them. Once in each interval (the
// resolution), it measures, passes the samples to each target's learner, stores the learner's advice, and requeues the
// target if the advice is new. Checkpoints in the cluster keep the learnt state across restarts. The package writes no
// target: the loop over targets carries the advice out.
package tuning

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/tuning/measure"
	"flyball.dev/flyball/engine/tuning/resize"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Meter measures the usage of pods.
type Meter interface {
	Read(ctx context.Context) (map[types.NamespacedName]measure.Pod, error)
}

// MeasuredPods returns the pods of targets.
type MeasuredPods interface {
	// NeedContainers starts watching the containers of pods; DropContainers ends it.
	NeedContainers(ctx context.Context) error
	DropContainers(ctx context.Context) error
	// Fleet returns the active pods of a target, or false while they are not fully known.
	Fleet(ref workload.Ref) (*workload.Fleet, bool)
	// Trouble returns the reason why pods are not fully known.
	Trouble() string
}

// Resized returns the progress of changes in place.
type Resized interface {
	Note(ref workload.Ref) resize.Note
	// Unable returns the reason why pods of a target cannot come down from a boost, or "".
	Unable(f *workload.Fleet) string
	// Owes reports whether pods of a target may still have to be restored. OwesAny reports the same for all targets.
	// Both return true while pods are unknown.
	Owes(ref workload.Ref) bool
	OwesAny() bool
}

// Callbacks receives results.
type Callbacks struct {
	// Requeue queues targets for a new decision. Dirty queues the status of a policy.
	Requeue func(refs ...workload.Ref)
	Dirty   func(workload.Policy)
	// Fault counts a panic on a target, a fault in Flyball.
	Fault func()
}

// Rollouts limits the targets that restart pods for tuned values at the same time.
type Rollouts interface {
	// Decided records a decision about a target. Mark marks a target as failed if its roll-out takes too long.
	Decided(ref workload.Ref, v *decide.Verdict)
	Mark(ref workload.Ref, results []status.TargetResult)
	// Waiting returns the reason why tuned values are not written to a target, or "".
	Waiting(workload.Ref) string
	// Constraint returns the PodDisruptionBudget, LimitRange or ResourceQuota that the target waits for, as the same text as
	// Waiting returns, or "".
	Constraint(workload.Ref) string
	// Counts returns three numbers of a policy's targets: targets that roll out tuned values, targets that wait for
	// other targets, and targets whose roll-out is late.
	Counts(workload.Policy) (running, waiting, late int)
	// SetTargets receives the numbers of tuned targets of all policies.
	SetTargets(map[workload.Policy]int)
}

// Options configure an Actuator.
type Options struct {
	// Clock is the clock of decisions. PodClock is the clock for the age of pods: the cluster's time, even if policies are
	// decided at another time.
	Clock, PodClock clock.PassiveClock
	// Resolution is the pause between two measurements.
	Resolution time.Duration
	// NoNewPods is true if this manager serves no webhook for created pods.
	NoNewPods bool
	// Recorder returns past usage; nil: none.
	Recorder Recorder
	// Budgets are needed while a policy acts.
	Budgets Budgets
	// Nodes limit useful requests.
	Nodes NodeSizes
	// Verticals are read with each measurement; nil: never.
	Verticals Verticals
	// Refusals returns the cause of a roll-out that does not become ready; nil: unknown, and no roll-out is taken back.
	Refusals Refusals
	// Events receives events.
	Events events.EventRecorder
	Log    logr.Logger
}

// Actuator measures and decides.
type Actuator struct {
	opts     Options
	world    *world.World
	members  MeasuredPods
	resized  Resized
	meter    Meter
	store    *Store
	rollouts Rollouts
	audience Callbacks
	metrics  *Metrics
	// pods is the clock for the age of pods.
	pods clock.PassiveClock

	// subjects are the tuned targets. Only Run uses them.
	subjects map[workload.Ref]*subject
	book     *book
	// news receives a value when a policy was added, changed or removed.
	news chan struct{}
	// recallers holds one value for each goroutine that reads a history, and so limits their number.
	recallers chan struct{}
	// recommendations are the reports of this round that are not written yet.
	recommendations []recommendation
	// choices is the number of targets with newly chosen numbers in this round.
	choices int
	// swept is true once the leftovers of an earlier manager have been removed.
	swept bool
	// verticals are the last read VerticalPodAutoscalers; nil: not read yet. tidy reports that no VerticalPodAutoscaler
	// created by Flyball is left.
	verticals *measure.AllVerticals
	tidy      bool
}

// New returns an Actuator, which works once it runs.
func New(w *world.World, m MeasuredPods, r Resized, rollouts Rollouts, meter Meter, store *Store, a Callbacks, metrics *Metrics,
	opts Options) *Actuator {
	l := &Actuator{
		opts: opts, world: w, members: m, resized: r, rollouts: rollouts, meter: meter, store: store, audience: a, metrics: metrics,
		pods:     opts.PodClock,
		subjects: map[workload.Ref]*subject{}, book: newBook(), news: make(chan struct{}, 1),
		recallers: make(chan struct{}, recallers),
	}
	w.Observe(l)
	return l
}

// AfterPublish implements world.Observer. A new or changed policy does not wait for the next measurement.
func (l *Actuator) AfterPublish(_ *world.Snapshot, c *world.Change) {
	for _, p := range c.Policies {
		if p.New != nil && p.New.Tuner != nil || p.Old != nil && p.Old.Tuner != nil {
			workers.Poke(l.news)
			return
		}
	}
}

// Run measures until the context ends, and then writes the last checkpoints.
func (l *Actuator) Run(ctx context.Context) {
	for {
		l.round(ctx)
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
			l.keepAll(last)
			cancel()
			return
		case <-l.news:
		case <-time.After(l.opts.Resolution):
		}
	}
}

// lastWords is the time limit for the last checkpoints when the manager stops.
const lastWords = 10 * time.Second

// mostChoices is the largest number of targets that choose new numbers in a round. A choice takes some tenths of a
// second, and all other targets wait meanwhile.
const mostChoices = 10

// round measures once, and decides for every target.
func (l *Actuator) round(ctx context.Context) {
	l.choices = 0
	snapshot := l.world.Snapshot()
	tuned := assign(snapshot)
	l.book.begin(tuned, snapshot)
	l.rollouts.SetTargets(countByPolicy(tuned))
	needed, measures, acts := tuners(snapshot)
	l.cleanOrphans(ctx, snapshot, tuned)
	trouble := l.follow(ctx, needed || l.isLeaving(), acts)
	if len(tuned) == 0 && !measures {
		l.pruneTargets(ctx, snapshot, tuned)
		if !l.tidy {
			l.readVerticals(ctx)
			l.tidy = l.tidyVerticals(ctx, snapshot, tuned)
		}
		l.tell(l.book.end())
		l.metrics.publish(l.book, l.subjects, l.rollouts.Counts)
		return
	}
	m, ok := l.measure(ctx, tuned, trouble)
	if !ok {
		return
	}
	for ref, p := range tuned {
		l.tend(ctx, snapshot, ref, p, m.of(p))
	}
	l.recommend(ctx)
	l.pruneTargets(ctx, snapshot, tuned)
	l.tidyVerticals(ctx, snapshot, tuned)
	l.tidy = false
	l.keepDue(ctx)
	l.tell(l.book.end())
	l.metrics.publish(l.book, l.subjects, l.rollouts.Counts)
}

func (l *Actuator) tell(ids []workload.Policy) {
	for _, id := range ids {
		l.audience.Dirty(id)
	}
}

// assign returns the tuning policy of each target: of several policies that select it, the policy of the highest
// precedence.
func assign(s *world.Snapshot) map[workload.Ref]*world.Policy {
	tuned := map[workload.Ref]*world.Policy{}
	for p := range s.Policies {
		if p.Tuner == nil || p.Deleting || p.IsBroken() {
			continue
		}
		for _, k := range s.Kinds() {
			s.EachSelected(p, k, func(ref workload.Ref) {
				obj := s.Object(ref)
				if obj == nil || ref.Namespace == "" || decide.LeavesAlone(s, &p.Policy, k.Kind, obj) {
					return
				}
				if before := tuned[ref]; before == nil || precedes(p, before) {
					tuned[ref] = p
				}
			})
		}
	}
	return tuned
}

// countByPolicy returns the number of tuned targets of each policy.
func countByPolicy(tuned map[workload.Ref]*world.Policy) map[workload.Policy]int {
	n := map[workload.Policy]int{}
	for _, p := range tuned {
		n[p.ID]++
	}
	return n
}

// precedes reports whether the first of two policies tunes a target that both select.
func precedes(a, b *world.Policy) bool {
	if x, y := a.Tuner.Precedence(), b.Tuner.Precedence(); x != y {
		return x > y
	}
	return a.ID.Compare(b.ID) < 0
}

// tend works on a target. A panic fails only this target.
func (l *Actuator) tend(ctx context.Context, s *world.Snapshot, ref workload.Ref, p *world.Policy,
	measured map[types.NamespacedName]measure.Pod) {
	defer func() {
		if r := recover(); r != nil {
			err := fmt.Errorf("panic: %v", r)
			l.audience.Fault()
			l.opts.Log.Error(err, "Failed to tune a target because of a fault in Flyball", "target", ref.String(), "stack", string(debug.Stack()))
			l.note(ref, p.ID, "a fault in Flyball, please report it: "+err.Error())
		}
	}()
	x, err := l.subject(ctx, s, ref, p)
	if err != nil {
		l.note(ref, p.ID, err.Error())
		return
	}
	x.unmade = l.makeVertical(ctx, s, ref, p, x)
	f, known := l.members.Fleet(ref)
	if known {
		x.stuck = l.stuck(ctx, s, ref, x, f)
	}
	if !known || len(f.Pods) == 0 && x.stuck == "" {
		x.since, x.blind = time.Time{}, false // the target sleeps, or its pods are unknown: missing samples mean nothing
		if known && x.made {                  // the numbers in the report stay, but may no longer be in place
			l.report(ctx, ref, p, x)
		}
		l.book.phase(p.ID, x)
		return
	}
	seen, ok := l.observe(s, ref, f, x)
	if !ok {
		return
	}
	l.metrics.started(p.ID, seen.Started)
	if l.recall(ctx, p, x, f, seen) {
		l.reportRecall(ctx, ref, p, x)
		l.book.phase(p.ID, x)
		return
	}
	if measured != nil {
		x.learner.Observe(x.samples(seen.Now, l.pods.Now(), f, measured)...)
	}
	seen.Busy = l.choices >= mostChoices
	x.found = x.learner.Decide(seen)
	if x.found.Chose {
		l.choices++
	}
	l.announceFrom(ref, p, x)
	l.advise(s, ref, p, x)
	l.report(ctx, ref, p, x)
	l.note(ref, p.ID, cmp.Or(x.troubles(), l.noNewPods(x)))
	l.book.phase(p.ID, x)
}

// note stores the fault of a target, and reports it if it is new.
func (l *Actuator) note(ref workload.Ref, id workload.Policy, failure string) {
	if l.book.note(ref, Note{Policy: id, Failure: failure}) {
		l.audience.Requeue(ref)
	}
}

// advise stores the advice. If the advice has changed, it requeues the target and its autoscaler.
func (l *Actuator) advise(s *world.Snapshot, ref workload.Ref, p *world.Policy, x *subject) {
	a := x.found.Advice
	if a != nil {
		a.By, a.UID = p.ID, x.uid
	}
	if before := s.Advice(ref); before.Same(a) {
		return
	}
	l.world.Advise(ref, a)
	s.Related(ref, func(ref workload.Ref) { l.audience.Requeue(ref) })
}

// keepDue writes the checkpoints that are due.
func (l *Actuator) keepDue(ctx context.Context) {
	now := l.opts.Clock.Now()
	var due []*subject
	for _, x := range l.subjects {
		if x.isDue(now) {
			due = append(due, x)
		}
	}
	l.keep(ctx, due)
}

func (l *Actuator) keepAll(ctx context.Context) {
	var all []*subject
	for _, x := range l.subjects {
		if !x.rests {
			all = append(all, x)
		}
	}
	l.keep(ctx, all)
}

// keepEvery is the least time between two checkpoints of a target, except for the last checkpoint and for checkpoints
// with changed requests. keepers is the number of parallel writes.
const (
	keepEvery = 10 * time.Minute
	keepers   = 8
)

// isDue reports whether a checkpoint is due. A checkpoint with changed requests does not wait: without it, the next
// leader would begin with the old requests, and restart pods for steps that were already made.
func (x *subject) isDue(now time.Time) bool {
	if x.rests {
		return false
	}
	a := x.found.Advice
	return now.Sub(x.kept) >= keepEvery || a != nil && a.AmountsSince.After(x.kept)
}

func (l *Actuator) keep(ctx context.Context, all []*subject) {
	var writers errgroup.Group
	writers.SetLimit(keepers)
	now := l.opts.Clock.Now()
	for _, x := range all {
		writers.Go(func() error {
			if err := l.store.Keep(ctx, x.ref, x.uid, x.policy, Kept{x.learner.Keep(), x.recalled.at}); err != nil {
				l.opts.Log.V(1).Info("Failed to write the usage checkpoint; will retry", "target", x.ref.String(), "reason", err.Error())
				return nil
			}
			x.kept = now
			return nil
		})
	}
	_ = writers.Wait() // no writer returns an error
}
