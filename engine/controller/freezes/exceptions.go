package freezes

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Exceptions keeps the status of freeze exceptions, on the leader: whether an exception is active, and the time of
// the next change.
type Exceptions struct {
	World  *world.World
	Client client.Client
	Clock  clock.WithTicker
	Log    logr.Logger
}

// Start keeps the statuses until the context ends. The error is always nil.
func (x *Exceptions) Start(ctx context.Context) error {
	follow(ctx, x.World, x.Clock, nil, func(now time.Time) (pause time.Duration, at time.Time) {
		next, err := x.update(ctx, now)
		if err != nil && ctx.Err() == nil {
			x.Log.V(1).Info("Failed to write the statuses of exceptions; will retry", "reason", err.Error())
			pause = time.Second
		}
		return pause, next
	})
	return nil
}

// update writes every changed status and returns the time of the next change.
func (x *Exceptions) update(ctx context.Context, now time.Time) (next time.Time, err error) {
	for p := range x.World.Snapshot().Policies {
		if freeze.ExceptionStatusOf(p.Object) == nil {
			continue
		}
		changes, failed := x.settle(ctx, p, now)
		if failed != nil {
			err = failed
		}
		next = timeline.Earliest(next, changes)
	}
	return next, err
}

// settle writes the status of one exception if it has changed, and returns the time of the next change.
func (x *Exceptions) settle(ctx context.Context, p *world.Policy, now time.Time) (next time.Time, err error) {
	before, obj := p.Object, p.Object.DeepCopyObject().(policy.Object)
	st := freeze.ExceptionStatusOf(obj)
	st.ObservedGeneration = obj.GetGeneration()
	condition := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Valid",
		Message:            "every field is valid",
		ObservedGeneration: obj.GetGeneration(), LastTransitionTime: metav1.NewTime(now)}
	if errs := p.Invalid; len(errs) > 0 {
		st.State, st.Active, st.NextTransitionTime = "Invalid", false, nil
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "InvalidSpec",
			workload.OneLine(errs.ToAggregate().Error(), 2048)
	} else {
		e := freeze.ExceptionOf(p.Policy.Policy)
		st.State, next = e.State(now)
		st.Active, st.NextTransitionTime = e.Active(now), status.TimeOf(next)
	}
	meta.SetStatusCondition(&st.Conditions, condition)
	if equality.Semantic.DeepEqual(before, obj) {
		return next, nil
	}
	if err := x.Client.Status().Patch(ctx, obj, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return next, fmt.Errorf("write the status of %s: %w", client.ObjectKeyFromObject(obj), err)
	}
	return next, nil
}
