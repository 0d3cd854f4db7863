package status

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Transitions keeps the instants of policies' next transitions.
type Transitions interface {
	// SetTransition replaces the instant of a policy's next transition; zero: never.
	SetTransition(id workload.Policy, at time.Time)
	// FireDue handles all due instants, so that every due target counts as pending.
	FireDue()
}

// Pods returns the state of pods ordered by policies.
type Pods interface {
	Summary(workload.Policy) policy.PodSummary
}

// Tuned returns the tuning results of policies' targets.
type Tuned interface {
	Summary(workload.Policy) policy.TunedSummary
	// Unmeasured returns the fault of a policy's source of usage: the reason of a condition and a message;
	// empty: no fault.
	Unmeasured(p *policy.Policy) (reason, message string)
}

// Enforcement checks whether changes denied by policies are in fact denied.
type Enforcement interface {
	// Unenforced returns the reason why denied changes may pass; empty: no reason. known is false while this has not
	// been checked. concerned is false for a policy that denies nothing any more.
	Unenforced(p *world.Policy) (why string, known, concerned bool)
	// NeverOpen returns the texts about the maintenance windows that are never open together with a policy.
	NeverOpen(workload.Policy) []string
}

// Orders returns the open waves of policies.
type Orders interface {
	// Open returns the wave that is open for the targets of a policy that still have to change, and the number of
	// targets that wait for the wave; zero: no wave is open.
	Open(workload.Policy) (hold decide.Hold, waiting int)
}

// Options configure a Writer. The zero value of a field means its default.
type Options struct {
	// Clock is the clock for decisions. Default: the machine's.
	Clock clock.WithTicker
	// Interval is the shortest time between two status writes of a policy. Default: 500 ms.
	Interval time.Duration
	// Enforcement is asked about policies that judge changes. Default: all denied changes are denied.
	Enforcement Enforcement
	// Log gets structured lines. Default: none.
	Log logr.Logger
}

// parallel is the number of concurrent status writes.
const parallel = 4

// Writer keeps the status of policies. It collects the states of their targets and writes each status at most
// once per interval.
type Writer struct {
	Book   *Tracker
	Health *AdapterHealth

	opts        Options
	world       *world.World
	client      client.Client
	recorder    events.EventRecorder
	metrics     *Metrics
	transitions Transitions
	pods        Pods
	tuned       Tuned
	orders      Orders

	crew  *workers.Crew
	mu    sync.Mutex
	dirty map[workload.Policy]bool
	// writing holds the policies with a status write in flight.
	writing      map[workload.Policy]bool
	transitioned map[workload.Policy]*transition
	// wrote holds each policy as of its last status write, until the cache has caught up.
	wrote map[workload.Policy]client.Object
	// owed holds the transition events that wait until every target was decided.
	owed map[workload.Policy]*announcement
	// unmatched holds the policies with terms that match nothing. looking is true while a new check of these policies
	// is scheduled.
	unmatched map[workload.Policy]bool
	looking   bool
	signal    chan struct{}
}

// NewWriter returns a Writer. cached reads Flyball's own objects from a cache and writes them; recorder sends events
// and may be nil.
func NewWriter(w *world.World, cached client.Client, recorder events.EventRecorder, m *Metrics, opts Options) *Writer {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	if opts.Interval == 0 {
		opts.Interval = 500 * time.Millisecond
	}
	s := &Writer{
		opts: opts, world: w, client: cached, recorder: recorder, metrics: m, Health: newAdapterHealth(),
		crew: workers.NewCrew(parallel), dirty: map[workload.Policy]bool{}, writing: map[workload.Policy]bool{},
		transitioned: map[workload.Policy]*transition{}, wrote: map[workload.Policy]client.Object{},
		owed: map[workload.Policy]*announcement{}, unmatched: map[workload.Policy]bool{},
		signal: make(chan struct{}, 1),
	}
	s.Book = NewTracker(s.Dirty)
	return s
}

// Follow sets the source of transitions. It must be called before Run.
func (s *Writer) Follow(t Transitions) { s.transitions = t }

// FollowPods sets the component that orders pods. It must be called before Run.
func (s *Writer) FollowPods(p Pods) { s.pods = p }

// FollowTuned sets the component that tunes targets. It must be called before Run.
func (s *Writer) FollowTuned(t Tuned) { s.tuned = t }

