package selector_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// filed is a policy in the tests of the index.
type filed struct {
	name      string
	selectors []*selector.Selector
}

func (f *filed) FiledUnder() []*selector.Selector { return f.selectors }
func (f *filed) FiledAs() workload.Policy         { return workload.Policy{Kind: "Schedule", Name: f.name} }
func (f *filed) FiledUntil() int64                { return math.MaxInt64 }

// drawTarget draws a selection from a few words, so that it often matches.
func drawTarget(t *rapid.T) v1alpha1.ClusterTargetSelector {
	words := rapid.SampledFrom([]string{"dev-a", "dev-b", "a-dev", "dev-*", "*-dev", "d*a", "*", "*e*", "kube-system"})
	list := func(label string) []string {
		return rapid.SliceOfNDistinct(words, 0, 2, rapid.ID[string]).Draw(t, label)
	}
	var spec v1alpha1.ClusterTargetSelector
	spec.Names, spec.Namespaces = list("names"), list("namespaces")
	if not := rapid.SampledFrom([]string{"", "dev-*", "*-dev", "dev-a"}).Draw(t, "not"); not != "" {
		spec.ExcludeNames = []string{not}
	}
	if not := rapid.SampledFrom([]string{"", "dev-*", "*-dev", "dev-a"}).Draw(t, "not in"); not != "" {
		spec.ExcludeNamespaces = []string{not}
	}
	if rapid.Bool().Draw(t, "kinds") {
		spec.Kinds = []v1alpha1.KindRef{{Group: deployments.Group, Kind: deployments.Kind}}
	}
	if rapid.Bool().Draw(t, "labels") {
		spec.Selector = matchLabels("tier", rapid.SampledFrom([]string{"front", "back"}).Draw(t, "tier"))
	}
	if len(spec.Namespaces) == 0 || rapid.Bool().Draw(t, "namespace labels") {
		spec.NamespaceSelector = rapid.SampledFrom([]*v1alpha1.ClusterTargetSelector{{NamespaceSelector: matchLabels()},
			{NamespaceSelector: matchLabels("env", "dev")}}).Draw(t, "env").NamespaceSelector
	}
	return spec
}

// The index is compared with a search through every policy, while random policies are added and removed. An earlier index
// must not change.
func TestIndexEqualsALookAtEveryPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x, kept selector.Index[*filed]
		there, then := map[string]*filed{}, map[string]*filed{}
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			if rapid.IntRange(0, 3).Draw(t, "keep") == 0 {
				kept, then = x, map[string]*filed{}
				for name, f := range there {
					then[name] = f
				}
			}
			e := x.Edit()
			name := rapid.SampledFrom([]string{"p", "q", "r", "s"}).Draw(t, "policy")
			if old := there[name]; old != nil {
				e.Remove(old)
				delete(there, name)
			}
			if rapid.IntRange(0, 3).Draw(t, "remove") > 0 {
				f := &filed{name: name}
				for range rapid.IntRange(1, 2).Draw(t, "selectors") {
					f.selectors = append(f.selectors, compiled(t, drawTarget(t)))
				}
				e.Add(f)
				there[name] = f
			}
			x = e.Done()
		}
		for range 8 {
			word := rapid.SampledFrom([]string{"dev-a", "dev-b", "a-dev", "dev-", "web", "kube-system", "d"})
			obj := workload.Object{Namespace: word.Draw(t, "namespace"), Name: word.Draw(t, "name"),
				Labels: workload.NewPairs(map[string]string{"tier": rapid.SampledFrom([]string{"front", "back"}).Draw(t, "tier")})}
			q := &selector.Query{Kind: rapid.SampledFrom([]schema.GroupKind{deployments, {Kind: "Pod"}}).Draw(t, "kind"),
				Sides:  []*workload.Object{&obj},
				Spaces: []workload.Pairs{workload.NewPairs(map[string]string{"env": rapid.SampledFrom([]string{"dev", "prod"}).Draw(t, "env")})}}
			for _, c := range []struct {
				index selector.Index[*filed]
				all   map[string]*filed
			}{{x, there}, {kept, then}} {
				compareWithAll(t, &c.index, c.all, q)
			}
		}
	})
}

func compareWithAll(t *rapid.T, x *selector.Index[*filed], all map[string]*filed, q *selector.Query) {
	selects := func(f *filed) bool {
		return slices.ContainsFunc(f.selectors, func(s *selector.Selector) bool { return s.Matches(q.Kind, q.Sides[0], q.Spaces[0]) })
	}
	found := x.Find(q, 0)
	for _, f := range all {
		if selects(f) && !slices.Contains(found, f) {
			t.Fatalf("%s selects %+v and is not found", f.name, q.Sides[0])
		}
	}
	for i, f := range found {
		if all[f.name] != f || slices.Contains(found[:i], f) {
			t.Fatalf("%s is found twice, or is gone", f.name)
		}
	}
}

// A look-up among 10,000 policies with globs examines no more of them than a look-up among 10.
func TestGlobsAreIndexed(t *testing.T) {
	for _, test := range []struct {
		reason string
		spec   func(i int) v1alpha1.ClusterTargetSelector
	}{
		{"namespaces by a prefix", func(i int) v1alpha1.ClusterTargetSelector {
			return v1alpha1.ClusterTargetSelector{Namespaces: []string{fmt.Sprintf("team-%d-*", i)}}
		}},
		{"namespaces by a suffix", func(i int) v1alpha1.ClusterTargetSelector {
			return v1alpha1.ClusterTargetSelector{Namespaces: []string{fmt.Sprintf("*-team-%d", i)}}
		}},
		{"names by a prefix", func(i int) v1alpha1.ClusterTargetSelector {
			return v1alpha1.ClusterTargetSelector{NamespaceSelector: matchLabels(),
				TargetSelector: v1alpha1.TargetSelector{Names: []string{fmt.Sprintf("team-%d-*", i)}}}
		}},
		{"namespaces by one glob, names by others", func(i int) v1alpha1.ClusterTargetSelector {
			return v1alpha1.ClusterTargetSelector{Namespaces: []string{"team-*"},
				TargetSelector: v1alpha1.TargetSelector{Names: []string{fmt.Sprintf("*-team-%d", i)}}}
		}},
	} {
		q := &selector.Query{Kind: deployments, Sides: []*workload.Object{{Namespace: "team-7-team-7", Name: "team-7-team-7"}},
			Spaces: []workload.Pairs{nil}}
		var x selector.Index[*filed]
		e := x.Edit()
		for i := range 10_000 {
			e.Add(&filed{name: fmt.Sprint(i), selectors: []*selector.Selector{compiled(t, test.spec(i))}})
		}
		x = e.Done()
		if found := x.Find(q, 0); len(found) != 1 || found[0].name != "7" {
			t.Errorf("%s: %d policies are found", test.reason, len(found))
		}
	}
}
