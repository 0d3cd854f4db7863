package selector_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

var (
	deployments = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	nodePools   = schema.GroupKind{Group: "karpenter.sh", Kind: "NodePool"}
	scope       = selector.Scope{
		Protected:     sets.New("kube-system", "flyball-system"),
		ClusterScoped: func(gk schema.GroupKind) bool { return gk == nodePools },
	}
	at = field.NewPath("spec", "target")
)

func object(namespace, name string, labels map[string]string) *workload.Object {
	return &workload.Object{Namespace: namespace, Name: name, Labels: workload.NewPairs(labels),
		Annotations: workload.NewPairs(map[string]string{"example.com/enabled": "true"})}
}

func matchLabels(pairs ...string) *metav1.LabelSelector {
	s := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		s.MatchLabels[pairs[i]] = pairs[i+1]
	}
	return s
}

func TestNamespacedMatches(t *testing.T) {
	web := object("shop", "web", map[string]string{"tier": "front"})
	tests := []struct {
		reason string
		spec   v1alpha1.TargetSelector
		gk     schema.GroupKind
		obj    *workload.Object
		want   bool
	}{
		{reason: "an empty selector takes all of its namespace", gk: deployments, obj: web, want: true},
		{reason: "never another namespace", gk: deployments, obj: object("bank", "web", nil)},
		{reason: "never another namespace, named or not", spec: v1alpha1.TargetSelector{Names: []string{"web"}}, gk: deployments,
			obj: object("bank", "web", nil)},
		{reason: "never an object outside namespaces, listed or not",
			spec: v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: "karpenter.sh", Kind: "NodePool"}}}, gk: nodePools,
			obj: object("", "pool", nil)},
		{reason: "a listed kind", spec: v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}}, gk: deployments,
			obj: web, want: true},
		{reason: "a kind that is not listed", spec: v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: "apps", Kind: "StatefulSet"}}},
			gk: deployments, obj: web},
		{reason: "the kind of another group",
			spec: v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: "apps.kruise.io", Kind: "Deployment"}}}, gk: deployments, obj: web},
		{reason: "another name", spec: v1alpha1.TargetSelector{Names: []string{"api"}}, gk: deployments, obj: web},
		{reason: "labels that match", spec: v1alpha1.TargetSelector{Selector: matchLabels("tier", "front")}, gk: deployments, obj: web,
			want: true},
		{reason: "a label and an expression are ANDed",
			spec: v1alpha1.TargetSelector{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"},
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpDoesNotExist}}}}, gk: deployments,
			obj: web},
		{reason: "an expression alone", spec: v1alpha1.TargetSelector{Selector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpDoesNotExist}}}}, gk: deployments,
			obj: web},
		{reason: "labels that do not", spec: v1alpha1.TargetSelector{Selector: matchLabels("tier", "back")}, gk: deployments, obj: web},
		{reason: "excluded labels", spec: v1alpha1.TargetSelector{Exclude: matchLabels("tier", "front")}, gk: deployments, obj: web},
		{reason: "by default the label flyball.dev/exclude excludes", gk: deployments,
			obj: object("shop", "web", map[string]string{v1alpha1.LabelExclude: "true"})},
		{reason: "with the value true only", gk: deployments, obj: object("shop", "web", map[string]string{v1alpha1.LabelExclude: "false"}),
			want: true},
		{reason: "an empty exclude excludes nothing", spec: v1alpha1.TargetSelector{Exclude: &metav1.LabelSelector{}}, gk: deployments,
			obj: object("shop", "web", map[string]string{v1alpha1.LabelExclude: "true"}), want: true},
		{reason: "another exclude takes the place of the default", spec: v1alpha1.TargetSelector{Exclude: matchLabels("tier", "front")},
			gk:  deployments,
			obj: object("shop", "web", map[string]string{v1alpha1.LabelExclude: "true"}), want: true},
		{reason: "an annotation that matches", spec: v1alpha1.TargetSelector{Annotations: map[string]string{"example.com/enabled": "true"}},
			gk: deployments, obj: web, want: true},
		{reason: "an annotation of another value", spec: v1alpha1.TargetSelector{Annotations: map[string]string{"example.com/enabled": "false"}},
			gk: deployments, obj: web},
		{reason: "annotations are ANDed", spec: v1alpha1.TargetSelector{Annotations: map[string]string{"example.com/enabled": "true", "a": "b"}},
			gk: deployments, obj: web},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			s, errs := selector.Namespaced(tc.spec, "shop", scope, at)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if got := s.Matches(tc.gk, tc.obj, nil); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

