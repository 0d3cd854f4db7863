package world_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/crds/v1alpha1"
	freezeadmission "flyball.dev/flyball/engine/admission/freeze"
	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/admission/rights"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// counted answers access reviews and counts them.
type counted struct {
	allows func(authorizationv1.ResourceAttributes) bool
	asked  int
}

func (r *counted) Create(_ context.Context, review *authorizationv1.SubjectAccessReview,
	_ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	r.asked++
	review.Status.Allowed = r.allows(*review.Spec.ResourceAttributes)
	return review, nil
}

// onlyA is an API server with the calendar a and no other object.
type onlyA struct{ freezeadmission.Lookups }

func (onlyA) Metadata(_ context.Context, resource schema.GroupVersionResource, _, name string) (*metav1.PartialObjectMetadata, error) {
	if name == "a" {
		return &metav1.PartialObjectMetadata{}, nil
	}
	return nil, apierrors.NewNotFound(resource.GroupResource(), name)
}

// calendarGuard returns the validator of calendars in a world at a time.
func calendarGuard(w *world.World, r *counted, at time.Time) review.Validator {
	g := &freezeadmission.Guard{Freezes: w, Objects: onlyA{}, Rights: r, Clock: clocktesting.NewFakePassiveClock(at),
		Context: freeze.Context{Calendars: w.Snapshot().Days, Lost: w.Snapshot().Lost}}
	pass := review.ValidatorFunc(func(context.Context, review.Request) ([]string, field.ErrorList, error) { return nil, nil, nil })
	return g.Calendar(pass, w.Snapshot().Including).Validator
}

// A user with override on all freezes edits a calendar with one check, even if a thousand freezes use the calendar. A user
// with override on some freezes needs the verb on each.
func TestOneCheckCoversAllFreezesOfAKind(t *testing.T) {
	w := world.New(selector.Scope{})
	w.Update(func(tx *world.Tx) {
		tx.SetCalendar(including("a", 1))
		for i := range 1000 {
			f, _ := everywhere(onDaysOf("a", v1alpha1.EffectFrozen))
			f.Name = fmt.Sprintf("days-%d", i)
			f.UID = types.UID(f.Name)
			tx.SetPolicy(kind(freeze.ClusterKind), f)
		}
	})
	edit := review.Request{Old: including("a", 1), New: including("a", 2), SpecChanged: true}
	onDay := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for reason, c := range map[string]struct {
		allows  func(authorizationv1.ResourceAttributes) bool
		allowed bool
		asked   int
	}{
		"all freezes": {func(a authorizationv1.ResourceAttributes) bool { return a.Verb == rights.VerbOverride }, true, 1},
		"each freeze": {func(a authorizationv1.ResourceAttributes) bool { return a.Name != "" }, true, 1001},
		"one freeze":  {func(a authorizationv1.ResourceAttributes) bool { return a.Name == "days-0" }, false, 3},
		"none":        {func(authorizationv1.ResourceAttributes) bool { return false }, false, 2},
	} {
		r := &counted{allows: c.allows}
		_, _, err := calendarGuard(w, r, onDay).Validate(t.Context(), edit)
		if (err == nil) != c.allowed || r.asked != c.asked {
			t.Errorf("override on %s: %d checks, want %d, and the error %v", reason, r.asked, c.asked, err)
		}
	}
}

