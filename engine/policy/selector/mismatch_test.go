package selector_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

func TestMismatchesNameTheTerm(t *testing.T) {
	web := object("shop", "web", map[string]string{"tier": "front"})
	annotated := object("shop", "web", nil)
	annotated.Annotations = workload.NewPairs(map[string]string{"a": "c"})
	named := func(namespaces ...string) v1alpha1.ClusterTargetSelector {
		return v1alpha1.ClusterTargetSelector{Namespaces: namespaces}
	}
	by := func(change func(*v1alpha1.ClusterTargetSelector)) v1alpha1.ClusterTargetSelector {
		s := named("shop")
		change(&s)
		return s
	}
	for _, tc := range []struct {
		reason string
		spec   v1alpha1.ClusterTargetSelector
		obj    *workload.Object
		want   []selector.Mismatch
	}{
		{reason: "nothing fails", spec: named("shop"), obj: web},
		{reason: "another namespace", spec: named("bank"), obj: web,
			want: []selector.Mismatch{{Term: "namespaces", Why: "shop is not among bank"}}},
		{reason: "a policy of kinds outside namespaces", obj: web,
			spec: v1alpha1.ClusterTargetSelector{TargetSelector: v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: "karpenter.sh", Kind: "NodePool"}}}},
			want: []selector.Mismatch{{Term: "kinds", Why: "Deployment.apps is not among NodePool.karpenter.sh"}}},
		{reason: "an excluded namespace", obj: web, spec: by(func(s *v1alpha1.ClusterTargetSelector) { s.ExcludeNamespaces = []string{"shop"} }),
			want: []selector.Mismatch{{Term: "excludeNamespaces", Why: "shop is listed"}}},
		{reason: "labels of the namespace", obj: web, spec: v1alpha1.ClusterTargetSelector{NamespaceSelector: matchLabels("env", "dev")},
			want: []selector.Mismatch{{Term: "namespaceSelector", Why: "namespace shop: env=dev does not hold (there is no label env)"}}},
		{reason: "a protected namespace", obj: object("kube-system", "web", nil),
			spec: v1alpha1.ClusterTargetSelector{NamespaceSelector: matchLabels()},
			want: []selector.Mismatch{{Term: "namespaces", Why: "kube-system is protected: only a policy that names it reaches it"}}},
		{reason: "name, label and annotation", obj: web, spec: by(func(s *v1alpha1.ClusterTargetSelector) {
			s.Names, s.Selector, s.Annotations = []string{"api", "db"}, matchLabels("tier", "back"), map[string]string{"a": "b"}
		}), want: []selector.Mismatch{
			{Term: "names", Why: "web is not among api, db"},
			{Term: "selector", Why: `tier=back does not hold (tier is "front")`},
			{Term: "annotations", Why: "there is no annotation a"},
		}},
		{reason: "another value of an annotation", obj: annotated,
			spec: by(func(s *v1alpha1.ClusterTargetSelector) { s.Annotations = map[string]string{"a": "b"} }),
			want: []selector.Mismatch{{Term: "annotations", Why: `a is "c", not "b"`}}},
		{reason: "an annotation", obj: annotated,
			spec: by(func(s *v1alpha1.ClusterTargetSelector) { s.Annotations = map[string]string{"a": "c"} })},
		{reason: "the label that excludes", obj: object("shop", "web", map[string]string{v1alpha1.LabelExclude: "true"}), spec: named("shop"),
			want: []selector.Mismatch{{Term: "exclude", Why: "flyball.dev/exclude=true holds"}}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s, errs := selector.Cluster(tc.spec, scope, at)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if diff := cmp.Diff(tc.want, s.Mismatches(deployments, tc.obj, nil)); diff != "" {
				t.Error(diff)
			}
			if (len(tc.want) == 0) != s.Matches(deployments, tc.obj, nil) {
				t.Error("Matches says otherwise")
			}
		})
	}
	if got := selector.Nothing().Mismatches(deployments, web, nil); len(got) != 1 {
		t.Errorf("a policy that selects nothing: %v", got)
	}
}

func TestMismatchesOfPlaces(t *testing.T) {
	inShop, errs := selector.Namespaced(v1alpha1.TargetSelector{}, "shop", scope, at)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	everywhere, errs := selector.Cluster(v1alpha1.ClusterTargetSelector{NamespaceSelector: matchLabels()}, scope, at)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, tc := range []struct {
		reason   string
		selector *selector.Selector
		kind     schema.GroupKind
		obj      *workload.Object
		want     []selector.Mismatch
	}{
		{"an object outside namespaces, a policy within one", inShop, nodePools, object("", "pool", nil),
			[]selector.Mismatch{{Term: "namespace", Why: "the object lives outside namespaces, and the policy acts in shop"}}},
		{"an object outside namespaces that is not listed", everywhere, nodePools, object("", "pool", nil),
			[]selector.Mismatch{{Term: "kinds", Why: "NodePool.karpenter.sh lives outside namespaces, so the policy has to list it"}}},
		{"an object of another namespace", inShop, deployments, object("bank", "web", nil),
			[]selector.Mismatch{{Term: "namespace", Why: "the policy acts in shop, the object is in bank"}}},
		{"the policy's own namespace", inShop, deployments, object("shop", "web", nil), nil},
	} {
		if diff := cmp.Diff(tc.want, tc.selector.Mismatches(tc.kind, tc.obj, nil)); diff != "" {
			t.Errorf("%s: %s", tc.reason, diff)
		}
	}
}
