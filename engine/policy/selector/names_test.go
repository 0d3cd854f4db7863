package selector_test

import (
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

func TestNamesAndGlobs(t *testing.T) {
	everywhere := func(spec v1alpha1.TargetSelector) v1alpha1.ClusterTargetSelector {
		return v1alpha1.ClusterTargetSelector{TargetSelector: spec, NamespaceSelector: matchLabels()}
	}
	for _, test := range []struct {
		reason   string
		spec     v1alpha1.ClusterTargetSelector
		selected []string // of the objects below
	}{
		{"a prefix", everywhere(v1alpha1.TargetSelector{Names: []string{"web-*"}}), []string{"shop/web-1", "dev-a/web-2", "dev-b-preview/web-3"}},
		{"a suffix", everywhere(v1alpha1.TargetSelector{Names: []string{"*-2"}}), []string{"dev-a/web-2"}},
		{"both ends", everywhere(v1alpha1.TargetSelector{Names: []string{"w*1"}}), []string{"shop/web-1"}},
		{"the middle", everywhere(v1alpha1.TargetSelector{Names: []string{"*eb*"}}),
			[]string{"shop/web-1", "dev-a/web-2", "dev-b-preview/web-3"}},
		{"a name beside a glob", everywhere(v1alpha1.TargetSelector{Names: []string{"db", "*-2"}}), []string{"shop/db", "dev-a/web-2"}},
		{"a star that stands for nothing", everywhere(v1alpha1.TargetSelector{Names: []string{"db*"}}), []string{"shop/db"}},
		{"parts that would have to overlap", everywhere(v1alpha1.TargetSelector{Names: []string{"web-1*-1"}}), nil},
		{"all but a glob", everywhere(v1alpha1.TargetSelector{ExcludeNames: []string{"web-*"}}), []string{"shop/db"}},
		{"all but a name", everywhere(v1alpha1.TargetSelector{ExcludeNames: []string{"db"}}),
			[]string{"shop/web-1", "dev-a/web-2", "dev-b-preview/web-3"}},
		{"an exclusion overrides names", everywhere(v1alpha1.TargetSelector{Names: []string{"web-*"}, ExcludeNames: []string{"*-3", "web-1"}}),
			[]string{"dev-a/web-2"}},
		{"namespaces by a prefix", v1alpha1.ClusterTargetSelector{Namespaces: []string{"dev-*"}}, []string{"dev-a/web-2", "dev-b-preview/web-3"}},
		{"namespaces by a suffix", v1alpha1.ClusterTargetSelector{Namespaces: []string{"*-preview"}}, []string{"dev-b-preview/web-3"}},
		{"namespaces but for a glob", v1alpha1.ClusterTargetSelector{Namespaces: []string{"*"}, ExcludeNamespaces: []string{"dev-*"}},
			[]string{"shop/web-1", "shop/db"}},
		{"a glob names no protected namespace", v1alpha1.ClusterTargetSelector{Namespaces: []string{"kube-*"}}, nil},
		{"a name does", v1alpha1.ClusterTargetSelector{Namespaces: []string{"kube-system"}}, []string{"kube-system/dns"}},
	} {
		s := compiled(t, test.spec)
		var got []string
		for _, name := range []string{"shop/web-1", "shop/db", "dev-a/web-2", "dev-b-preview/web-3", "kube-system/dns"} {
			namespace, called, _ := strings.Cut(name, "/")
			if s.Matches(deployments, &workload.Object{Namespace: namespace, Name: called}, nil) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != strings.Join(test.selected, " ") {
			t.Errorf("%s: selects %v, want %v", test.reason, got, test.selected)
		}
	}
}

// A glob is compared with the regular expression that it stands for.
func TestGlobsEqualRegularExpressions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		glob := rapid.StringMatching(`[ab*-]{1,8}`).Draw(t, "glob")
		name := rapid.StringMatching(`[ab-]{0,10}`).Draw(t, "name")
		s := compiled(t, v1alpha1.ClusterTargetSelector{NamespaceSelector: matchLabels(),
			TargetSelector: v1alpha1.TargetSelector{Names: []string{glob}}})
		want := regexp.MustCompile("^" + strings.ReplaceAll(glob, "*", ".*") + "$").MatchString(name)
		if got := s.Matches(deployments, &workload.Object{Namespace: "shop", Name: name}, nil); got != want {
			t.Fatalf("%s matches %s: %t", glob, name, got)
		}
	})
}

