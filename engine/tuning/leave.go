package tuning

import (
	"context"

	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// unreadable returns the policies that cannot be read or carried out at present. The learnt state of their targets
// stays, and so do the values that they have set.
func unreadable(s *world.Snapshot) map[string]bool {
	found := map[string]bool{}
	for p := range s.Policies {
		if p.IsBroken() && !p.Deleting {
			found[p.ID.String()] = true
		}
	}
	return found
}

// pruneTargets forgets the targets that are no longer tuned, and deletes their objects.
func (l *Actuator) pruneTargets(ctx context.Context, s *world.Snapshot, tuned map[workload.Ref]*world.Policy) {
	waiting := unreadable(s)
	for ref, x := range l.subjects {
		if tuned[ref] != nil || waiting[x.policy.String()] && s.Object(ref) != nil {
			continue
		}
		if k := s.InUse(ref.GroupKind); k != nil && !k.Live.HasSynced() {
			continue // the target may still exist
		}
		if l.hasPendingRevert(ref) {
			continue // a manager that starts meanwhile finds the pods to restore by the Recommendation
		}
		if isUnadapted(s, ref, x.policy) {
			l.suspendTarget(ctx, s, x)
			continue
		}
		if err := l.store.Remove(ctx, ref); err != nil {
			l.opts.Log.V(1).Info("Failed to delete the objects of an untuned target; will retry", "target", ref.String(), "reason", err.Error())
			continue
		}
		l.subjects[ref].recalled.drop()
		delete(l.subjects, ref)
		l.world.Advise(ref, nil)
		l.audience.Requeue(ref)
	}
}

// isUnadapted reports whether a target is not tuned only because the adapter of its kind is gone or in deletion. The
// adapter may come back, and the policy still exists.
func isUnadapted(s *world.Snapshot, ref workload.Ref, id workload.Policy) bool {
	if k := s.InUse(ref.GroupKind); k != nil && !k.Releasing {
		return false
	}
	p := s.Find(id)
	return p != nil && !p.Deleting && p.Tuner != nil
}

// suspendTarget forgets a target and deletes its Recommendation, but keeps its checkpoint in the cluster: the policy goes on
// from there once the adapter is back.
func (l *Actuator) suspendTarget(ctx context.Context, s *world.Snapshot, x *subject) {
	if x.rests {
		return
	}
	var err error
	if s.Kind(x.ref.GroupKind) != nil {
		err = l.store.Keep(ctx, x.ref, x.uid, x.policy, Kept{x.learner.Keep(), x.recalled.at})
	}
	if err == nil {
		err = l.store.Untell(ctx, x.ref)
	}
	if err != nil {
		l.opts.Log.V(1).Info("Failed to set a target without an adapter aside; will retry", "target", x.ref.String(), "reason", err.Error())
		return
	}
	x.recalled.drop()
	l.subjects[x.ref] = &subject{ref: x.ref, uid: x.uid, policy: x.policy, rests: true}
	l.world.Advise(x.ref, nil)
	l.audience.Requeue(x.ref)
}

// isLeaving reports whether pods may still have to be restored for policies that are gone, including policies without a
// finalizer. Once no pod has to be restored, pods need not be watched for that.
func (l *Actuator) isLeaving() bool {
	if !l.world.Snapshot().Leaving() {
		return false
	}
	if !l.swept || l.resized.OwesAny() {
		return true
	}
	l.world.Update(func(tx *world.Tx) { tx.LeavePods(false) })
	return false
}

// hasPendingRevert reports whether pods of a target may still have to be restored. It returns false if pods are not followed.
func (l *Actuator) hasPendingRevert(ref workload.Ref) bool {
	s := l.world.Snapshot()
	needed, _, _ := tuners(s)
	return (needed || s.Leaving()) && l.resized.Owes(ref)
}

// cleanOrphans removes, once, the leftovers of an earlier manager: objects of targets that lost their policy or adapter while
// no manager ran. Pods of such a target may have been changed in place, so its Recommendation stays until they are
// restored.
func (l *Actuator) cleanOrphans(ctx context.Context, s *world.Snapshot, tuned map[workload.Ref]*world.Policy) {
	if l.swept {
		return
	}
	found, err := l.store.Told(ctx)
	if err != nil {
		l.opts.Log.V(1).Info("Failed to list earlier recommendations; will retry", "reason", err.Error())
		return
	}
	waiting, all := unreadable(s), true
	for _, t := range found {
		if tuned[t.Ref] != nil {
			continue
		}
		if !s.IsSettled(t.GroupKind) || waiting[t.policy] && s.InUse(t.GroupKind) != nil {
			all = false
			continue
		}
		if !l.world.Snapshot().Leaving() {
			l.world.Update(func(tx *world.Tx) { tx.LeavePods(true) })
		}
		if l.hasPendingRevert(t.Ref) {
			all = false
			continue
		}
		remove := l.store.Remove
		if isUnadapted(s, t.Ref, workload.ParsePolicy(t.policy)) {
			remove = l.store.Untell
		}
		if err := remove(ctx, t.Ref); err != nil {
			l.opts.Log.V(1).Info("Failed to delete an earlier recommendation; will retry", "target", t.String(), "reason", err.Error())
			return
		}
	}
	l.swept = all
}
