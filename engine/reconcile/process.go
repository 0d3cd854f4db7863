package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// process processes a target. Afterwards the target is no longer in flight, unless it waits for an obstacle.
func (l *Loop) process(ctx context.Context, ref workload.Ref) (err error) {
	defer func() {
		if !errors.Is(err, errQueued) {
			l.obstacles.Leave(ref)
		}
	}()
	return l.bring(ctx, ref)
}

// bring creates the missing object of a template and brings the target to its plan. After an error the caller must
// retry soon.
func (l *Loop) bring(ctx context.Context, ref workload.Ref) error {
	changed, missing, err := l.templates.Keep(ctx, ref)
	if apierrors.IsForbidden(err) {
		if k := l.world.Snapshot().Kind(ref.GroupKind); k != nil {
			l.keeper.Forbidden(k)
		}
	}
	switch {
	case err != nil && missing:
		l.countMissing(ref)
		return err
	case err != nil:
		return cmp.Or(l.decide(ctx, ref), err)
	case changed:
		return nil // the watch delivers the new object
	}
	return l.decide(ctx, ref)
}

// decide brings a target to its plan.
func (l *Loop) decide(ctx context.Context, ref workload.Ref) error {
	started, entered := time.Now(), l.orders.entered()
	now, snapshot := l.opts.Clock.Now(), l.world.Snapshot()
	known := relatives(snapshot, ref)
	v := decide.Target(ordered{snapshot, l.orders, entered}, ref, now, nil)
	l.Add(l.orders.looked(ref, &v, now)...)
	l.actuators.decided(ref, &v)
	if v.Object == nil {
		l.forget(ref)
		return nil
	}
	l.metrics.decision.Observe(time.Since(started).Seconds())
	l.unseen.see(ref, v.Object.ResourceVersion)
	if len(v.Opinions) == 0 {
		l.tracker.Moved()
	}
	l.rollouts.lookTemplate(ref, &v, now)
	defer l.rollouts.Looked(apply.Turn{Ref: ref})
	l.opts.Savings.Set(ref, v.Kind.Adapter.Savings(v.Object), v.Object.Requests)
	if v.Err == nil && v.Result.Patch != nil && v.Gate.Kind == decide.GateOpen {
		return l.write(ctx, ref, &v, known, now)
	}
	switch {
	case v.Err != nil:
		// Only a change of the object can help, and the watch delivers the change.
		l.requeueAt(ref, v.Wake)
		l.count(ref, &v, status.Outcome{Failure: v.Err.Error()})
	case v.Result.Patch == nil:
		l.requeueAt(ref, timeline.Earliest(v.Wake, l.drift.ContestUntil(ref, now)))
		l.count(ref, &v, status.Outcome{Contested: l.drift.Writer(ref)})
	default:
		l.waitAtGate(ref, &v)
	}
	return nil
}

// waitAtGate records the gate of a write and queues the target for the time when the gate may open.
func (l *Loop) waitAtGate(ref workload.Ref, v *decide.Verdict) {
	out := status.Outcome{Waiting: v.Gate.Reason}
	switch v.Gate.Kind {
	case decide.GateBlocked:
		out.Failure = v.Gate.Reason
	case decide.GateOther:
		if why, failing := l.obstacles.Failing(v.Gate.First); failing {
			out.Failure = fmt.Sprintf("%s, which fails: %s", v.Gate.Reason, why)
		} else {
			l.queue.Add(v.Gate.First)
		}
	case decide.GateOrder:
		if v.Gate.Order.Stopped {
			out.Failure = v.Gate.Reason
		}
		l.tracker.Dirty(v.Gate.Order.Policy)
	case decide.GateFreeze:
		l.frozen.Store(ref, nil)
	}
	l.requeueAt(ref, timeline.Earliest(v.Wake, v.Gate.Until))
	l.count(ref, v, out)
}