func TestClusterMatchesNamespace(t *testing.T) {
	dev := workload.NewPairs(map[string]string{"env": "dev"})
	tests := []struct {
		reason    string
		spec      v1alpha1.ClusterTargetSelector
		namespace string
		labels    workload.Pairs
		want      bool
	}{
		{reason: "a listed namespace", spec: v1alpha1.ClusterTargetSelector{Namespaces: []string{"shop"}}, namespace: "shop", want: true},
		{reason: "one that is not listed", spec: v1alpha1.ClusterTargetSelector{Namespaces: []string{"shop"}}, namespace: "bank"},
		{reason: "by its labels", spec: v1alpha1.ClusterTargetSelector{NamespaceSelector: matchLabels("env", "dev")}, namespace: "shop",
			labels: dev, want: true},
		{reason: "the union of both", spec: v1alpha1.ClusterTargetSelector{Namespaces: []string{"bank"},
			NamespaceSelector: matchLabels("env", "dev")}, namespace: "shop", labels: dev, want: true},
		{reason: "less the excluded ones", spec: v1alpha1.ClusterTargetSelector{Namespaces: []string{"shop"},
			ExcludeNamespaces: []string{"shop"}}, namespace: "shop"},
		{reason: "an empty selector is every namespace", spec: v1alpha1.ClusterTargetSelector{NamespaceSelector: &metav1.LabelSelector{}},
			namespace: "shop", want: true},
		{reason: "but not those of Kubernetes", spec: v1alpha1.ClusterTargetSelector{NamespaceSelector: &metav1.LabelSelector{}},
			namespace: "kube-system"},
		{reason: "nor Flyball's own", spec: v1alpha1.ClusterTargetSelector{NamespaceSelector: &metav1.LabelSelector{}},
			namespace: "flyball-system"},
		{reason: "unless it is named", spec: v1alpha1.ClusterTargetSelector{Namespaces: []string{"kube-system"}}, namespace: "kube-system",
			want: true},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			s, errs := selector.Cluster(tc.spec, scope, at)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if got := s.Matches(deployments, object(tc.namespace, "web", nil), tc.labels); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

func TestClusterScopedObjectsAreSelectedOnlyWhenListed(t *testing.T) {
	pool := object("", "pool", nil)
	listed, errs := selector.Cluster(v1alpha1.ClusterTargetSelector{TargetSelector: v1alpha1.TargetSelector{
		Kinds: []v1alpha1.KindRef{{Group: "karpenter.sh", Kind: "NodePool"}}}}, scope, at)
	if len(errs) > 0 {
		t.Fatalf("a policy whose kinds are all cluster-scoped needs no namespaces: %v", errs)
	}
	if !listed.Matches(nodePools, pool, nil) {
		t.Error("a listed cluster-scoped object is not selected")
	}
	every, errs := selector.Cluster(v1alpha1.ClusterTargetSelector{NamespaceSelector: &metav1.LabelSelector{}}, scope, at)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if every.Matches(nodePools, pool, nil) {
		t.Error("a cluster-scoped object is selected though its kind is not listed")
	}
}

func compiled(t rapid.TB, spec v1alpha1.ClusterTargetSelector) *selector.Selector {
	t.Helper()
	s, errs := selector.Cluster(spec, scope, at)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return s
}

// The descriptions are used by indexes, projections and traces.
func TestDescriptionOfASelector(t *testing.T) {
	inShop, errs := selector.Namespaced(v1alpha1.TargetSelector{Annotations: map[string]string{"b": "1", "a": "2"}}, "shop", scope, at)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	kinds := []v1alpha1.KindRef{{Group: "batch", Kind: "Job"}, {Group: "apps", Kind: "StatefulSet"}, {Group: "apps", Kind: "Deployment"},
		{Kind: "Pod"}}
	for _, test := range []struct {
		reason      string
		selector    *selector.Selector
		text        string
		namespaces  []string
		byLabels    bool
		kinds       []string
		annotations []string
	}{
		{"nothing", selector.Nothing(), "nothing", nil, false, nil, nil},
		{"a namespace", inShop, "namespace shop", []string{"shop"}, false, nil, []string{"a", "b"}},
		{"namespaces by name", compiled(t, v1alpha1.ClusterTargetSelector{Namespaces: []string{"shop", "bank"}}),
			"namespaces [bank shop], by labels: false", []string{"bank", "shop"}, false, nil, nil},
		{"namespaces by labels, and kinds in order", compiled(t, v1alpha1.ClusterTargetSelector{
			NamespaceSelector: matchLabels("env", "dev"), TargetSelector: v1alpha1.TargetSelector{Kinds: kinds}}), "namespaces [], by labels: true",
			nil, true,
			[]string{"Pod", "Deployment.apps", "StatefulSet.apps", "Job.batch"}, nil},
	} {
		named, byLabels := test.selector.Namespaces()
		var got []string
		for _, gk := range test.selector.Kinds() {
			got = append(got, gk.String())
		}
		if test.selector.String() != test.text || !slices.Equal(named, test.namespaces) || byLabels != test.byLabels ||
			!slices.Equal(got, test.kinds) || !slices.Equal(test.selector.AnnotationKeys(), test.annotations) {
			t.Errorf("%s: %q, namespaces %v, by labels %t, kinds %v, annotations %v", test.reason, test.selector, named, byLabels, got,
				test.selector.AnnotationKeys())
		}
	}
}

func TestNothingSelectsNoObject(t *testing.T) {
	s := selector.Nothing()
	if s.MatchesKind(deployments) || s.ListsKind(deployments) || s.MatchesNamespace("shop", nil) || s.MatchesNamespace("", nil) ||
		s.Matches(deployments, object("shop", "web", nil), nil) {
		t.Error("nothing selects something")
	}
}

func TestMatchesNamespace(t *testing.T) {
	inShop, _ := selector.Namespaced(v1alpha1.TargetSelector{}, "shop", scope, at)
	if !inShop.MatchesNamespace("shop", nil) || inShop.MatchesNamespace("bank", nil) {
		t.Error("a policy of a namespace does not reach just that")
	}
	byName := compiled(t, v1alpha1.ClusterTargetSelector{Namespaces: []string{"shop"}})
	if !byName.MatchesNamespace("shop", nil) || byName.MatchesNamespace("bank", workload.NewPairs(map[string]string{"env": "dev"})) {
		t.Error("a policy of a named namespace does not reach just that")
	}
	listed := compiled(t, v1alpha1.ClusterTargetSelector{Namespaces: []string{"shop"},
		TargetSelector: v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}}})
	if !listed.ListsKind(deployments) || listed.ListsKind(nodePools) || !listed.MatchesKind(deployments) || listed.MatchesKind(nodePools) {
		t.Error("a policy does not list just its kinds")
	}
}

