package status

import (
	"context"
	"errors"
	"fmt"
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

// Targets are the targets waiting for an instant or a wave.
type Targets interface {
	// SetTransition replaces the instant of a policy's next transition; zero: never.
	SetTransition(id workload.Policy, at time.Time)
	// FireDue handles all due instants, so that every due target counts as pending.
	FireDue()
	// Open returns the waves that are open for the targets of a policy that still have to change, the most important first, and the
	// number of waiting targets.
	Open(workload.Policy) (waves []decide.Wave, waiting int)
}

// Actuators act on the pods and requests of targets.
type Actuators interface {
	// Report sets their part of a policy's status in the object. It returns the reason and the message of a fault that
	// makes the policy unready; empty: no fault.
	Report(p *world.Policy, obj policy.Object) (reason, message string)
}

// Enforcement checks whether changes denied by policies are in fact denied.
type Enforcement interface {
	// Unenforced returns the reason why denied changes may pass; empty: no reason. known is false while this has not
	// been checked. concerned is false for a policy that denies nothing any more.
	Unenforced(p *world.Policy) (why string, known, concerned bool)
	// NeverOpen returns the texts about the maintenance windows that are never open together with a policy.
	NeverOpen(workload.Policy) []string
}

// Options configure a Writer.
type Options struct {
	World     *world.World
	Tracker   *Tracker
	Health    *AdapterHealth
	Targets   Targets
	Actuators Actuators
	// Client reads Flyball's own objects from a cache and writes them.
	Client client.Client
	// Recorder sends events; nil: none.
	Recorder events.EventRecorder
	Metrics  *Metrics
	// Clock is the clock for decisions. Default: the machine's.
	Clock clock.WithTicker
	// Interval is the shortest time between two status writes of a policy. Default: 500 ms.
	Interval time.Duration
	// Enforcement is asked about policies that judge changes. Default: all denied changes are denied.
	Enforcement Enforcement
	// DryRun marks statuses as those of a dry run.
	DryRun bool
	// Log gets structured lines. Default: none.
	Log logr.Logger
}

// parallel is the number of concurrent status writes.
const parallel = 4

// Writer keeps the status of policies. It collects the states of their targets and writes each status at most
// once per interval.
type Writer struct {
	opts     Options
	world    *world.World
	tracker  *Tracker
	client   client.Client
	recorder events.EventRecorder
	metrics  *Metrics

	crew *workers.Crew
	mu   sync.Mutex
	// writing holds the policies with a status write in flight.
	writing map[workload.Policy]bool
	// wrote holds each policy as of its last status write, until the cache has caught up.
	wrote map[workload.Policy]client.Object
	// owed holds the transition events that wait until every target was decided.
	owed map[workload.Policy]*announcement
}

// NewWriter returns a Writer.
func NewWriter(opts Options) *Writer {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	if opts.Interval == 0 {
		opts.Interval = 500 * time.Millisecond
	}
	return &Writer{
		opts: opts, world: opts.World, tracker: opts.Tracker, client: opts.Client, recorder: opts.Recorder, metrics: opts.Metrics,
		crew: workers.NewCrew(parallel), writing: map[workload.Policy]bool{}, wrote: map[workload.Policy]client.Object{},
		owed: map[workload.Policy]*announcement{},
	}
}

// Forget drops a deleted policy.
func (s *Writer) Forget(id workload.Policy) {
	s.tracker.Forget(id)
	s.mu.Lock()
	delete(s.wrote, id)
	delete(s.owed, id)
	s.mu.Unlock()
	s.metrics.forgetPolicy(id)
}

// Run writes statuses until the context ends. Then it writes the remaining statuses once.
func (s *Writer) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			for s.flush(last, time.Hour) && last.Err() == nil {
			}
			s.crew.Wait()
			cancel()
			return
		case <-s.tracker.signal:
		}
		begun := time.Now()
		if s.flush(ctx, s.opts.Interval) {
			workers.Poke(s.tracker.signal)
		}
		select {
		case <-ctx.Done():
		case <-time.After(s.opts.Interval - time.Since(begun)):
		}
	}
}

// flush writes due statuses, each once, in rounds with one of each namespace, so that a tenant with many policies does not delay those of
// others. It begins no round after the given time, and reports whether statuses are left then. It does not wait for slow
// writes: a status in flight is written again when its write ends.
func (s *Writer) flush(ctx context.Context, most time.Duration) (left bool) {
	taken := map[workload.Policy]bool{}
	for begun := time.Now(); !left; left = time.Since(begun) >= most {
		due := s.take(taken)
		if len(due) == 0 {
			break
		}
		for _, id := range due {
			s.crew.Do(func() { s.writeOne(ctx, id) })
		}
	}
	s.crew.Settle()
	s.forgetWritten()
	return left
}

// take returns the due policies of one round, and adds them to the taken ones and to those in flight.
func (s *Writer) take(taken map[workload.Policy]bool) []workload.Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := s.tracker.takeDirty(func(id workload.Policy) bool { return taken[id] || s.writing[id] })
	for _, id := range due {
		taken[id], s.writing[id] = true, true
	}
	return due
}

