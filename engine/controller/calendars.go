package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/world"
)

// Calendars keeps the status of calendars: whether their days are readable, and the number of policies that name them.
type Calendars struct {
	World  *world.World
	Client client.Client
	Clock  clock.PassiveClock

	requests Requests[reconcile.Request]
}

// SetupWithManager adds the controller. The error is a refusal of the manager, such as a name in use.
func (c *Calendars) SetupWithManager(mgr ctrl.Manager) error {
	c.World.Observe(c)
	err := ctrl.NewControllerManagedBy(mgr).Named("calendar").
		For(&v1alpha1.Calendar{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(c.requests.Source()).
		WithOptions(Options[reconcile.Request](1, DefaultRetry)).
		Complete(c)
	if err != nil {
		return fmt.Errorf("set up the controller of Calendar: %w", err)
	}
	return nil
}

// AfterPublish implements world.Observer. It queues calendars with a new content or a new number of users, because both
// are in the status.
func (c *Calendars) AfterPublish(_ *world.Snapshot, change *world.Change) {
	for _, name := range change.Calendars {
		c.requests.Add(Named(name))
	}
}

// Reconcile reconciles one calendar. A refused read or write is an error. A fault of the spec is a condition, and no
// error.
func (c *Calendars) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var cal v1alpha1.Calendar
	if err := c.Client.Get(ctx, req.NamespacedName, &cal); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	found, known := c.World.Snapshot().Calendar(cal.Name)
	if !known || found.Generation != cal.Generation {
		return reconcile.Result{}, nil // the change of the world queues the calendar again
	}
	before := cal.DeepCopy()
	now := c.Clock.Now()
	cal.Status.ObservedGeneration = cal.Generation
	condition := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Valid", Message: "every day is valid",
		ObservedGeneration: cal.Generation, LastTransitionTime: metav1.NewTime(now)}
	if note := found.EncodingNote(); note != "" {
		condition.Message += "; " + note
	}
	if len(found.Invalid) > 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "InvalidSpec", found.Invalid.ToAggregate().Error()
	}
	meta.SetStatusCondition(&cal.Status.Conditions, condition)
	setNegative(&cal, v1alpha1.ConditionEventsIgnored, "Unreadable", strings.Join(found.Ignored, "; "), now)
	setNegative(&cal, v1alpha1.ConditionHolidaysUnchecked, "NoList", times.Unchecked(cal.Spec.Holidays, now), now)
	next := setComing(&cal, found, now)
	cal.Status.UsedBy = c.usersOf(cal.Name)
	result := reconcile.Result{RequeueAfter: next.Sub(now)}
	if equality.Semantic.DeepEqual(before.Status, cal.Status) {
		return result, nil
	}
	if err := c.Client.Status().Patch(ctx, &cal, client.MergeFrom(before)); err != nil {
		return reconcile.Result{}, IgnoreStale(fmt.Errorf("write the status of the calendar %s: %w", cal.Name, err))
	}
	return result, nil
}

// setNegative sets a condition that exists only while there is a message for it.
func setNegative(cal *v1alpha1.Calendar, kind, reason, message string, now time.Time) {
	if message == "" {
		meta.RemoveStatusCondition(&cal.Status.Conditions, kind)
		return
	}
	meta.SetStatusCondition(&cal.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason,
		Message: message, ObservedGeneration: cal.Generation, LastTransitionTime: metav1.NewTime(now)})
}

// comingMost is the maximum length of the list of coming days.
const comingMost = 100

// setComing lists the coming days. It returns the next midnight, when the list is out of date.
func setComing(cal *v1alpha1.Calendar, found world.Calendar, now time.Time) (next time.Time) {
	loc, err := timeline.LoadZone(cal.Spec.TimeZone)
	if err != nil {
		loc = time.UTC
	}
	cal.Status.Coming = nil
	for _, d := range found.Days.Coming(now.In(loc), times.ComingDays, comingMost) {
		coming := v1alpha1.CalendarComing{Date: d.First.Format(time.DateOnly), Name: strings.TrimPrefix(d.Name, cal.Name+": ")}
		if d.Last.After(d.First) {
			coming.Until = d.Last.Format(time.DateOnly)
		}
		cal.Status.Coming = append(cal.Status.Coming, coming)
	}
	return timeline.Midnight(now, 1, loc)
}

// usersOf returns the number of policies that name a calendar.
func (c *Calendars) usersOf(name string) int32 {
	var n int32
	for p := range c.World.Snapshot().Policies {
		if slices.Contains(p.Calendars, name) {
			n++
		}
	}
	return n
}