// A policy with kinds that are not known to be cluster-scoped must select namespaces explicitly.
func TestNamespacesAreRequired(t *testing.T) {
	pool, deployment := v1alpha1.KindRef{Group: "karpenter.sh", Kind: "NodePool"}, v1alpha1.KindRef{Group: "apps", Kind: "Deployment"}
	for _, test := range []struct {
		reason string
		kinds  []v1alpha1.KindRef
		scope  selector.Scope
		faults int
	}{
		{"no kinds", nil, scope, 1},
		{"one outside namespaces", []v1alpha1.KindRef{pool}, scope, 0},
		{"one of both", []v1alpha1.KindRef{pool, deployment}, scope, 1},
		{"not known", []v1alpha1.KindRef{pool}, selector.Scope{}, 1},
	} {
		if _, errs := selector.Cluster(v1alpha1.ClusterTargetSelector{TargetSelector: v1alpha1.TargetSelector{Kinds: test.kinds}}, test.scope,
			at); len(errs) != test.faults {
			t.Errorf("%s: %v", test.reason, errs)
		}
	}
}

func TestErrorsNameTheField(t *testing.T) {
	bad := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	tests := []struct {
		spec v1alpha1.ClusterTargetSelector
		want string
	}{
		{v1alpha1.ClusterTargetSelector{}, "spec.target.namespaces"},
		{v1alpha1.ClusterTargetSelector{Namespaces: []string{"a"}, NamespaceSelector: bad}, "spec.target.namespaceSelector"},
		{v1alpha1.ClusterTargetSelector{Namespaces: []string{"a"}, TargetSelector: v1alpha1.TargetSelector{Selector: bad}},
			"spec.target.selector"},
		{v1alpha1.ClusterTargetSelector{Namespaces: []string{"a"}, TargetSelector: v1alpha1.TargetSelector{Exclude: bad}}, "spec.target.exclude"},
		{v1alpha1.ClusterTargetSelector{Namespaces: []string{"a"}, TargetSelector: v1alpha1.TargetSelector{
			Kinds: []v1alpha1.KindRef{{Kind: "X"}, {Kind: "X"}}}}, "spec.target.kinds[1]"},
	}
	for _, tc := range tests {
		_, errs := selector.Cluster(tc.spec, scope, at)
		if len(errs) != 1 || errs[0].Field != tc.want {
			t.Errorf("got %v, want one error at %s", errs, tc.want)
		}
	}
}

func TestNothingMatchesNothing(t *testing.T) {
	if selector.Nothing().Matches(deployments, object("shop", "web", nil), nil) {
		t.Error("Nothing selects something")
	}
}