// write sends a patch if the rate limits and obstacles allow it. known has the autoscalers and the scale target of the
// object, with their versions at the time of the decision.
func (l *Loop) write(ctx context.Context, ref workload.Ref, v *decide.Verdict, known []relative, now time.Time) error {
	sum := digest(v.Result)
	corrected := v.Result.Corrected || l.drift.Repeated(ref, sum, now)
	if again := l.drift.NotBefore(ref, now, corrected); !again.IsZero() {
		l.requeueAt(ref, timeline.Earliest(v.Wake, again))
		l.count(ref, v, status.Outcome{Waiting: "another writer keeps changing it", Contested: l.drift.Writer(ref)})
		return nil
	}
	if why, failed, ok := l.obstacles.Enter(ref, sum); !ok {
		l.requeueAt(ref, v.Wake)
		l.count(ref, v, heldUp(why, failed))
		return errQueued
	}
	rolls, waits := l.rollouts.takeTemplate(ctx, ref, v, now)
	if waits != "" {
		l.requeueAt(ref, v.Wake)
		l.count(ref, v, status.Outcome{Waiting: waits})
		return nil
	}
	place, ok, err := l.takePlace(ctx, ref, v, now)
	if !ok {
		l.giveBack(ref, sent{rolls: rolls})
		return err
	}
	if err := l.keeper.PutFinalizer(ctx, v.Kind); err != nil {
		l.giveBack(ref, sent{place: place, rolls: rolls})
		l.count(ref, v, status.Outcome{Failure: err.Error()})
		return err
	}
	l.requeueAt(ref, v.Wake)
	s := sent{sum: sum, corrected: corrected, place: place, rolls: rolls, at: now}
	if !l.begin(ref, v.Object.ResourceVersion, known) {
		l.giveBack(ref, s)
		return errBehind
	}
	if ok, err := l.open(ctx, ref, v, s); !ok {
		l.unseen.end(ref, v.Object.ResourceVersion)
		return err
	}
	return l.send(ctx, ref, v, s)
}

// sent has the facts about a write in flight.
type sent struct {
	sum       uint64
	corrected bool
	place     apply.Place
	// rolls is true if the write is a roll-out of a tuning policy and holds one of that policy's roll-out places.
	rolls bool
	at    time.Time
}

// send sends a patch and handles the result.
func (l *Loop) send(ctx context.Context, ref workload.Ref, v *decide.Verdict, s sent) error {
	other := ""
	if s.corrected && l.drift.NeedsWriterName(ref, s.at) {
		other = l.writer.OtherWriter(ctx, v.Kind.Resource, v.Object, v.Result.Changed)
	}
	result, err := l.patch(ctx, ref, v)
	switch result {
	case apply.Applied:
		l.landed(ref, v, s, other)
		return nil
	case apply.Unchanged:
		l.giveBack(ref, sent{rolls: s.rolls})
		l.undone(ref, v, s)
		return nil
	}
	l.giveBack(ref, s)
	if result.IsFailure() {
		return l.failed(ref, v, s, result, err)
	}
	return errBehind // the watch delivers the change; if it already has, the retry sees the change
}

// patch sends the patch of a verdict. The write must be recorded in unseen. A write without effect is removed there.
func (l *Loop) patch(ctx context.Context, ref workload.Ref, v *decide.Verdict) (apply.Outcome, error) {
	sending := time.Now()
	result, err := l.writer.Apply(ctx, v.Kind.Resource, v.Object, v.Result.Patch)
	l.metrics.wrote(v, l.world.Snapshot().Find(v.Result.By) != nil, result, time.Since(sending))
	if result != apply.Applied {
		l.unseen.end(ref, v.Object.ResourceVersion)
	}
	return result, err
}

// landed handles a successful write. other is the field manager that had overwritten the value before, or empty if
// unknown.
func (l *Loop) landed(ref workload.Ref, v *decide.Verdict, s sent, other string) {
	l.announce(ref, v)
	l.status.AnnounceDropped(v)
	l.drift.Wrote(ref, s.sum, s.at)
	if s.corrected {
		l.drift.Corrected(ref, s.at, other)
	}
	l.obstacles.Passed(ref)
}

