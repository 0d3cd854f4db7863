package admission_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	reviews "flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/admission/rights"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
)

// TestHoldOwnerNeedsRightToPatchOwners proves that a schedule that holds owners needs the right to patch every kind of
// owner: a ClusterSchedule in all namespaces, a Schedule in its own. The verb use on the adapter is not sufficient.
func TestHoldOwnerNeedsRightToPatchOwners(t *testing.T) {
	const target, owner = "patch deployments.apps", "patch kustomizations.kustomize.toolkit.fluxcd.io"
	for _, tc := range []struct {
		reason, kind string
		holds        bool
		may          []string
		refused      bool
	}{
		{"without holdOwner", "ClusterSchedule", false, []string{target}, false},
		{"with both rights", "ClusterSchedule", true, []string{target, owner}, false},
		{"with the right on targets alone", "ClusterSchedule", true, []string{target}, true},
		{"with the right on owners of one namespace", "ClusterSchedule", true, []string{target, owner + " in shop"}, true},
		{"in one namespace", "Schedule", true, []string{target + " in shop", owner + " in shop"}, false},
		{"in one namespace without the right on owners", "Schedule", true, []string{target + " in shop"}, true},
		{"with the right to use the adapter", "Schedule", true, []string{target + " in shop", "use adapters.flyball.dev in shop"}, true},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			rules := v1alpha1.ScheduleRules{Asleep: []v1alpha1.Window{{From: "20:00", To: "08:00"}}, HoldOwner: tc.holds}
			selected := v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}}
			var obj policy.Object
			meta := metav1.ObjectMeta{Name: "nights"}
			if tc.kind == "Schedule" {
				meta.Namespace = "shop"
				obj = &v1alpha1.Schedule{ObjectMeta: meta, Spec: v1alpha1.ScheduleSpec{Target: selected, ScheduleRules: rules}}
			} else {
				obj = &v1alpha1.ClusterSchedule{ObjectMeta: meta, Spec: v1alpha1.ClusterScheduleSpec{
					Target: v1alpha1.ClusterTargetSelector{Namespaces: []string{"shop"}, TargetSelector: selected}, ScheduleRules: rules}}
			}
			row, _ := kinds.Find(tc.kind)
			loaded := make(chan struct{})
			close(loaded)
			authors := &rights.Authors{Adapted: library{"deployments.apps", "kustomizations.kustomize.toolkit.fluxcd.io"},
				Resources: resources(everything), Loaded: loaded,
				Reviews: reviewer(func(_ context.Context, review *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error) {
					a := review.Spec.ResourceAttributes
					asked := a.Verb + " " + a.Resource + "." + a.Group
					if a.Namespace != "" {
						asked += " in " + a.Namespace
					}
					review.Status.Allowed = slices.Contains(tc.may, asked)
					return review, nil
				})}
			kind := authors.Ask(reviews.OwnKind{Kind: row.Name, Resource: row.Resource, Validator: reviews.ValidatorFunc(
				func(context.Context, reviews.Request) ([]string, field.ErrorList, error) { return nil, nil, nil })}, row)
			_, errs, err := kind.Validator.Validate(t.Context(),
				reviews.Request{Operation: admissionv1.Create, Kind: v1alpha1.GroupVersion.WithKind(row.Name),
					Namespace: meta.Namespace, Name: "nights", New: obj, SpecChanged: true, User: authenticationv1.UserInfo{Username: "alice"}})
			switch {
			case len(errs) > 0:
				t.Fatal(errs.ToAggregate())
			case !tc.refused && err != nil:
				t.Errorf("it is refused: %v", err)
			case tc.refused && (err == nil || !strings.Contains(err.Error(), "may not patch kustomizations.kustomize.toolkit.fluxcd.io") ||
				!strings.Contains(err.Error(), "leave out spec.holdOwner")):
				t.Errorf("the refusal is %v", err)
			}
		})
	}
}