func TestAnnotationSelector(t *testing.T) {
	in := func(op metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "example.com/Owner", Operator: op,
			Values: values}}}
	}
	long := strings.Repeat("any text, even a long one: ", 10)
	for _, test := range []struct {
		reason                string
		selector              *metav1.LabelSelector
		none, team, otherTeam bool
	}{
		{"exact", &metav1.LabelSelector{MatchLabels: map[string]string{"example.com/Owner": long}}, false, true, false},
		{"In", in("In", long, "x"), false, true, false},
		{"NotIn", in("NotIn", long), true, false, true},
		{"Exists", in("Exists"), false, true, true},
		{"DoesNotExist", in("DoesNotExist"), true, false, false},
	} {
		s := compiled(t, v1alpha1.ClusterTargetSelector{NamespaceSelector: matchLabels(),
			TargetSelector: v1alpha1.TargetSelector{AnnotationSelector: test.selector}})
		for i, value := range []string{"", long, "other"} {
			obj := &workload.Object{Namespace: "shop", Name: "web"}
			if value != "" {
				obj.Annotations = workload.NewPairs(map[string]string{"example.com/Owner": value})
			}
			want := []bool{test.none, test.team, test.otherTeam}[i]
			if got := s.Matches(deployments, obj, nil); got != want || got != (len(s.Mismatches(deployments, obj, nil)) == 0) {
				t.Errorf("%s: selects an object with %.9q: %t; mismatches %v", test.reason, value, got, s.Mismatches(deployments, obj, nil))
			}
		}
		if keys := s.AnnotationKeys(); len(keys) != 1 || keys[0] != "example.com/Owner" {
			t.Errorf("%s: reads %v", test.reason, keys)
		}
	}
}

func TestSelectionsThatCannotBeMeantAreRefused(t *testing.T) {
	names := func(name string) v1alpha1.ClusterTargetSelector {
		return v1alpha1.ClusterTargetSelector{TargetSelector: v1alpha1.TargetSelector{Names: []string{name}}}
	}
	by := func(e metav1.LabelSelectorRequirement) v1alpha1.ClusterTargetSelector {
		selector := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{e}}
		return v1alpha1.ClusterTargetSelector{TargetSelector: v1alpha1.TargetSelector{AnnotationSelector: selector}}
	}
	for _, test := range []struct {
		spec v1alpha1.ClusterTargetSelector
		want string
	}{
		{names("web-?"), `spec.target.names[0]: Invalid value: "web-?": is neither a name nor a glob: in a glob only * has a meaning`},
		{names("web-[12]"), "spec.target.names[0]: Invalid value"},
		{names("web-{a,b}"), "write each name as an element"},
		{names("^web"), "is neither a name nor a glob"},
		{names("web, db"), "write each name as an element of the list"},
		{names("!web"), "list the names to leave out under excludeNames"},
		{v1alpha1.ClusterTargetSelector{Namespaces: []string{"dev ops"}}, "spec.target.namespaces[0]"},
		{v1alpha1.ClusterTargetSelector{ExcludeNamespaces: []string{"*"}},
			`spec.target.excludeNamespaces[0]: Invalid value: "*": matches every name, so the policy would select nothing`},
		{v1alpha1.ClusterTargetSelector{TargetSelector: v1alpha1.TargetSelector{ExcludeNames: []string{"a", "**"}}},
			"spec.target.excludeNames[1]"},
		{by(metav1.LabelSelectorRequirement{Key: "a", Operator: "In"}),
			"spec.target.annotationSelector.matchExpressions[0].values: Required value: In compares with values"},
		{by(metav1.LabelSelectorRequirement{Key: "a", Operator: "Exists", Values: []string{"b"}}),
			"Exists compares with no values: leave them out"},
		{by(metav1.LabelSelectorRequirement{Key: "a", Operator: "Near"}),
			`spec.target.annotationSelector.matchExpressions[0].operator: Unsupported value: "Near"`},
		{by(metav1.LabelSelectorRequirement{Key: "a b", Operator: "Exists"}), "is no key of an annotation"},
	} {
		test.spec.NamespaceSelector = matchLabels()
		_, errs := selector.Cluster(test.spec, scope, at)
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), test.want) {
			t.Errorf("got %v, want one error with %s", errs, test.want)
		}
	}
}