// undone handles a write that succeeded without effect. No watch event follows, so the write is retried after the
// pauses of a contest.
func (l *Loop) undone(ref workload.Ref, v *decide.Verdict, s sent) {
	l.obstacles.Passed(ref)
	l.drift.Wrote(ref, s.sum, s.at)
	l.drift.RecordReverted(ref, s.at)
	l.requeueAt(ref, timeline.Earliest(v.Wake, l.drift.NotBefore(ref, s.at, true)))
	l.count(ref, v, status.Outcome{Waiting: "an admission webhook undoes the change", Contested: l.drift.Writer(ref)})
}

// failed handles a refused or failed write. The target then waits together with all other targets of the same
// obstacle.
func (l *Loop) failed(ref workload.Ref, v *decide.Verdict, s sent, result apply.Outcome, err error) error {
	if apierrors.IsForbidden(err) {
		l.keeper.Forbidden(v.Kind)
	}
	why, reason := refusal(v, s.at, err), reasonOf(err)
	_, before := l.obstacles.Failing(ref)
	answer, counted, first := l.obstacles.Failed(ref, reason, s.sum, why, result == apply.Refused)
	l.count(ref, v, heldUp(answer, counted))
	if counted && !before {
		for _, r := range relatives(l.world.Snapshot(), ref) { // a relative may wait for this write
			l.queue.Add(r.ref)
		}
	}
	if first {
		l.opts.Log.Error(err, "Failed to write a target; further failures for the same reason are not logged", "target", ref.String(), "policy",
			v.Result.By.String(), "reason", reason)
	}
	return errQueued
}

// heldUp returns the outcome of a target that waits for an obstacle.
func heldUp(why string, failed bool) status.Outcome {
	if failed {
		return status.Outcome{Failure: why}
	}
	return status.Outcome{Waiting: why}
}

// reasonOf returns the kind of an error. Errors that differ only in their object have the same kind.
func reasonOf(err error) string {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		return fmt.Sprintf("%d %s", answer.Status().Code, answer.Status().Reason)
	}
	return "no answer"
}

// takePlace takes a place in the batch of the policy behind a change. Without a rate limit it takes no place, and ok
// is true. If ok is false, the target waits for a later batch, or is retried because of the error.
func (l *Loop) takePlace(ctx context.Context, ref workload.Ref, v *decide.Verdict, now time.Time) (place apply.Place, ok bool, err error) {
	key := apply.BatchKey{Policy: v.Result.By, Direction: v.Result.Direction}
	limit := decide.LimitOf(l.world.Snapshot(), v)
	if limit.Batch == 0 {
		return apply.Place{}, true, nil
	}
	place, again, err := l.batches.Take(ctx, key, limit.Batch, limit.Delay, now)
	switch {
	case errors.Is(err, apply.ErrOpening):
		l.count(ref, v, status.Outcome{Waiting: "waits for its batch"})
		return place, false, ErrSoon
	case err != nil:
		l.count(ref, v, status.Outcome{Failure: err.Error()})
		return place, false, err
	case !again.IsZero():
		l.requeueAt(ref, timeline.Earliest(v.Wake, again))
		l.count(ref, v, status.Outcome{Waiting: "waits for its batch"})
		return place, false, nil
	}
	return place, true, nil
}

// refusal returns the message for a failed write. If the API server refuses bounds as invalid, the message begins
// with the fields of policies that claim these bounds.
func refusal(v *decide.Verdict, now time.Time, err error) string {
	if !apierrors.IsInvalid(err) {
		return err.Error()
	}
	var asked []string
	for _, b := range []struct {
		facet string
		claim *workload.Claim[int64]
	}{{"min", v.Plan.Min}, {"max", v.Plan.Max}} {
		written := func(pointer string) bool { return v.Kind.Adapter.BoundAt(pointer) == b.facet }
		if b.claim == nil || !slices.ContainsFunc(v.Result.Changed, written) {
			continue
		}
		i := slices.IndexFunc(v.Opinions, func(o decide.Opinion) bool { return o.Policy.ID == b.claim.By })
		if i < 0 {
			continue
		}
		if name := v.Opinions[i].Policy.Field(now, b.facet); name != "" {
			asked = append(asked, fmt.Sprintf("%s of %s: %d is refused", name, b.claim.By, b.claim.Value))
		}
	}
	return strings.Join(append(asked, err.Error()), ": ")
}

