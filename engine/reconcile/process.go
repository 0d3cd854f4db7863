package reconcile

import (
	"cmp"
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/reconcile/gate"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// process processes a target. Afterwards the target waits only at the gates that its write has asked to enter.
func (l *Loop) process(ctx context.Context, ref workload.Ref) error {
	w := &gate.Write{Ref: ref}
	defer l.gates.Withdraw(w)
	return l.bring(ctx, w)
}

// bring creates the missing object of a template and brings the target to its plan. After an error the caller must
// retry soon.
func (l *Loop) bring(ctx context.Context, w *gate.Write) error {
	changed, missing, err := l.templates.Keep(ctx, w.Ref)
	if apierrors.IsForbidden(err) {
		if k := l.world.Snapshot().Kind(w.Ref.GroupKind); k != nil {
			l.keeper.Forbidden(k)
		}
	}
	switch {
	case err != nil && missing:
		l.countMissing(w.Ref, status.Outcome{})
		return err
	case err != nil:
		return cmp.Or(l.decide(ctx, w), err)
	case changed:
		return nil // the watch delivers the new object
	case missing:
		l.countMissing(w.Ref, status.Outcome{Waiting: "it is still to be created"})
		return nil
	}
	return l.decide(ctx, w)
}

// decide decides about a target, and brings it to its plan.
func (l *Loop) decide(ctx context.Context, w *gate.Write) error {
	ref, started, entered := w.Ref, time.Now(), l.wave.Entered()
	now, snapshot := l.opts.Clock.Now(), l.world.Snapshot()
	w.Relatives = gate.RelativesOf(snapshot, ref)
	v := decide.Target(l.wave.World(snapshot, entered), ref, now, nil)
	w.Verdict, w.Now = &v, now
	l.Add(l.wave.Decided(ref, &v, now)...)
	l.actuators.decided(ref, &v)
	if v.Object == nil {
		l.forget(ref)
		return nil
	}
	l.metrics.decision.Observe(time.Since(started).Seconds())
	l.inflight.See(ref, v.Object.ResourceVersion)
	if len(v.Opinions) == 0 {
		l.tracker.Moved()
	}
	l.opts.Savings.Set(ref, v.Kind.Adapter.Savings(v.Object), v.Object.Requests)
	switch {
	case v.Err != nil:
		// Only a change of the object can help, and the watch delivers the change.
		l.requeueAt(ref, v.Wake)
		l.count(ref, &v, status.Outcome{Failure: v.Err.Error()})
	case v.Result.Patch == nil:
		l.batch.Forget(ref)
		l.requeueAt(ref, timeline.Earliest(v.Wake, l.contest.Until(ref, now)))
		l.count(ref, &v, status.Outcome{Contested: l.contest.Writer(ref)})
	default:
		return l.write(ctx, w)
	}
	return nil
}

// write sends a patch through the gates.
func (l *Loop) write(ctx context.Context, w *gate.Write) error {
	_, wait := l.gates.Pass(ctx, w, l.send)
	if wait == nil {
		wait = &gate.Wait{}
	}
	l.requeueAt(w.Ref, timeline.Earliest(w.Verdict.Wake, wait.Until))
	if wait.Outcome != (status.Outcome{}) {
		l.count(w.Ref, w.Verdict, wait.Outcome)
	}
	return wait.Err
}

// send sends the patch of a write that has passed the gates.
func (l *Loop) send(ctx context.Context, w *gate.Write) gate.End {
	if end := l.open(ctx, w); end != nil {
		return *end
	}
	v := w.Verdict
	l.contest.FindWriter(w, func() string { return l.writer.OtherWriter(ctx, v.Kind.Resource, v.Object, v.Result.Changed) })
	end := l.patch(ctx, w)
	if end.Outcome == apply.Applied {
		l.announce(w.Ref, v)
		l.status.AnnounceDropped(v)
	}
	return end
}

// patch sends the patch of a write, without its autoscalers.
func (l *Loop) patch(ctx context.Context, w *gate.Write) gate.End {
	sending, v := time.Now(), w.Verdict
	result, err := l.writer.Apply(ctx, v.Kind.Resource, v.Object, v.Result.Patch)
	l.metrics.wrote(v, l.world.Snapshot().Find(v.Result.By) != nil, result, time.Since(sending))
	if result.IsFailure() && apierrors.IsForbidden(err) {
		l.keeper.Forbidden(v.Kind)
	}
	return gate.End{Outcome: result, Err: err}
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
func (l *Loop) requeueAt(ref workload.Ref, at time.Time) { l.timer.Set(key{target: ref}, at) }

// count records a target's outcome under each policy involved.
func (l *Loop) count(ref workload.Ref, v *decide.Verdict, out status.Outcome) {
	marks := status.Marks(v, out)
	for i := range marks {
		if why := l.templates.Failure(ref, marks[i].Policy); why != "" && marks[i].Failure == "" {
			marks[i].Failure, marks[i].State = why, status.Failed
		}
	}
	l.actuators.mark(ref, v.Opinions, marks)
	l.tracker.Count(ref, marks)
}

// countMissing counts an object that is not created yet, under the policies whose templates describe it.
func (l *Loop) countMissing(ref workload.Ref, out status.Outcome) {
	var v decide.Verdict
	for _, p := range l.templates.WantedBy(ref) {
		v.Opinions = append(v.Opinions, decide.Opinion{Policy: &p.Policy, Class: workload.ClassKeep})
	}
	l.count(ref, &v, out)
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
	l.gates.Forget(ref)
	l.requeueAt(ref, time.Time{})
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

var _ world.EarlyObserver = (*Loop)(nil)
