// Package tuning lets policies learn from what the pods of their targets use. Once every resolution it measures, shows each target's mind
// what was measured, takes down what the mind advises, and has the target looked at again if that is news. What was learnt is kept in the
// cluster, so that a restart loses nothing. It writes no target: the loop over targets carries advice out.
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
	"flyball.dev/flyball/engine/fleet"
	"flyball.dev/flyball/engine/poke"
	"flyball.dev/flyball/engine/resize"
	"flyball.dev/flyball/engine/usage"
	"flyball.dev/flyball/engine/usage/vertical"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Meter measures what pods use.
type Meter interface {
	Read(ctx context.Context) (map[types.NamespacedName]usage.Pod, error)
}

// Members knows the pods of targets.
type Members interface {
	// NeedContainers has pods watched with their containers; DropContainers ends that.
	NeedContainers(ctx context.Context) error
	DropContainers(ctx context.Context) error
	// Fleet gives the active pods of a target; false: not everything is known yet.
	Fleet(ref workload.Ref) (*fleet.Fleet, bool)
	// Trouble says why not everything is known.
	Trouble() string
}

// Resized are the pods of targets that are changed in place.
type Resized interface {
	Note(ref workload.Ref) resize.Note
	// Unable says why pods of a target cannot come down from a boost for their start; empty: they can.
	Unable(f *fleet.Fleet) string
	// Owes says whether pods of a target may have still to be given back, and OwesAny whether any may. Both say so while pods are not known.
	Owes(ref workload.Ref) bool
	OwesAny() bool
}

// Audience hears of what was found.
type Audience struct {
	// Requeue has targets looked at again. Dirty has the status of a policy looked at again.
	Requeue func(refs ...workload.Ref)
	Dirty   func(workload.Policy)
	// Waiting says what keeps what is tuned from a target; empty: nothing does.
	Waiting func(workload.Ref) string
	// Held says which PodDisruptionBudget, LimitRange or ResourceQuota does, in the same words; empty: none does.
	Held func(workload.Ref) string
	// Rollouts counts the targets of a policy that roll out what was tuned, that wait for others, and that are late.
	Rollouts func(workload.Policy) (running, waiting, late int)
	// Fault counts a target that could not be worked on because of a fault in Flyball.
	Fault func()
}

// Options say how a Loop runs.
type Options struct {
	// Clock tells the time by which policies are decided.
	Clock clock.PassiveClock
	// Resolution is the pause between two measurements.
	Resolution time.Duration
	// NoNewPods is true where this manager changes no pods as they are created.
	NoNewPods bool
	// Recorder has what pods used before; nil: there is none.
	Recorder Recorder
	// Budgets are needed while a policy acts.
	Budgets Budgets
	// Nodes bound what is worth requesting.
	Nodes NodeSizes
	// Verticals are read with each measurement; nil: nobody looks for them.
	Verticals Verticals
	// Refusals says why a roll-out does not become ready; nil: nobody does, and none is taken back.
	Refusals Refusals
	// Events takes events.
	Events events.EventRecorder
	Log    logr.Logger
}

// Loop measures and decides.
type Loop struct {
	opts     Options
	world    *world.World
	members  Members
	resized  Resized
	meter    Meter
	store    *Store
	audience Audience
	metrics  *Metrics
	// pods tells the time by which pods are judged: that of the cluster, whatever policies are decided by.
	pods clock.PassiveClock

	// subjects are the targets that are tuned. Only Run uses them.
	subjects map[workload.Ref]*subject
	book     *book
	// news is poked when a policy has come, changed or gone.
	news chan struct{}
	// recallers are the places of those who read histories.
	recallers chan struct{}
	// choices counts the targets of this round whose numbers were chosen anew.
	choices int
	// swept is true once what an earlier manager left behind has been looked for.
	swept bool
	// verticals are the VerticalPodAutoscalers as they were read last; nil: they were not. Tidy says that none of those is left that were made.
	verticals *vertical.All
	tidy      bool
}

// New makes a Loop, which works once it runs.
func New(w *world.World, m Members, r Resized, meter Meter, store *Store, a Audience, metrics *Metrics, opts Options) *Loop {
	l := &Loop{
		opts: opts, world: w, members: m, resized: r, meter: meter, store: store, audience: a, metrics: metrics, pods: clock.RealClock{},
		subjects: map[workload.Ref]*subject{}, book: newBook(), news: make(chan struct{}, 1),
		recallers: make(chan struct{}, recallers),
	}
	w.Observe(l)
	return l
}

// Changed implements world.Observer: a policy that has come or changed does not wait for the next measurement.
func (l *Loop) Changed(_ *world.Snapshot, c *world.Change) {
	for _, p := range c.Policies {
		if p.New != nil && p.New.Tuner() != nil || p.Old != nil && p.Old.Tuner() != nil {
			poke.Poke(l.news)
			return
		}
	}
}