// giveBack returns the batch place and the roll-out place of a write that had no effect.
func (l *Loop) giveBack(ref workload.Ref, s sent) {
	l.batches.Return(s.place)
	if s.rolls {
		l.rollouts.Return(apply.Turn{Ref: ref})
	}
}

// announce logs a change and records its time as the last change of the policy, for the lag of the transition.
func (l *Loop) announce(ref workload.Ref, v *decide.Verdict) {
	if v.Result.Direction == workload.DirectionNone {
		return
	}
	l.opts.Log.V(1).Info("Changed the target", "target", ref.String(), "policy", v.Result.By.String(), "direction",
		v.Result.Direction.String(), "change", v.Result.Message)
	l.tracker.Written(v.Result.By)
}

// requeueAt queues a target at an instant. Zero means only after an event.
func (l *Loop) requeueAt(ref workload.Ref, at time.Time) {
	l.timer.Set(key{target: ref}, timeline.Earliest(at, l.rollouts.Deadline(ref)))
}

// count records a target's outcome under each policy involved.
func (l *Loop) count(ref workload.Ref, v *decide.Verdict, out status.Outcome) {
	marks := status.Marks(v, out)
	for i := range marks {
		if why := l.templates.Failure(ref, marks[i].Policy); why != "" && marks[i].Failure == "" {
			marks[i].Failure, marks[i].State = why, status.Failed
		}
	}
	l.actuators.mark(ref, v.Opinions, marks)
	l.rollouts.mark(ref, marks)
	l.tracker.Count(ref, marks)
}

// countMissing counts an object whose creation has failed, under the policies whose templates describe it.
func (l *Loop) countMissing(ref workload.Ref) {
	var v decide.Verdict
	for _, p := range l.templates.WantedBy(ref) {
		v.Opinions = append(v.Opinions, decide.Opinion{Policy: &p.Policy, Class: workload.ClassKeep})
	}
	l.count(ref, &v, status.Outcome{})
}

// countAsFailed counts a target as failed under every policy that selects it, after a fault in Flyball.
func (l *Loop) countAsFailed(ref workload.Ref, fault error) {
	var marks []status.TargetResult
	snapshot := l.world.Snapshot()
	k, obj := snapshot.Kind(ref.GroupKind), snapshot.Object(ref)
	if k == nil || obj == nil {
		return
	}
	labels := snapshot.Namespace(obj.Namespace).Labels
	snapshot.EachPolicyFor(k.GroupKind, obj, labels, l.opts.Clock.Now(), func(p *decide.Policy) {
		if p.Selects(k, obj, labels) && !decide.LeavesAlone(snapshot, p, k, obj) {
			marks = append(marks, status.TargetResult{Policy: p.ID, State: status.Failed, Failure: "a fault in Flyball, please report it: " +
				fault.Error()})
		}
	})
	l.tracker.Count(ref, marks)
}

// forget drops everything about a deleted target.
func (l *Loop) forget(ref workload.Ref) {
	l.rollouts.forgetTarget(ref)
	l.requeueAt(ref, time.Time{})
	l.drift.Forget(ref)
	l.unseen.see(ref, "")
	l.opts.Savings.Set(ref, nil, nil)
	l.tracker.Count(ref, nil)
	l.tracker.Moved()
	snapshot := l.world.Snapshot()
	named := workload.Object{Namespace: ref.Namespace, Name: ref.Name}
	snapshot.EachPolicyFor(ref.GroupKind, &named, snapshot.Namespace(ref.Namespace).Labels, l.opts.Clock.Now(), func(p *decide.Policy) {
		if p.Selection().ListsName(ref.Name) {
			l.tracker.Dirty(p.ID) // a name in the policy may match nothing any more
		}
	})
}

var _ world.Foreseer = (*Loop)(nil)
