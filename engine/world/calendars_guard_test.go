package world_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admit"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/world"
)

// rights answers access reviews and counts them.
type rights struct {
	allows func(authorizationv1.ResourceAttributes) bool
	asked  int
}

func (r *rights) Create(_ context.Context, review *authorizationv1.SubjectAccessReview,
	_ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	r.asked++
	review.Status.Allowed = r.allows(*review.Spec.ResourceAttributes)
	return review, nil
}

// calendarGuard returns the validator of calendars in a world at a time.
func calendarGuard(w *world.World, r *rights, at time.Time) admit.Validator {
	g := &admit.Guard{Freezes: w, Rights: r, Clock: clocktesting.NewFakePassiveClock(at)}
	pass := admit.ValidatorFunc(func(context.Context, admit.Request) ([]string, field.ErrorList, error) { return nil, nil, nil })
	return g.Calendar(pass, w.Snapshot().Including).Validator
}

// A user with override on all freezes edits a calendar with one check, even if a thousand freezes of a tenant use the
// calendar. A user with override in one namespace needs the verb on each freeze.
func TestOneCheckCoversAllFreezesOfAKind(t *testing.T) {
	w := world.New(selector.Scope{})
	w.Update(func(tx *world.Tx) {
		tx.SetCalendar(including("a", 1))
		for i := range 1000 {
			f, _ := onDaysOf("a", v1alpha1.EffectFrozen)
			f.Name = fmt.Sprintf("days-%d", i)
			f.UID = types.UID(f.Name)
			tx.SetPolicy(kind(freeze.Kind), f)
		}
	})
	edit := admit.Request{Old: including("a", 1), New: including("a", 2), SpecChanged: true}
	onDay := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for reason, c := range map[string]struct {
		allows  func(authorizationv1.ResourceAttributes) bool
		allowed bool
		asked   int
	}{
		"all freezes":   {func(a authorizationv1.ResourceAttributes) bool { return a.Verb == admit.VerbOverride }, true, 1},
		"one namespace": {func(a authorizationv1.ResourceAttributes) bool { return a.Namespace == "shop" }, true, 1001},
		"one freeze":    {func(a authorizationv1.ResourceAttributes) bool { return a.Name == "days-0" }, false, 3},
		"none":          {func(authorizationv1.ResourceAttributes) bool { return false }, false, 2},
	} {
		r := &rights{allows: c.allows}
		_, _, err := calendarGuard(w, r, onDay).Validate(t.Context(), edit)
		if (err == nil) != c.allowed || r.asked != c.asked {
			t.Errorf("override on %s: %d checks, want %d, and the error %v", reason, r.asked, c.asked, err)
		}
	}
}

// All calendars of a long chain of includes are found from its end.
func TestIncludersOfAChainAreFound(t *testing.T) {
	const calendars = 60
	w := world.New(selector.Scope{})
	w.Update(func(tx *world.Tx) {
		for i := calendars; i > 0; i-- {
			c := including("a", 1, fmt.Sprintf("c-%d", i+1))
			c.Name, c.UID = fmt.Sprintf("c-%d", i), ""
			tx.SetCalendar(c)
		}
	})
	if found := w.Snapshot().Including(fmt.Sprintf("c-%d", calendars+1)); len(found) != calendars+1 {
		t.Errorf("found %d calendars, want %d", len(found), calendars+1)
	}
}
