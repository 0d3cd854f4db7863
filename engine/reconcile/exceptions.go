package reconcile

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
)

// Exceptions keeps the status of freeze exceptions, on the leader: whether they hold, and when that changes.
type Exceptions struct {
	Freezes *Freezes
	Client  client.Client
	Log     logr.Logger
}

// NeedLeaderElection says that one replica is enough.
func (x *Exceptions) NeedLeaderElection() bool { return true }

// Start keeps the statuses until the context ends.
func (x *Exceptions) Start(ctx context.Context) error {
	changed := x.Freezes.Listen()
	select {
	case <-ctx.Done():
		return nil
	case <-x.Freezes.ready:
	}
	for ctx.Err() == nil {
		next, err := x.look(ctx, x.Freezes.opts.Clock.Now())
		pause := hookRecheck
		if err != nil && ctx.Err() == nil {
			x.Log.V(1).Info("the statuses of exceptions will be written again", "reason", err.Error())
			pause = time.Second
		}
		x.Freezes.wait(ctx, pause, next, changed)
	}
	return nil
}

// look writes every status that has changed and says when the next one will.
func (x *Exceptions) look(ctx context.Context, now time.Time) (next time.Time, err error) {
	objects, err := x.list(ctx)
	if err != nil {
		return time.Time{}, err
	}
	for _, obj := range objects {
		changes, failed := x.settle(ctx, obj, now)
		if failed != nil {
			err = failed
		}
		next = earliest(next, changes)
	}
	return next, err
}

func (x *Exceptions) list(ctx context.Context) ([]client.Object, error) {
	var inside v1alpha1.FreezeExceptionList
	if err := x.Client.List(ctx, &inside); err != nil {
		return nil, fmt.Errorf("list freeze exceptions: %w", err)
	}
	var everywhere v1alpha1.ClusterFreezeExceptionList
	if err := x.Client.List(ctx, &everywhere); err != nil {
		return nil, fmt.Errorf("list cluster freeze exceptions: %w", err)
	}
	var out []client.Object
	for i := range inside.Items {
		out = append(out, &inside.Items[i])
	}
	for i := range everywhere.Items {
		out = append(out, &everywhere.Items[i])
	}
	return out, nil
}

// settle writes the status of one exception, if it has changed, and says when it changes next.
func (x *Exceptions) settle(ctx context.Context, obj client.Object, now time.Time) (next time.Time, err error) {
	before := obj.DeepCopyObject().(client.Object)
	st := exceptionStatusOf(obj)
	st.ObservedGeneration = obj.GetGeneration()
	condition := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Valid", Message: "every field is valid",
		ObservedGeneration: obj.GetGeneration(), LastTransitionTime: metav1.NewTime(now)}
	_, compiled, errs := freeze.CompileObject(obj, freeze.Context{Scope: x.Freezes.opts.Scope})
	if len(errs) > 0 {
		st.State, st.Active, st.NextTransitionTime = "Invalid", false, nil
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "InvalidSpec", truncate(errs.ToAggregate().Error(), 2048)
	} else {
		st.State, next = compiled.State(now)
		st.Active, st.NextTransitionTime = compiled.Active(now), timeOf(next)
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
