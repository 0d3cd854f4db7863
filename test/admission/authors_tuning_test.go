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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	shipped "flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	reviews "flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/admission/rights"
	"flyball.dev/flyball/engine/policy/kinds"
)

// library holds the names of shipped adapters. EachAdapter yields these adapters.
type library []string

func (l library) EachAdapter(yield func(schema.GroupResource, *adapter.Adapter) bool) {
	all, err := shipped.All()
	if err != nil {
		panic(err)
	}
	for i := range all {
		if !slices.Contains(l, all[i].Name) {
			continue
		}
		compiled, errs := adapter.Compile(all[i].Name, all[i].Spec, adapter.Keys{})
		if len(errs) > 0 {
			panic(errs.ToAggregate())
		}
		if !yield(schema.ParseGroupResource(all[i].Name), compiled) {
			return
		}
	}
}

// TestTortoiseNeedsRightToPatchTargets proves that changing requests needs the right to patch the targets, whatever
// other rights the author has, and the right to patch their autoscalers. A Tortoise that only observes needs none.
func TestTortoiseNeedsRightToPatchTargets(t *testing.T) {
	for _, tc := range []struct {
		reason string
		mode   v1alpha1.TortoiseMode
		kinds  []v1alpha1.KindRef
		may    []string
		// lacks holds the rights named in the refusal. Empty means that the policy is admitted.
		lacks []string
		// makes is the removal policy of the autoscaler that the Tortoise creates. Empty means that it creates no
		// autoscaler.
		makes v1alpha1.AutoscalerRemoval
	}{
		{"recommend only", v1alpha1.TortoiseOff, nil, nil, nil, ""},
		{"all rights", v1alpha1.TortoiseAuto, nil, []string{"patch deployments.apps", "patch jobs.batch", "patch cronjobs.batch",
			"patch horizontalpodautoscalers.autoscaling"}, nil, ""},
		{"not on autoscalers", v1alpha1.TortoiseAuto, nil, []string{"patch deployments.apps", "patch cronjobs.batch"},
			[]string{"horizontalpodautoscalers.autoscaling"}, ""},
		{"not on a kind that is selected by its capability", v1alpha1.TortoiseAuto, nil,
			[]string{"patch deployments.apps", "patch horizontalpodautoscalers.autoscaling"}, []string{"cronjobs.batch"}, ""},
		{"only the listed kinds", v1alpha1.TortoiseAuto, []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}},
			[]string{"patch deployments.apps", "patch horizontalpodautoscalers.autoscaling"}, nil, ""},
		{"to scale is not to change requests", v1alpha1.TortoiseEmergency, []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}},
			[]string{"patch deployments.apps/scale", "patch horizontalpodautoscalers.autoscaling"}, []string{"deployments.apps"}, ""},
		{"to make an autoscaler", v1alpha1.TortoiseAuto, []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}},
			[]string{"patch deployments.apps", "patch horizontalpodautoscalers.autoscaling"},
			[]string{"create", "horizontalpodautoscalers.autoscaling"}, v1alpha1.KeepAutoscaler},
		{"to make one and leave it", v1alpha1.TortoiseAuto, []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}},
			[]string{"patch deployments.apps", "patch horizontalpodautoscalers.autoscaling", "create horizontalpodautoscalers.autoscaling"}, nil,
			v1alpha1.KeepAutoscaler},
		{"to remove it", v1alpha1.TortoiseAuto, []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}},
			[]string{"patch deployments.apps", "patch horizontalpodautoscalers.autoscaling", "create horizontalpodautoscalers.autoscaling"},
			[]string{"delete", "horizontalpodautoscalers.autoscaling"}, v1alpha1.DeleteAutoscaler},
		{"only once it acts", v1alpha1.TortoiseOff, nil, nil, nil, v1alpha1.DeleteAutoscaler},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			policy := &v1alpha1.Tortoise{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "tuned"}}
			policy.Spec.Mode, policy.Spec.Target.Kinds = tc.mode, tc.kinds
			if tc.makes != "" {
				policy.Spec.Autoscaler = &v1alpha1.MadeAutoscaler{Create: true, OnDelete: tc.makes}
				policy.Spec.Target.Kinds, policy.Spec.Target.Names = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}, []string{"web"}
				policy.Spec.Replicas.Max = new(int32(20))
			}
			row, _ := kinds.Find("Tortoise")
			loaded := make(chan struct{})
			close(loaded)
			authors := &rights.Authors{Adapted: library{"deployments.apps", "cronjobs.batch", "jobs.batch", "horizontalpodautoscalers.autoscaling"},
				Resources: resources(everything), Loaded: loaded,
				Reviews: reviewer(func(_ context.Context, review *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error) {
					a := review.Spec.ResourceAttributes
					asked := a.Verb + " " + a.Resource + "." + a.Group
					if a.Subresource != "" {
						asked += "/" + a.Subresource
					}
					review.Status.Allowed = slices.Contains(tc.may, asked) && a.Namespace == "shop"
					return review, nil
				})}
			kind := authors.Ask(reviews.OwnKind{Kind: row.Name, Resource: row.Resource, Validator: reviews.ValidatorFunc(
				func(context.Context, reviews.Request) ([]string, field.ErrorList, error) { return nil, nil, nil })}, row)
			_, errs, err := kind.Validator.Validate(t.Context(),
				reviews.Request{Operation: admissionv1.Create, Kind: v1alpha1.GroupVersion.WithKind(row.Name),
					Namespace: "shop", Name: "tuned", New: policy, SpecChanged: true, User: authenticationv1.UserInfo{Username: "alice"}})
			switch {
			case len(errs) > 0:
				t.Fatal(errs.ToAggregate())
			case len(tc.lacks) == 0 && err != nil:
				t.Errorf("it is refused: %v", err)
			case len(tc.lacks) > 0 && err == nil:
				t.Error("it is let through")
			}
			for _, name := range tc.lacks {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("the refusal does not name %s: %v", name, err)
				}
			}
		})
	}
}