// FollowOrders sets the source of waits for waves. It must be called before Run.
func (s *Writer) FollowOrders(o Orders) { s.orders = o }

// Dirty schedules a check of a policy's status.
func (s *Writer) Dirty(id workload.Policy) {
	s.mu.Lock()
	s.dirty[id] = true
	s.mu.Unlock()
	workers.Poke(s.signal)
}

// Forget drops a deleted policy.
func (s *Writer) Forget(id workload.Policy) {
	s.Book.Forget(id)
	s.mu.Lock()
	delete(s.dirty, id)
	delete(s.transitioned, id)
	delete(s.wrote, id)
	delete(s.owed, id)
	delete(s.unmatched, id)
	s.mu.Unlock()
	s.metrics.forgetPolicy(id)
}

// Run writes statuses until the context ends. Then it writes the remaining statuses once.
func (s *Writer) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			s.flush(last)
			s.crew.Wait()
			cancel()
			return
		case <-s.signal:
		}
		s.flush(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(s.opts.Interval):
		}
	}
}

// flush writes the due statuses. It does not wait for slow writes: a status in flight is written again when
// its write ends.
func (s *Writer) flush(ctx context.Context) {
	s.mu.Lock()
	due := slices.SortedFunc(maps.Keys(s.dirty), workload.Policy.Compare)
	due = slices.DeleteFunc(due, func(id workload.Policy) bool { return s.writing[id] })
	for _, id := range due {
		delete(s.dirty, id)
		s.writing[id] = true
	}
	s.mu.Unlock()
	for _, id := range due {
		s.crew.Do(func() { s.writeOne(ctx, id) })
	}
	s.crew.Settle()
	s.forgetWritten()
}

func (s *Writer) writeOne(ctx context.Context, id workload.Policy) {
	err := s.write(ctx, id)
	s.mu.Lock()
	delete(s.writing, id)
	again := s.dirty[id]
	s.mu.Unlock()
	if err != nil {
		s.opts.Log.V(1).Info("Failed to write the status; will retry", "policy", id.String(), "reason", err.Error())
		time.AfterFunc(time.Second, func() { s.Dirty(id) })
	}
	if again {
		workers.Poke(s.signal)
	}
}

// forgetWritten drops written policies that the cache has delivered.
func (s *Writer) forgetWritten() {
	snapshot := s.world.Snapshot()
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, last := range s.wrote {
		if p := snapshot.Find(id); p == nil || !isNewer(last, p.Object) {
			delete(s.wrote, id)
		}
	}
	if len(s.wrote) > 0 {
		time.AfterFunc(s.opts.Interval, func() { workers.Poke(s.signal) })
	}
}

// write updates the status of one policy if anything in it has changed.
func (s *Writer) write(ctx context.Context, id workload.Policy) error {
	now := s.opts.Clock.Now()
	s.transitions.FireDue()
	snapshot := s.world.Snapshot()
	p := snapshot.Find(id)
	if p == nil || !p.Kind.ActsOnTargets() {
		return nil
	}
	if p.Deleting {
		s.transitions.SetTransition(id, time.Time{})
	} else {
		s.transitions.SetTransition(id, p.State(now).Next)
	}
	if !p.Secured && p.Refused == "" {
		return nil // the write of the finalizer follows in a moment and triggers another status write
	}
	obj := s.freshest(id, p.Object)
	before := obj.DeepCopyObject().(client.Object)
	old, cur := p.Kind.Status(before.(policy.Object)), p.Kind.Status(obj)
	v := s.view(snapshot, p, now, obj.GetGeneration())
	v.prove(s.opts.Enforcement)
	s.noteUnmatched(id, len(v.unmatched) > 0)
	v.fill(cur)
	cur.Order = s.order(p)
	activeBefore := s.fillOwnPart(obj, p, v.state)
	s.publish(snapshot, v, cur)
	if equality.Semantic.DeepEqual(before, obj) {
		s.announceTransition(obj, v, nil)
		return nil
	}
	if err := s.client.Status().Patch(ctx, obj, client.MergeFrom(before)); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("write the status of %s: %w", id, err)
	}
	s.mu.Lock()
	s.wrote[id] = obj
	s.mu.Unlock()
	s.announceTransition(obj, v, v.transition(old, cur, activeBefore))
	s.announce(obj, v, old, cur)
	return nil
}

