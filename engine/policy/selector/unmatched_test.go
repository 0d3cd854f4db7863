package selector_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// town is the inventory of the tests: a front end in shop, a back end in cellar, an empty bank, and a
// cluster-scoped pool.
type town struct{ none bool }

func (t town) Adapted() []schema.GroupKind {
	if t.none {
		return nil
	}
	return []schema.GroupKind{deployments, nodePools}
}

func (town) Namespaces(yield func(string, workload.Pairs) bool) {
	_ = yield("shop", workload.NewPairs(map[string]string{"env": "dev"})) && yield("cellar", nil) && yield("bank", nil) &&
		yield("kube-system", nil)
}

func (town) Objects(gk schema.GroupKind, namespace string, yield func(*workload.Object) bool) {
	switch {
	case gk == nodePools && namespace == "":
		yield(object("", "pool", nil))
	case gk == deployments && namespace == "shop":
		web := object("shop", "web", map[string]string{"tier": "front"})
		web.Annotations = workload.NewPairs(map[string]string{"a": "b"})
		yield(web)
	case gk == deployments && namespace == "cellar":
		yield(object("cellar", "boiler", map[string]string{"tier": "back"}))
	}
}

func TestUnmatchedTerms(t *testing.T) {
	deployment, misspelt, pool := v1alpha1.KindRef{Group: "apps", Kind: "Deployment"}, v1alpha1.KindRef{Group: "apps", Kind: "Deploymnt"},
		v1alpha1.KindRef{Group: "karpenter.sh", Kind: "NodePool"}
	inShop := func(spec v1alpha1.TargetSelector) *selector.Selector {
		s, errs := selector.Namespaced(spec, "shop", scope, at)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return s
	}
	for _, test := range []struct {
		reason   string
		selector *selector.Selector
		town     town
		terms    []selector.Unmatched
		names    []selector.Unmatched
		nothing  bool
		empty    selector.Unmatched
	}{
		{reason: "everything is there", selector: inShop(v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{deployment}, Names: []string{"web"}})},
		{reason: "no adapter", selector: inShop(v1alpha1.TargetSelector{}), town: town{none: true}, nothing: true,
			terms: []selector.Unmatched{{Reason: selector.NoAdapter, Message: "there is no adapter, so no object of any kind is selected"}}},
		{reason: "a kind", selector: inShop(v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{misspelt}}), nothing: true,
			terms: []selector.Unmatched{{Reason: selector.KindUnknown,
				Message: "kinds: there is no adapter for Deploymnt.apps; did you mean Deployment.apps?"}}},
		{reason: "one kind of two", selector: inShop(v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{deployment, misspelt}}),
			terms: []selector.Unmatched{{Reason: selector.KindUnknown,
				Message: "kinds: there is no adapter for Deploymnt.apps; did you mean Deployment.apps?"}}},
		{reason: "a kind outside namespaces", selector: inShop(v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{pool}}), nothing: true,
			terms: []selector.Unmatched{{Reason: selector.KindClusterScoped,
				Message: "kinds: NodePool.karpenter.sh lives outside namespaces; only a policy outside namespaces selects it"}}},
		{reason: "a namespace", selector: compiled(t, v1alpha1.ClusterTargetSelector{Namespaces: []string{"shpo"}}), nothing: true,
			terms: []selector.Unmatched{{Reason: selector.NamespaceUnknown, Message: "namespaces: there is no namespace shpo; did you mean shop?"}}},
		{reason: "labels of namespaces", selector: compiled(t, v1alpha1.ClusterTargetSelector{NamespaceSelector: matchLabels("env", "prod")}),
			nothing: true,
			terms:   []selector.Unmatched{{Reason: selector.NamespacesUnlike, Message: "namespaceSelector: no namespace has env=prod"}}},
		{reason: "a name", selector: inShop(v1alpha1.TargetSelector{Names: []string{"wbe"}}), nothing: true,
			names: []selector.Unmatched{{Reason: selector.NameUnknown, Message: "names: there is no object wbe; did you mean web?"}}},
		{reason: "one name of two", selector: inShop(v1alpha1.TargetSelector{Names: []string{"web", "database"}}),
			names: []selector.Unmatched{{Reason: selector.NameUnknown, Message: "names: there is no object database"}}},
		{reason: "labels", selector: inShop(v1alpha1.TargetSelector{Selector: matchLabels("tier", "fornt")}),
			empty: selector.Unmatched{Reason: selector.LabelsUnlike, Message: "selector: no object has tier=fornt"}},
		{reason: "annotations", selector: inShop(v1alpha1.TargetSelector{Annotations: map[string]string{"a": "c"}}),
			empty: selector.Unmatched{Reason: selector.AnnotationsUnlike, Message: "annotations: no object has a=c"}},
		{reason: "labels that another namespace's object has", selector: inShop(v1alpha1.TargetSelector{Selector: matchLabels("tier", "back")}),
			empty: selector.Unmatched{Reason: selector.LabelsUnlike, Message: "selector: no object has tier=back"}},
		{reason: "labels that only an object of another name has",
			selector: compiled(t, v1alpha1.ClusterTargetSelector{NamespaceSelector: matchLabels(),
				TargetSelector: v1alpha1.TargetSelector{Names: []string{"web"}, Selector: matchLabels("tier", "back")}}),
			empty: selector.Unmatched{Reason: selector.LabelsUnlike, Message: "selector: no object has tier=back"}},
		{reason: "annotations, where the labels are there",
			selector: inShop(v1alpha1.TargetSelector{Selector: matchLabels("tier", "front"), Annotations: map[string]string{"a": "c"}}),
			empty:    selector.Unmatched{Reason: selector.AnnotationsUnlike, Message: "annotations: no object has a=c"}},
		{reason: "exclude", selector: inShop(v1alpha1.TargetSelector{Exclude: matchLabels("tier", "front")}),
			empty: selector.Unmatched{Reason: selector.EverythingExcluded,
				Message: "exclude: every object has tier=front, or is controlled by another target"}},
		{reason: "all are controlled by others", selector: inShop(v1alpha1.TargetSelector{Exclude: &metav1.LabelSelector{}}),
			empty: selector.Unmatched{Reason: selector.NoObjects, Message: "every object is controlled by another target"}},
		{reason: "an empty namespace", selector: compiled(t, v1alpha1.ClusterTargetSelector{Namespaces: []string{"bank"}}),
			empty: selector.Unmatched{Reason: selector.NoObjects, Message: "there is no object of the kinds and namespaces selected"}},
		{reason: "kinds outside namespaces, named by a policy outside", selector: compiled(t, v1alpha1.ClusterTargetSelector{
			TargetSelector: v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{pool}, Names: []string{"pol"}}}), nothing: true,
			names: []selector.Unmatched{{Reason: selector.NameUnknown, Message: "names: there is no object pol; did you mean pool?"}}},
		{reason: "a glob of names", selector: inShop(v1alpha1.TargetSelector{Names: []string{"db-*", "w*"}}),
			names: []selector.Unmatched{{Reason: selector.NameUnknown, Message: "names: no object is called db-*"}}},
		{reason: "a regular expression", selector: inShop(v1alpha1.TargetSelector{Names: []string{"web.*"}}), nothing: true,
			names: []selector.Unmatched{{Reason: selector.NameUnknown,
				Message: "names: no object is called web.*; * alone stands for any text: did you mean web*?"}}},
		{reason: "a glob of namespaces", selector: compiled(t, v1alpha1.ClusterTargetSelector{Namespaces: []string{"dev-*"}}), nothing: true,
			terms: []selector.Unmatched{{Reason: selector.NamespaceUnknown, Message: "namespaces: no namespace is called dev-*"}}},
		{reason: "a glob of protected namespaces", selector: compiled(t, v1alpha1.ClusterTargetSelector{Namespaces: []string{"kube-*"}}),
			nothing: true,
			terms: []selector.Unmatched{{Reason: selector.NamespaceUnknown,
				Message: "namespaces: kube-* matches only kube-system, which a policy reaches by the whole name and not by a glob"}}},
		{reason: "excludeNames", selector: inShop(v1alpha1.TargetSelector{ExcludeNames: []string{"w*"}}),
			empty: selector.Unmatched{Reason: selector.EverythingExcluded, Message: "excludeNames: every object is called w*"}},
		{reason: "annotationSelector", selector: inShop(v1alpha1.TargetSelector{AnnotationSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"b", "c"}}}}}),
			empty: selector.Unmatched{Reason: selector.AnnotationsUnlike, Message: "annotationSelector: no object has a notin (b,c)"}},
		{reason: "nothing", selector: selector.Nothing()},
	} {
		terms, names := test.selector.UnknownTerms(test.town), test.selector.UnknownNames(test.town)
		if !slices.Equal(terms, test.terms) || !slices.Equal(names, test.names) && len(test.terms) == 0 {
			t.Errorf("%s: terms %v, names %v", test.reason, terms, names)
		}
		if got := test.selector.MatchesNothing(append(terms, names...)); got != test.nothing && len(test.terms)+len(test.names) > 0 {
			t.Errorf("%s: matches nothing: %t", test.reason, got)
		}
		if got := test.selector.EmptyTerm(test.town); test.empty.Reason != "" && got != test.empty {
			t.Errorf("%s: %v", test.reason, got)
		}
	}
}
