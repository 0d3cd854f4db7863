// Package calendar keeps the status of calendars: whether their days are readable, and the number of policies
// that name them.
package calendar

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/controller"
	"flyball.dev/flyball/engine/policy/when"
	"flyball.dev/flyball/engine/world"
)

// Controller reconciles calendars.
type Controller struct {
	World  *world.World
	Client client.Client
	Clock  clock.PassiveClock

	requests controller.Requests
}

// SetupWithManager adds the controller.
func (c *Controller) SetupWithManager(mgr ctrl.Manager) error {
	c.World.Observe(c)
	err := ctrl.NewControllerManagedBy(mgr).Named("calendar").
		For(&v1alpha1.Calendar{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(c.requests.Source()).
		WithOptions(controller.Options(1, controller.DefaultRetry)).
		Complete(c)
	if err != nil {
		return fmt.Errorf("set up the controller of Calendar: %w", err)
	}
	return nil
}

// Changed implements world.Observer: calendars count their users.
func (c *Controller) Changed(_ *world.Snapshot, change *world.Change) {
	for _, name := range change.Calendars {
		c.requests.Add("", name)
	}
}

// Reconcile reconciles one calendar.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var cal v1alpha1.Calendar
	if err := c.Client.Get(ctx, req.NamespacedName, &cal); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	before := cal.DeepCopy()
	cal.Status.ObservedGeneration = cal.Generation
	condition := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Valid", Message: "every day is valid",
		ObservedGeneration: cal.Generation, LastTransitionTime: metav1.NewTime(c.Clock.Now())}
	if _, errs := when.Calendar(cal.Name, cal.Spec, field.NewPath("spec")); len(errs) > 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "InvalidSpec", errs.ToAggregate().Error()
	}
	meta.SetStatusCondition(&cal.Status.Conditions, condition)
	cal.Status.UsedBy = c.usersOf(cal.Name)
	if equality.Semantic.DeepEqual(before.Status, cal.Status) {
		return reconcile.Result{}, nil
	}
	if err := c.Client.Status().Patch(ctx, &cal, client.MergeFrom(before)); err != nil {
		return reconcile.Result{}, controller.IgnoreStale(fmt.Errorf("write the status of the calendar %s: %w", cal.Name, err))
	}
	return reconcile.Result{}, nil
}

// usersOf returns the number of policies that name a calendar.
func (c *Controller) usersOf(name string) int32 {
	var n int32
	for p := range c.World.Snapshot().Policies {
		if slices.Contains(p.Calendars, name) {
			n++
		}
	}
	return n
}