// order returns the open wave of a policy; nil: none. A wave without waiting targets is also in the status. So a
// restarted manager does not wait again for a wave that has timed out.
func (s *Writer) order(p *world.Policy) *v1alpha1.OrderStatus {
	if s.orders == nil || p.Order == nil || p.Deleting {
		return nil
	}
	hold, waiting := s.orders.Open(p.ID)
	if hold.Waves == 0 || hold.Place >= len(p.Order.Waves) {
		return nil
	}
	st := &v1alpha1.OrderStatus{
		Direction: "Wake", Wave: p.Order.Waves[hold.Place].Name, Place: int32(hold.Place) + 1, Since: metav1.NewMicroTime(hold.Since),
		WaitsFor: workload.OneLine(hold.Why, 512), Waiting: int32(waiting), Stopped: hold.Stopped,
	}
	if hold.Direction == workload.DirectionDown {
		st.Direction = "Sleep"
	}
	return st
}

// fillOwnPart fills in the fields specific to the policy's kind. It edits the status of the object.
func (s *Writer) fillOwnPart(obj policy.Object, p *world.Policy, state policy.State) (activeBefore string) {
	if o := p.PodOrderer; o != nil && s.pods != nil {
		o.FillPods(obj, s.pods.Summary(p.ID))
	}
	if t := p.Tuner; t != nil && s.tuned != nil {
		t.FillTuned(obj, s.tuned.Summary(p.ID))
	}
	reporter := p.Reporter
	if reporter == nil {
		return ""
	}
	var applied []policy.Applied
	if limit := reporter.AppliedLimit(); limit > 0 {
		s.Book.read(p.ID, func(t *counts) {
			for _, n := range first(t.applied, limit) {
				applied = append(applied, policy.Applied{
					Target: n.ref, Min: numberIn(n.said.Min), Max: numberIn(n.said.Max), Replicas: numberIn(n.said.Replicas),
				})
			}
		})
	}
	return reporter.FillStatus(obj, state, applied)
}

func numberIn(text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// freshest returns a copy of the last written policy if the cache is behind it. A patch computed from an older status
// would leave out values that have changed back since.
func (s *Writer) freshest(id workload.Policy, cached policy.Object) policy.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.wrote[id]
	if last == nil || last.GetUID() != cached.GetUID() || !isNewer(last, cached) {
		delete(s.wrote, id)
		return cached.DeepCopyObject().(policy.Object)
	}
	return last.DeepCopyObject().(policy.Object)
}

// isNewer reports whether object a is known to be newer than b.
func isNewer(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order > 0
}

// publish updates the metrics of a policy from the counts of its status. A policy deleted in the meantime is left out,
// because its series would never be removed.
func (s *Writer) publish(snapshot *world.Snapshot, v *view, st *v1alpha1.PolicyStatus) {
	id := v.policy.ID
	if snapshot == s.world.Snapshot() || s.world.Snapshot().Find(id) != nil {
		s.metrics.policy(v, st.Conditions)
	}
	s.observeTransition(id, v.state, v.counts.counts[Pending])
}

// errNoStatus is the error for a policy kind without a status.
var errNoStatus = errors.New("the kind has no policy status")

// RecordBatch records an opened batch in the policy's status before the batch's first change.
func (s *Writer) RecordBatch(ctx context.Context, key apply.BatchKey, opened time.Time) error {
	p := s.world.Snapshot().Find(key.Policy)
	if p == nil {
		return nil
	}
	if !p.Kind.ActsOnTargets() {
		return errNoStatus
	}
	s.metrics.batches.WithLabelValues(key.Policy.Kind, key.Policy.Label(), key.Direction.String()).Inc()
	before, obj := p.Object, p.Object.DeepCopyObject().(policy.Object)
	st, batch := p.Kind.Status(obj), &v1alpha1.BatchStatus{OpenedAt: metav1.NewMicroTime(opened)}
	if key.Direction == workload.DirectionUp {
		st.UpscaleBatch = batch
	} else {
		st.DownscaleBatch = batch
	}
	return client.IgnoreNotFound(s.client.Status().Patch(ctx, obj, client.MergeFrom(before)))
}

// TimeOf returns an instant in whole seconds, as used in statuses. It returns nil for the zero instant and for years
// after 9999, which RFC 3339 cannot express.
func TimeOf(t time.Time) *metav1.Time {
	if t.IsZero() || t.UTC().Year() > 9999 {
		return nil
	}
	return &metav1.Time{Time: t.Truncate(time.Second)}
}