func (s *Writer) writeOne(ctx context.Context, id workload.Policy) {
	err := s.write(ctx, id)
	s.mu.Lock()
	delete(s.writing, id)
	s.mu.Unlock()
	if err != nil {
		s.opts.Log.V(1).Info("Failed to write the status; will retry", "policy", id.String(), "reason", err.Error())
		time.AfterFunc(time.Second, func() { s.tracker.Dirty(id) })
	}
	if s.tracker.isDirty(id) {
		workers.Poke(s.tracker.signal)
	}
}

// forgetWritten drops written policies delivered by the cache.
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
		time.AfterFunc(s.opts.Interval, func() { workers.Poke(s.tracker.signal) })
	}
}

// write updates the status of one policy if anything in it has changed.
func (s *Writer) write(ctx context.Context, id workload.Policy) error {
	now := s.opts.Clock.Now()
	s.opts.Targets.FireDue()
	snapshot := s.world.Snapshot()
	p := snapshot.Find(id)
	if p == nil || !p.Kind.ActsOnTargets() {
		return nil
	}
	if p.Deleting {
		s.opts.Targets.SetTransition(id, time.Time{})
	} else {
		s.opts.Targets.SetTransition(id, p.State(now).Next)
	}
	if !p.Secured && p.Refused == "" {
		return nil // the write of the finalizer follows in a moment and triggers another status write
	}
	obj := s.freshest(id, p.Object)
	before := obj.DeepCopyObject().(client.Object)
	old, cur := p.Kind.Status(before.(policy.Object)), p.Kind.Status(obj)
	v := s.view(snapshot, p, now, obj.GetGeneration())
	v.faultReason, v.fault = s.opts.Actuators.Report(p, obj)
	v.prove(s.opts.Enforcement)
	s.tracker.noteUnmatched(id, len(v.unmatched) > 0)
	v.fill(cur)
	if order := p.Kind.Meta(obj).Order; order != nil {
		*order = s.order(p)
	}
	activeBefore := s.fillOwnPart(obj, p, v)
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

// maxOpenWaves is the number of other namespaces with an open wave in a status.
const maxOpenWaves = 100

// order returns the open waves of a policy; nil: none. A wave without waiting targets is also in the status. So a
// restarted manager does not wait again for a wave that has timed out.
func (s *Writer) order(p *world.Policy) *v1alpha1.OrderStatus {
	if p.Order == nil || p.Deleting {
		return nil
	}
	waves, waiting := s.opts.Targets.Open(p.ID)
	waves = slices.DeleteFunc(waves, func(h decide.Wave) bool { return h.Waves == 0 || h.Place >= len(p.Order.Waves) })
	if len(waves) == 0 {
		return nil
	}
	wave := waves[0]
	st := &v1alpha1.OrderStatus{
		Direction: "Wake", Wave: p.Order.Waves[wave.Place].Name, OpenWave: openWave(p, &wave),
		WaitsFor: workload.OneLine(wave.Why, 512), Waiting: int32(waiting), Stopped: wave.Stopped,
	}
	if wave.Direction == workload.DirectionDown {
		st.Direction = "Sleep"
	}
	for _, h := range waves[1:min(len(waves), maxOpenWaves+1)] {
		st.Others = append(st.Others, openWave(p, &h))
	}
	return st
}

// openWave returns the wave in its form of the status. In an order across namespaces, its namespace is that of the unfinished object.
func openWave(p *world.Policy, h *decide.Wave) v1alpha1.OpenWave {
	namespace := h.Namespace
	if !p.Order.PerNamespace && h.Why != "" {
		namespace = h.Last.Namespace
	}
	return v1alpha1.OpenWave{Namespace: namespace, Place: int32(h.Place) + 1, Since: metav1.NewMicroTime(h.Since)}
}

// fillOwnPart fills in the fields specific to the policy's kind. It edits the status of the object.
func (s *Writer) fillOwnPart(obj policy.Object, p *world.Policy, v *view) (activeBefore string) {
	reporter := p.Reporter
	if reporter == nil {
		return ""
	}
	var applied []policy.Applied
	if limit := reporter.AppliedLimit(); limit > 0 {
		s.tracker.read(p.ID, func(t *counts) {
			for _, n := range first(t.applied, limit) {
				applied = append(applied, policy.Applied{
					Target: n.ref, Min: numberIn(n.said.Min), Max: numberIn(n.said.Max), Replicas: numberIn(n.said.Replicas),
					Yielding: n.said.Yielding,
				})
			}
		})
	}
	return reporter.FillStatus(obj, v.now, v.state, applied)
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
	s.tracker.observeTransition(id, v.state, v.counts.counts[Pending])
}

// errNoStatus is the error for a policy kind without a status.
var errNoStatus = errors.New("the kind has no policy status")

// RecordBatch records an opened batch in the policy's status before the batch's first change. An error is that of the API server.
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
