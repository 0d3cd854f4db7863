package policy_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// The row describes a kind and its objects.
func TestKindDescribesItsObjects(t *testing.T) {
	status := &v1alpha1.PolicyStatus{}
	rights := func() []policy.Right { return []policy.Right{{Verb: "patch"}} }
	for _, tc := range []struct {
		name                    string
		parts                   policy.Meta
		acts, finalizer, rights bool
	}{
		{"acts on targets", policy.Meta{Status: status, Rights: rights}, true, true, true},
		{"acts, and changes nothing", policy.Meta{Status: status, ChangesNothing: true}, true, false, false},
		{"acts on nothing", policy.Meta{}, false, false, false},
	} {
		k := policy.Row{New: func() policy.Object { return &v1alpha1.Schedule{} }, Meta: func(policy.Object) policy.Meta { return tc.parts }}
		if acts, finalizer, rights := k.ActsOnTargets(), k.NeedsFinalizer(k.New()), len(k.RightsOf(k.New())) > 0; acts != tc.acts ||
			finalizer != tc.finalizer || rights != tc.rights {
			t.Errorf("%s: acts %t, finalizer %t, rights %t", tc.name, acts, finalizer, rights)
		}
	}
}

// The first context knows no kinds. The second context knows one kind.
func TestContextReturnsKnownKinds(t *testing.T) {
	web := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	if _, known := (policy.Context{}).Kind(web); known {
		t.Error("a kind is known to nobody")
	}
	knows := policy.Context{Kinds: func(gk schema.GroupKind) (policy.AdaptedKind, bool) {
		return policy.AdaptedKind{Scales: true}, gk == web
	}}
	if k, known := knows.Kind(web); !known || !k.Scales {
		t.Errorf("of a kind that is known it is said %+v, %t", k, known)
	}
}

// The test covers a template's object and its annotation keys.
func TestTemplateHasObjectAndAnnotationKeys(t *testing.T) {
	made := &policy.Template{GroupVersionKind: schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
		Namespace: "shop", Name: "web", Annotations: []string{"a"}}
	other := made.Ref()
	other.Name = "api"
	if !made.Is(made.Ref()) || made.Is(other) || !slices.Equal(made.AnnotationKeys(), []string{"a"}) {
		t.Errorf("it is of its object: %t, of another one: %t, and looks at %v", made.Is(made.Ref()), made.Is(other), made.AnnotationKeys())
	}
	var none *policy.Template
	if none.Is(workload.Ref{}) || none.AnnotationKeys() != nil {
		t.Error("no template is of an object")
	}
}

type reporter struct {
	policy.Reporter
	limit int
}

func (r reporter) AppliedLimit() int { return r.limit }

type tuner struct{ policy.Tuner }

// Policies that list values in their status and policies that tune set values.
func TestSetsValues(t *testing.T) {
	for _, tc := range []struct {
		extras policy.Extras
		want   bool
	}{
		{policy.Extras{}, false},
		{policy.Extras{Reporter: reporter{}}, false},
		{policy.Extras{Reporter: reporter{limit: 1}}, true},
		{policy.Extras{Tuner: tuner{}}, true},
	} {
		if got := (&policy.Policy{Extras: tc.extras}).SetsValues(); got != tc.want {
			t.Errorf("with %+v it sets values: %t", tc.extras, got)
		}
	}
}

func TestBrokenPolicies(t *testing.T) {
	broken := policy.Broken(workload.Policy{Kind: "Schedule"}, field.ErrorList{field.Required(field.NewPath("spec"), "")})
	if !broken.IsBroken() || (&policy.Policy{}).IsBroken() {
		t.Error("only what could not be read is broken")
	}
}

// A policy with a namespace holds owners of this namespace only.
func TestMayHold(t *testing.T) {
	for _, tc := range []struct {
		policy    policy.Policy
		namespace string
		want      bool
	}{
		{policy.Policy{Extras: policy.Extras{HoldsOwners: true}}, "argocd", true},
		{policy.Policy{}, "argocd", false},
		{policy.Policy{Extras: policy.Extras{HoldsOwners: true}, ID: workload.Policy{Namespace: "shop"}}, "shop", true},
		{policy.Policy{Extras: policy.Extras{HoldsOwners: true}, ID: workload.Policy{Namespace: "shop"}}, "argocd", false},
		{policy.Policy{ID: workload.Policy{Namespace: "shop"}}, "shop", false},
	} {
		if got := tc.policy.MayHold(tc.namespace); got != tc.want {
			t.Errorf("a policy of %q (%t) in %s: %t", tc.policy.ID.Namespace, tc.policy.HoldsOwners, tc.namespace, got)
		}
	}
}

// Rights on the selected objects have no kind of their own.
func TestRightsOnSelectedObjects(t *testing.T) {
	if !(policy.Right{}).OnSelected() || (policy.Right{Owners: true}).OnSelected() ||
		(policy.Right{Kind: schema.GroupKind{Kind: "Pod"}}).OnSelected() {
		t.Error("a right is on what is selected where it names no kind")
	}
}