// A freeze of one namespace stops no editor of calendars, whose work is for the cluster: not before the freeze, not on its days,
// and not when the calendar is new.
func TestAFreezeOfOneNamespaceGuardsNoCalendar(t *testing.T) {
	for _, effect := range []v1alpha1.FreezeEffect{v1alpha1.EffectFrozen, v1alpha1.EffectChangesOpen} {
		w := world.New(selector.Scope{})
		f, _ := onDaysOf("a", effect)
		w.Update(func(tx *world.Tx) {
			tx.SetCalendar(including("a", 1, "bb"))
			tx.SetCalendar(including("bb", 1))
			tx.SetPolicy(kind(freeze.Kind), f)
		})
		for reason, req := range map[string]review.Request{
			"an edit":                     {Old: including("a", 1, "bb"), New: including("a", 2), SpecChanged: true},
			"a missing include":           {Old: including("a", 1, "bb"), New: including("a", 2, "ccc"), SpecChanged: true},
			"the deletion":                {Old: including("a", 1, "bb")},
			"the deletion of an include":  {Old: including("bb", 1)},
			"the creation, by its name":   {New: including("a", 1), SpecChanged: true},
			"the creation of an included": {New: including("bb", 1), SpecChanged: true},
		} {
			onDay := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			r := &counted{allows: func(authorizationv1.ResourceAttributes) bool { return false }}
			if _, errs, err := calendarGuard(w, r, onDay).Validate(t.Context(), req); len(errs) > 0 || err != nil || r.asked > 0 {
				t.Errorf("%s with %s: %d checks, %v, %v", reason, effect, r.asked, errs, err)
			}
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

// A calendar of a freeze never loses an include by a write: the write that comes too early or too late is refused, although its
// author may override the freeze.
func TestNoWriteBreaksACalendarOfAFreeze(t *testing.T) {
	w := world.New(selector.Scope{})
	f, _ := everywhere(onDaysOf("a", v1alpha1.EffectFrozen))
	w.Update(func(tx *world.Tx) {
		tx.SetCalendar(including("a", 1, "bb"))
		tx.SetCalendar(including("bb", 1))
		tx.SetCalendar(including("broken", 1, "nowhere"))
		tx.SetCalendar(including("free", 1, "bb"))
		tx.SetPolicy(kind(freeze.ClusterKind), f)
	})
	const first = " there is no valid Calendar of this name, and ClusterChangeFreeze/days, which uses %s, would refuse changes until there " +
		"is one: " +
		"apply that Calendar first"
	for _, test := range []struct {
		reason     string
		old, edits *v1alpha1.Calendar
		refusal    string
	}{
		{"an include that is not there", nil, including("a", 2, "bb", "ccc"), `spec.include[1]: Invalid value: "ccc":` + fmt.Sprintf(first, "a")},
		{"an include that cannot be read", nil, including("a", 2, "broken"), `spec.include[0]: Invalid value: "broken":` +
			fmt.Sprintf(first, "a")},
		{"an include of an include", including("bb", 1), including("bb", 2, "ccc"),
			`spec.include[0]: Invalid value: "ccc":` + fmt.Sprintf(first, "bb")},
		{"an include that is there", including("a", 1, "bb"), including("a", 2, "bb"), ""},
		{"no include", including("a", 1, "bb"), including("a", 2), ""},
		{"a calendar that no freeze uses", including("free", 1, "bb"), including("free", 2, "ccc"), ""},
		{"the deletion of an include", including("bb", 1), nil,
			`calendars.flyball.dev "bb" is forbidden: ClusterChangeFreeze/days uses the Calendar ` +
				"a, which includes this one, and would refuse changes without it: take bb out of spec.include first"},
		{"the deletion of the freeze's calendar", including("a", 1, "bb"), nil, ""},
		{"the deletion of another calendar", including("free", 1, "bb"), nil, ""},
	} {
		req := review.Request{SpecChanged: true}
		if test.old != nil {
			req.Old = test.old
		}
		if test.edits != nil {
			req.New = test.edits
		}
		_, errs, err := calendarGuard(w, &counted{allows: func(authorizationv1.ResourceAttributes) bool { return true }},
			time.Date(2026, 1, 3, 12, 0, 0, 0, time.UTC)).Validate(t.Context(), req)
		if got := errors.Join(errs.ToAggregate(), err); (got == nil) != (test.refusal == "") || got != nil && got.Error() != test.refusal {
			t.Errorf("%s: %v", test.reason, got)
		}
	}
}

// New labels of a namespace that leave a thousand freezes need one question, as the edit of a calendar does.
func TestOneQuestionCoversAllFreezesThatANamespaceLeaves(t *testing.T) {
	w := world.New(selector.Scope{})
	w.Update(func(tx *world.Tx) {
		for i := range 1000 {
			f := &v1alpha1.ClusterChangeFreeze{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("prod-%d", i), Generation: 1}}
			f.UID = types.UID(f.Name)
			f.Spec.Target.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}
			f.Spec.Windows, f.Spec.Deny = []v1alpha1.Window{{From: "00:00", To: "24:00"}}, []v1alpha1.Action{v1alpha1.ActionScale}
			tx.SetPolicy(kind(freeze.ClusterKind), f)
		}
	})
	const review = `{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": "u", "operation": "UPDATE", "name": "shop",
"resource": {"version": "v1", "resource": "namespaces"}, "kind": {"version": "v1", "kind": "Namespace"}, "userInfo": {"username": "alice"},
"oldObject": {"metadata": {"name": "shop", "labels": {"env": "prod"}}}, "object": {"metadata": {"name": "shop"}}}}`
	for reason, c := range map[string]struct {
		allows  func(authorizationv1.ResourceAttributes) bool
		allowed bool
		asked   int
	}{
		"all freezes": {func(a authorizationv1.ResourceAttributes) bool { return a.Name == "" }, true, 1},
		"each freeze": {func(a authorizationv1.ResourceAttributes) bool { return a.Name != "" }, true, 1001},
		"none":        {func(authorizationv1.ResourceAttributes) bool { return false }, false, 2},
	} {
		r := &counted{allows: c.allows}
		judge := &freezeadmission.Judge{Freezes: w, Rights: r,
			Clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 3, 12, 0, 0, 0, time.UTC))}
		answer := httptest.NewRecorder()
		judge.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(review)))
		if allowed := strings.Contains(answer.Body.String(), `"allowed":true`); allowed != c.allowed || r.asked != c.asked {
			t.Errorf("override on %s: %d questions, want %d: %s", reason, r.asked, c.asked, workload.OneLine(answer.Body.String(), 200))
		}
	}
}
