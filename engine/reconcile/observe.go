package reconcile

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// BeforePublish implements world.EarlyObserver. It marks the targets of a changed policy as pending before the policy's
// new form is published, so that no status counts them as settled. It does the same for newly selected targets.
func (l *Loop) BeforePublish(before, next *world.Snapshot, c *world.Change) {
	for _, p := range c.Policies {
		if p.Old != nil && p.New != nil && l.asksOtherwise(p.Old, p.New) {
			var refs []workload.Ref
			before.EachTarget(p.Old, func(ref workload.Ref) { refs = append(refs, ref) })
			l.tracker.Await(refs)
		}
		if p.New != nil {
			for _, k := range next.Kinds() {
				l.expect(next, p.New, k)
			}
		}
	}
	for _, gk := range c.Kinds {
		if k := next.InUse(gk); k != nil {
			for p := range next.Policies {
				l.expect(next, p, k)
			}
		}
	}
}

// expect marks the objects that a policy selects as pending, unless they were already decided under this policy.
func (l *Loop) expect(s *world.Snapshot, p *world.Policy, k *world.LiveKind) {
	if p.Deleting || !p.Kind.ActsOnTargets() {
		return
	}
	s.EachSelected(p, k, func(ref workload.Ref) {
		if obj := s.Object(ref); obj != nil && !decide.LeavesAlone(s, &p.Policy, k.Kind, obj) {
			l.tracker.Expect(p.ID, ref)
		}
	})
}

// asksOtherwise reports whether the new form of a policy may make different claims on its targets.
func (l *Loop) asksOtherwise(old, next *world.Policy) bool {
	if old.Object.GetGeneration() != next.Object.GetGeneration() || len(old.Invalid) != len(next.Invalid) {
		return true
	}
	now := l.opts.Clock.Now()
	return !sameState(old.State(now), next.State(now))
}

func sameState(a, b policy.Summary) bool {
	return a.Name == b.Name && a.Active == b.Active && a.Since.Equal(b.Since) && a.Next.Equal(b.Next)
}

// AfterPublish implements world.Observer.
func (l *Loop) AfterPublish(now *world.Snapshot, c *world.Change) {
	for _, p := range c.Policies {
		l.policyChanged(now, p)
	}
	for _, gk := range c.Kinds {
		if k := now.InUse(gk); k != nil {
			l.queueKind(now, k)
			l.Add(l.templates.OfKind(k)...)
			l.queueHolders(now, k)
			l.dirtyPoliciesOf(now, k)
			l.queueControlledBy(now, gk)
		}
	}
	for _, k := range c.Dropped {
		l.queueKind(now, k)
		l.dirtyPoliciesOf(now, k)
		l.queueControlledBy(now, k.GroupKind)
	}
}

func (l *Loop) policyChanged(now *world.Snapshot, c world.PolicyChange) {
	if c.Old == nil && l.Started() {
		l.resumeBatches(c.New)
	}
	if c.New == nil {
		l.timer.Set(key{policy: c.ID}, time.Time{})
		l.batches.Forget(c.ID)
		l.wave.ForgetPolicy(c.ID)
		l.status.Forget(c.ID)
		l.opts.Savings.ForgetPolicy(c.ID)
		l.metrics.forgetPolicy(c.ID)
	} else {
		if c.Old != nil && c.Old.Object.GetGeneration() != c.New.Object.GetGeneration() {
			l.wave.ForgetPolicy(c.ID) // the new form may have different waves
		}
		l.tracker.Dirty(c.ID)
	}
	l.Add(l.templates.Follow(c)...)
	for _, p := range []*world.Policy{c.Old, c.New} {
		if p != nil {
			now.EachTarget(p, func(ref workload.Ref) {
				now.Related(ref, l.queue.Add)
			})
		}
	}
}

// resumeBatches restores from the status the batches, and the wave for which targets wait, of an earlier run.
func (l *Loop) resumeBatches(p *world.Policy) {
	if !p.Kind.ActsOnTargets() {
		return
	}
	if meta.IsStatusConditionTrue(p.Kind.Status(p.Object).Conditions, v1alpha1.ConditionDryRun) {
		return // nothing of it has happened
	}
	l.wave.Resume(p)
	for _, b := range []struct {
		batch     *v1alpha1.BatchStatus
		direction workload.Direction
	}{
		{p.Kind.Status(p.Object).DownscaleBatch, workload.DirectionDown},
		{p.Kind.Status(p.Object).UpscaleBatch, workload.DirectionUp},
	} {
		if b.batch != nil {
			l.batches.Resume(apply.BatchKey{Policy: p.ID, Direction: b.direction}, b.batch.OpenedAt.Time)
		}
	}
}

// queueKind queues the objects of a kind and all objects related to them (see Snapshot.Related), because the claim of a
// policy on an object can also change a related object.
func (l *Loop) queueKind(now *world.Snapshot, k *world.LiveKind) {
	k.Live.Range(func(obj *workload.Object) bool {
		now.Related(k.Ref(obj), l.queue.Add)
		return true
	})
}

// queueControlledBy queues the objects that objects of a kind control, and all objects related to them. Policies leave
// such an object alone for a different reason once the kind has an adapter.
func (l *Loop) queueControlledBy(now *world.Snapshot, by schema.GroupKind) {
	for _, k := range now.Kinds() {
		k.Live.Range(func(obj *workload.Object) bool {
			if obj.OwnerReference != nil && obj.OwnerReference.GroupKind == by {
				now.Related(k.Ref(obj), l.queue.Add)
			}
			return true
		})
	}
}

// queueHolders queues the targets of policies that hold owners, if objects of the kind can be owners: a target waits
// until the records of all owners are read, also a target without an owner.
func (l *Loop) queueHolders(now *world.Snapshot, k *world.LiveKind) {
	if !k.Adapter.CanOwn() {
		return
	}
	for p := range now.Policies {
		if p.HoldsOwners {
			now.EachTarget(p, l.queue.Add)
		}
	}
}

// dirtyPoliciesOf schedules a new look at the status of the policies involved with a kind.
func (l *Loop) dirtyPoliciesOf(now *world.Snapshot, k *world.LiveKind) {
	for p := range now.Policies {
		if p.SpeaksOf(k.GroupKind) {
			l.tracker.Dirty(p.ID)
		}
	}
}

// NamespaceChanged queues the objects of a namespace after a change of labels, annotations or deletion state.
func (l *Loop) NamespaceChanged(name string) {
	now := l.world.Snapshot()
	l.tracker.Moved()
	now.EachPolicy(name, func(p *decide.Policy) { l.tracker.Dirty(p.ID) }) // a name in the policy may match nothing any more
	if now.Namespace(name).Unknown {
		l.opts.Savings.ForgetNamespace(name)
	}
	for _, k := range now.Kinds() {
		k.Live.RangeNamespace(name, func(obj *workload.Object) bool {
			l.queue.Add(k.Ref(obj))
			return true
		})
	}
}

// followFreezes queues all targets waiting for a freeze whenever an input of admission verdicts has changed.
func (l *Loop) followFreezes(ctx context.Context) {
	changed := l.world.Listen()
	for {
		l.freeze.Release(l.Add)
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}