// Run measures until the context ends, and keeps what was learnt then.
func (l *Loop) Run(ctx context.Context) {
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

// lastWords is how long writing checkpoints may take once the manager is told to stop.
const lastWords = 10 * time.Second

// mostChoices is for how many targets numbers are chosen anew in a round: one takes some tenths of a second, and all others wait meanwhile.
const mostChoices = 10

// round measures once, and decides for every target.
func (l *Loop) round(ctx context.Context) {
	l.choices = 0
	snapshot := l.world.Snapshot()
	tuned := assign(snapshot)
	l.book.begin(tuned, snapshot)
	needed, measures, acts := tuners(snapshot)
	l.sweep(ctx, snapshot, tuned)
	trouble := l.follow(ctx, needed || l.isLeaving(), acts)
	if len(tuned) == 0 && !measures {
		l.leave(ctx, snapshot, tuned)
		if !l.tidy {
			l.readVerticals(ctx)
			l.tidy = l.tidyVerticals(ctx, snapshot, tuned)
		}
		l.tell(l.book.end())
		l.metrics.publish(l.book, l.subjects, l.audience.Rollouts)
		return
	}
	m, ok := l.measure(ctx, tuned, trouble)
	if !ok {
		return
	}
	for ref, p := range tuned {
		l.tend(ctx, snapshot, ref, p, m.of(p))
	}
	l.leave(ctx, snapshot, tuned)
	l.tidyVerticals(ctx, snapshot, tuned)
	l.tidy = false
	l.keepDue(ctx)
	l.tell(l.book.end())
	l.metrics.publish(l.book, l.subjects, l.audience.Rollouts)
}

func (l *Loop) tell(ids []workload.Policy) {
	for _, id := range ids {
		l.audience.Dirty(id)
	}
}

// assign says which policy tunes which target: of several that select one, the one of the highest precedence.
func assign(s *world.Snapshot) map[workload.Ref]*world.Policy {
	tuned := map[workload.Ref]*world.Policy{}
	for p := range s.Policies {
		if p.Tuner() == nil || p.Deleting || p.IsBroken() {
			continue
		}
		for _, k := range s.Kinds() {
			s.EachSelected(p, k, func(ref workload.Ref) {
				obj := s.Object(ref)
				if obj == nil || ref.Namespace == "" || decide.LeavesAlone(s, k.Kind, obj) {
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

// precedes says whether one policy tunes what another one selects too.
func precedes(a, b *world.Policy) bool {
	if x, y := a.Tuner().Precedence(), b.Tuner().Precedence(); x != y {
		return x > y
	}
	return a.ID.Compare(b.ID) < 0
}

// tend works on one target. A panic stays that target's.
func (l *Loop) tend(ctx context.Context, s *world.Snapshot, ref workload.Ref, p *world.Policy, measured map[types.NamespacedName]usage.Pod) {
	defer func() {
		if r := recover(); r != nil {
			err := fmt.Errorf("panic: %v", r)
			l.audience.Fault()
			l.opts.Log.Error(err, "a target could not be tuned because of a fault in Flyball", "target", ref.String(), "stack", string(debug.Stack()))
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
		x.since, x.blind = time.Time{}, false // asleep, or nobody looks: silence says nothing
		if known && x.made {                  // what was found stays, and what of it is in place may not
			l.report(ctx, ref, p, x)
		}
		l.book.phase(p.ID, x)
		return
	}
	seen, ok := l.look(s, ref, f, x)
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
		x.mind.Observe(x.samples(seen.Now, l.pods.Now(), f, measured)...)
	}
	seen.Busy = l.choices >= mostChoices
	x.found = x.mind.Decide(seen)
	if x.found.Chose {
		l.choices++
	}
	l.advise(s, ref, p, x)
	l.report(ctx, ref, p, x)
	l.note(ref, p.ID, cmp.Or(x.troubles(), l.noNewPods(x)))
	l.book.phase(p.ID, x)
}

// note remembers what is wrong with a target, and has that told if it is news.
func (l *Loop) note(ref workload.Ref, id workload.Policy, failure string) {
	if l.book.note(ref, Note{Policy: id, Failure: failure}) {
		l.audience.Requeue(ref)
	}
}

// advise takes over what is advised, and has the target and what governs it looked at again if that is news.
func (l *Loop) advise(s *world.Snapshot, ref workload.Ref, p *world.Policy, x *subject) {
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

// keepDue writes the checkpoints that are due, and keepAll those of all targets.
func (l *Loop) keepDue(ctx context.Context) {
	now := l.opts.Clock.Now()
	var due []*subject
	for _, x := range l.subjects {
		if x.isDue(now) {
			due = append(due, x)
		}
	}
	l.keep(ctx, due)
}

func (l *Loop) keepAll(ctx context.Context) {
	var all []*subject
	for _, x := range l.subjects {
		if !x.rests {
			all = append(all, x)
		}
	}
	l.keep(ctx, all)
}

// keepEvery is the least time between two checkpoints of a target, but for the last one and those of other requests; keepers how many are written
// at once.
const (
	keepEvery = 10 * time.Minute
	keepers   = 8
)

// isDue says whether a checkpoint is to be written. One of other requests does not wait: who takes over without it would begin with those before, and
// have pods restarted for steps that were made.
func (x *subject) isDue(now time.Time) bool {
	if x.rests {
		return false
	}
	a := x.found.Advice
	return now.Sub(x.kept) >= keepEvery || a != nil && a.AmountsSince.After(x.kept)
}

func (l *Loop) keep(ctx context.Context, all []*subject) {
	var writers errgroup.Group
	writers.SetLimit(keepers)
	now := l.opts.Clock.Now()
	for _, x := range all {
		writers.Go(func() error {
			if err := l.store.Keep(ctx, x.ref, x.uid, x.policy, Kept{x.mind.Keep(), x.recalled.at}); err != nil {
				l.opts.Log.V(1).Info("what was learnt will be kept later", "target", x.ref.String(), "reason", err.Error())
				return nil
			}
			x.kept = now
			return nil
		})
	}
	_ = writers.Wait() // none gives an error
}
