package deletioncost_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/deletioncost"
	"flyball.dev/flyball/engine/workload"
)

var now = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// heeding knows Deployments, whose controller heeds deletion costs, and StatefulSets, whose controller does not.
var heeding = policy.Context{Kinds: func(gk schema.GroupKind) (policy.AdaptedKind, bool) {
	return policy.AdaptedKind{HeedsCosts: gk.Kind == "Deployment"}, gk.Group == "apps"
}}

func read(t *testing.T, spec string) *v1alpha1.DeletionCost {
	t.Helper()
	d := &v1alpha1.DeletionCost{}
	if err := yaml.UnmarshalStrict([]byte("metadata: {namespace: shop, name: even}\nspec: "+spec), d); err != nil {
		t.Fatal(err)
	}
	return d
}

func compile(t *testing.T, spec string) *policy.Policy {
	t.Helper()
	p, errs := deletioncost.Compile(read(t, spec), heeding)
	if len(errs) > 0 {
		t.Fatalf("%s: %v", spec, errs)
	}
	return p
}

func intents(t *testing.T, p *policy.Policy) []workload.Intent {
	t.Helper()
	d, err := p.Pipeline.Run(&pipeline.Input{Now: now}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d.Intents
}

func TestRefusedSpecs(t *testing.T) {
	for spec, want := range map[string]string{
		`{algorithm: Widest}`:                                                        `spec.algorithm: Unsupported value: "Widest": supported values: "NodeLifetime", "NodeOccupancy", "Oldest", "Spread", "Weighted", "Youngest"`,
		`{algorithm: Weighted}`:                                                      "spec.weights: Required value",
		`{weights: [{algorithm: Oldest}]}`:                                           "spec.weights: Forbidden",
		`{algorithm: Weighted, weights: [{algorithm: Weighted}]}`:                    `spec.weights[0].algorithm: Unsupported value: "Weighted"`,
		`{algorithm: Weighted, weights: [{algorithm: Nonsense}]}`:                    "spec.weights[0].algorithm: Unsupported value",
		`{algorithm: Weighted, weights: [{algorithm: Oldest, weight: 101}]}`:         "spec.weights[0].weight: Invalid value: 101",
		`{algorithm: Weighted, weights: [{algorithm: Oldest}, {algorithm: Oldest}]}`: "spec.weights[1].algorithm: Duplicate value",
		`{spreadBy: "not a label"}`:                                                  "spec.spreadBy: Invalid value",
		`{spreadBy: {a: b}}`:                                                         "spec.spreadBy: Invalid value",
		`{spreadBy: 5}`:                                                              "spec.spreadBy: Invalid value",
		`{spreadBy: [zone, ""]}`:                                                     "spec.spreadBy[1]: Invalid value",
		`{spreadBy: [zone, zone]}`:                                                   "spec.spreadBy[1]: Duplicate value",
		`{spreadBy: [a, b, c, d, e]}`:                                                "spec.spreadBy: Too many: 5: must have at most 4 items",
		`{writesPerSecond: 0}`:                                                       "spec.writesPerSecond: Invalid value: 0: must be from 1 to 1000",
		`{goingNodes: {taints: ["a b"]}}`:                                            "spec.goingNodes.taints[0]: Invalid value",
		`{goingNodes: {labels: {"a b": c}}}`:                                         "spec.goingNodes.labels[a b]: Invalid value",
		`{target: {kinds: [{group: apps, kind: StatefulSet}]}}`:                      "spec.target.kinds: Invalid value: \"StatefulSet.apps\": its controller ignores the deletion cost",
		`{target: {selector: {matchLabels: {"a b": c}}}}`:                            "spec.target.selector: Invalid value",
	} {
		p, errs := deletioncost.Compile(read(t, spec), heeding)
		if got := errs.ToAggregate(); got == nil || !strings.Contains(got.Error(), want) {
			t.Errorf("%s: %v, want %s", spec, got, want)
		}
		if !p.IsBroken() || p.PodOrderer == nil {
			t.Errorf("%s: the policy must keep the costs that it has set, and so is broken and orders pods", spec)
		}
	}
}

func TestDefaultSpreadsOverZones(t *testing.T) {
	p := compile(t, `{target: {kinds: [{group: apps, kind: Deployment}, {group: example.com, kind: NotAdaptedYet}]}}`)
	got := intents(t, p)
	if len(got) != 1 || got[0].DeletionCosts != "Spread over topology.kubernetes.io/zone" || got[0].Class != workload.ClassSet {
		t.Errorf("asks for %+v", got)
	}
	if labels := p.PodOrderer.NodeLabels(); len(labels) != 1 || labels[0] != "topology.kubernetes.io/zone" {
		t.Errorf("looks at %v", labels)
	}
	if st := p.State(now); st.Name != "Active" || st.Active != "Spread" {
		t.Errorf("is %+v", st)
	}
	for pods, want := range map[int]float64{0: 1, 99: 1, 100: 1, 2000: 20} {
		if got := p.PodOrderer.WritesPerSecond(pods); got != want {
			t.Errorf("%d pods: %v writes a second, want %v", pods, got, want)
		}
	}
	if got := compile(t, `{writesPerSecond: 7}`).PodOrderer.WritesPerSecond(5000); got != 7 {
		t.Errorf("%v writes a second, want the 7 that are given", got)
	}
}

func TestASuspendedPolicyMakesNoClaim(t *testing.T) {
	p := compile(t, `{suspend: true}`)
	if got := intents(t, p); len(got) > 0 {
		t.Errorf("asks for %+v", got)
	}
	if st := p.State(now); st.Name != "Suspended" || st.Active != "" {
		t.Errorf("is %+v", st)
	}
}

// If two policies claim different costs, the priority decides, and then the name. The other policy reports a conflict.
func TestOneOfTwoPoliciesSetsTheCosts(t *testing.T) {
	ask := func(name, spec string) workload.Intent {
		in := intents(t, compile(t, spec))[0]
		in.By.Name = name
		return in
	}
	for _, tc := range []struct {
		a, b   workload.Intent
		winner string
		told   bool
	}{
		{ask("a", `{}`), ask("b", `{algorithm: Oldest}`), "a", true},
		{ask("a", `{}`), ask("b", `{algorithm: Oldest, priority: 1}`), "b", true},
		{ask("a", `{}`), ask("b", `{spreadBy: topology.kubernetes.io/zone, writesPerSecond: 9}`), "a", false},
		{ask("a", `{}`), ask("b", `{duringRollOut: true}`), "a", true},
		{ask("a", `{algorithm: NodeLifetime}`), ask("b", `{algorithm: NodeLifetime, goingNodes: {taints: [x]}}`), "a", true},
		{ask("a", `{algorithm: Weighted, weights: [{algorithm: Oldest}]}`),
			ask("b", `{algorithm: Weighted, weights: [{algorithm: Oldest, weight: 2}]}`), "a", true},
	} {
		for _, in := range [][]workload.Intent{{tc.a, tc.b}, {tc.b, tc.a, tc.a}} {
			plan, conflicts := pipeline.Merge(in...)
			if got := plan.DeletionCosts.By.Name; got != tc.winner {
				t.Errorf("%q and %q: %s wins", tc.a.DeletionCosts, tc.b.DeletionCosts, got)
			}
			if told := len(conflicts) == 1 && conflicts[0].Facet == "deletion costs" && conflicts[0].Winner.Name == tc.winner; told != tc.told {
				t.Errorf("%q and %q: %+v", tc.a.DeletionCosts, tc.b.DeletionCosts, conflicts)
			}
		}
	}
}

func TestNodeLabelsAreTextOrList(t *testing.T) {
	for text, want := range map[string]string{`"zone"`: `"zone"`, `["zone"]`: `"zone"`, `["zone","host"]`: `["zone","host"]`,
		`7`: `"not a text: 7"`} {
		var labels v1alpha1.NodeLabels
		if err := json.Unmarshal([]byte(text), &labels); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(labels)
		if err != nil || string(got) != want {
			t.Errorf("%s is written as %s, want %s (%v)", text, got, want, err)
		}
	}
}

func TestStatusSumsPodSummaries(t *testing.T) {
	p := compile(t, `{}`)
	d := read(t, `{}`)
	p.PodOrderer.FillPods(d, policy.PodSummary{Pods: 30, Writes: 4, Spread: 2, SpreadAtHalf: 1,
		Foreign: map[string]int{"b": 1, "a": 1, "c": 5}})
	want := v1alpha1.DeletionCostStatus{Pods: 30, WritesLastHour: 4, Spread: &v1alpha1.SpreadStatus{Now: 2, Half: 1},
		ForeignWriters: []v1alpha1.ForeignWriter{{Manager: "c", Pods: 5}, {Manager: "a", Pods: 1}, {Manager: "b", Pods: 1}}}
	if got, _ := json.Marshal(d.Status); string(got) != mustJSON(want) {
		t.Errorf("status %s, want %s", got, mustJSON(want))
	}
	if writes, _ := p.PodOrderer.Told(d); writes != 0 {
		t.Errorf("%d writes are told of, but not when", writes)
	}
	p.PodOrderer.FillPods(d, policy.PodSummary{Pods: 1, Writes: 4, LastWrite: now})
	if writes, last := p.PodOrderer.Told(d); writes != 4 || !last.Equal(now) {
		t.Errorf("%d writes are told of, the last at %s", writes, last)
	}
	p.PodOrderer.FillPods(d, policy.PodSummary{})
	if d.Status.Spread != nil || len(d.Status.ForeignWriters) > 0 {
		t.Errorf("without pods the status says %+v", d.Status)
	}
}

func mustJSON(v any) string { text, _ := json.Marshal(v); return string(text) }

// A user who changes any part of a policy needs the right to patch pods.
func TestEditingADeletionCostNeedsTheRightToPatchPods(t *testing.T) {
	row := deletioncost.Kinds()[0]
	rights := row.RightsOf(read(t, `{}`))
	if len(rights) != 1 || rights[0].Verb != "patch" || rights[0].Kind != (schema.GroupKind{Kind: "Pod"}) {
		t.Errorf("takes %+v", rights)
	}
	for _, spec := range []string{`{algorithm: Oldest}`, `{spreadBy: a}`, `{priority: 1}`, `{writesPerSecond: 9}`,
		`{target: {names: [web]}}`} {
		if again := row.RightsOf(read(t, spec)); reflect.DeepEqual(again[0].Asks, rights[0].Asks) {
			t.Errorf("an edit to %s asks for nothing", spec)
		}
	}
	if rights := row.RightsOf(read(t, `{suspend: true}`)); len(rights) > 0 {
		t.Errorf("takes %+v while suspended", rights)
	}
	cluster := &v1alpha1.ClusterDeletionCost{}
	cluster.Spec.WritesPerSecond = ptr.To[int32](3)
	if p, errs := deletioncost.CompileCluster(cluster, heeding); len(errs) == 0 || !p.IsBroken() {
		t.Error("a cluster policy that names no namespaces is let through")
	}
}
