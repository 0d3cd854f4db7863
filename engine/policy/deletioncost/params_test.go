package deletioncost_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/deletioncost"
	"flyball.dev/flyball/engine/workload"
)

// The cases are the last allowed and the first refused value at each limit.
func TestParametersAreAcceptedUpToTheirLimits(t *testing.T) {
	for spec, want := range map[string]string{
		`{writesPerSecond: 1}`:       "",
		`{writesPerSecond: 1000}`:    "",
		`{writesPerSecond: 1001}`:    "spec.writesPerSecond: Invalid value: 1001",
		`{spreadBy: [a, b, c, d]}`:   "",
		`{spreadBy: [a/b, not/a/b]}`: "spec.spreadBy[1]: Invalid value",
		`{algorithm: Weighted, weights: [{algorithm: Oldest, weight: 100}, {algorithm: Spread, weight: 0}]}`: "",
		`{algorithm: Weighted, weights: [{algorithm: Oldest, weight: -1}]}`: "spec.weights[0].weight: " +
			"Invalid value: -1",
	} {
		_, errs := deletioncost.Compile(read(t, spec), heeding)
		switch got := errs.ToAggregate(); {
		case want == "" && got != nil:
			t.Errorf("%s: %v", spec, got)
		case want != "" && (got == nil || !strings.Contains(got.Error(), want)):
			t.Errorf("%s: %v, want %s", spec, got, want)
		}
	}
}

// The claim has the parameters as text, and the node labels are those of the algorithms in use.
func TestClaimAndNodeLabelsFollowTheAlgorithms(t *testing.T) {
	const zone = "topology.kubernetes.io/zone"
	going := []string{"cloud.google.com/gke-spot", "eks.amazonaws.com/capacityType", "karpenter.sh/capacity-type",
		"kubernetes.azure.com/scalesetpriority"}
	usually := fmt.Sprintf("by taints %v", deletioncost.DefaultGoingTaints)
	for _, tc := range []struct {
		spec   string
		says   []string
		silent []string
		labels []string
	}{
		{`{}`, []string{"over " + zone}, []string{"taints"}, []string{zone}},
		{`{spreadBy: [a, b]}`, []string{"over a and b"}, nil, []string{"a", "b"}},
		{`{algorithm: Oldest}`, nil, []string{"over", "taints"}, []string{zone}},
		{`{algorithm: NodeLifetime}`, []string{usually, "karpenter.sh/capacity-type=spot"}, []string{"over"}, append([]string{zone}, going...)},
		{`{algorithm: NodeLifetime, goingNodes: {taints: [x]}}`, []string{"by taints [x]", "karpenter.sh/capacity-type=spot"}, nil,
			append([]string{zone}, going...)},
		{`{algorithm: NodeLifetime, goingNodes: {labels: {l: v}}}`, []string{usually, "and labels [l=v]"}, []string{"karpenter.sh/capacity-type"},
			[]string{zone, "l"}},
		{`{algorithm: NodeLifetime, goingNodes: {taints: [], labels: {}}}`, []string{"by taints [] and labels []"}, nil, []string{zone}},
		{`{algorithm: Weighted, weights: [{algorithm: Spread}, {algorithm: Oldest, weight: 3}]}`,
			[]string{"Weighted Spread x1 Oldest x3 over " + zone}, []string{"taints"}, []string{zone}},
		{`{algorithm: Weighted, weights: [{algorithm: NodeLifetime}]}`, []string{usually}, []string{"over"}, append([]string{zone}, going...)},
	} {
		p := compile(t, tc.spec)
		text := intents(t, p)[0].DeletionCosts
		for _, part := range tc.says {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q does not say %q", tc.spec, text, part)
			}
		}
		for _, part := range tc.silent {
			if strings.Contains(text, part) {
				t.Errorf("%s: %q says %q", tc.spec, text, part)
			}
		}
		if got := p.PodOrderer.NodeLabels(); !slices.Equal(got, tc.labels) {
			t.Errorf("%s: looks at %v, want %v", tc.spec, got, tc.labels)
		}
	}
}

// The parameters of a spec reach the algorithm.
func TestParametersReachTheAlgorithm(t *testing.T) {
	pods := func() *workload.Fleet {
		f := &workload.Fleet{Own: "flyball"}
		for i, n := range []*workload.Node{
			{Name: "a", Labels: map[string]string{"row": "1"}},
			{Name: "b", Labels: map[string]string{"row": "2", "spot": "yes"}},
			{Name: "c", Labels: map[string]string{"row": "1"}, Taints: []string{"leaving"}},
		} {
			f.Pods = append(f.Pods, &workload.Pod{Name: n.Name, UID: n.Name, Group: "g", Revision: "1", Assigned: true, Node: n,
				Phase: workload.PodRunning, Ready: true, Created: int64(i + 1)})
		}
		return f
	}
	for spec, first := range map[string]string{
		`{algorithm: Oldest}`:   "a",
		`{algorithm: Youngest}`: "c",
		`{algorithm: NodeLifetime, goingNodes: {taints: [leaving], labels: {}}}`:                                                       "c",
		`{algorithm: NodeLifetime, goingNodes: {taints: [], labels: {spot: "yes"}}}`:                                                   "b",
		`{algorithm: Weighted, weights: [{algorithm: Oldest, weight: 9}, {algorithm: NodeLifetime}], goingNodes: {taints: [leaving]}}`: "a",
	} {
		f := pods()
		for _, c := range compile(t, spec).PodOrderer.PlanCosts(f, now).Changes {
			c.Pod.Cost = c.Cost
		}
		lowest := slices.MinFunc(f.Pods, func(a, b *workload.Pod) int { return int(a.Cost - b.Cost) })
		if lowest.Name != first {
			t.Errorf("%s: %s goes first, want %s (costs %d, %d, %d)", spec, lowest.Name, first, f.Pods[0].Cost, f.Pods[1].Cost, f.Pods[2].Cost)
		}
	}
}

// The row of each scope reads its own objects and fills their status.
func TestRowsOfBothScopes(t *testing.T) {
	cluster := &v1alpha1.ClusterDeletionCost{}
	if err := json.Unmarshal(
		[]byte(
			`{"metadata":{"name":"even"},"spec":{"target":{"namespaces":["shop"],"kinds":[{"group":"apps","kind":"Deployment"}]},`+
				`"algorithm":"Oldest"}}`), cluster); err != nil {
		t.Fatal(err)
	}
	p, errs := deletioncost.CompileCluster(cluster, heeding)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	parts := deletioncost.Kinds()[1].Meta(cluster)
	if parts.Status != &cluster.Status.PolicyStatus || !slices.Equal(parts.Kinds, []schema.GroupKind{{Group: "apps", Kind: "Deployment"}}) ||
		len(parts.Rights()) != 1 {
		t.Errorf("parts %+v", parts)
	}
	foreign := map[string]int{}
	for i := range 12 {
		foreign[fmt.Sprintf("m%02d", i)] = 12 - i
	}
	p.PodOrderer.FillPods(cluster, policy.PodSummary{Pods: 2, Foreign: foreign})
	if st := cluster.Status; st.Pods != 2 || len(st.ForeignWriters) != 10 || st.ForeignWriters[9].Manager != "m09" {
		t.Errorf("status %+v", cluster.Status)
	}
	p.PodOrderer.FillPods(&v1alpha1.Schedule{}, policy.PodSummary{Pods: 2}) // not its kind: nothing to fill
	r := p.Reporter
	if before := r.FillStatus(cluster, time.Time{}, policy.Summary{}, nil); before != "Oldest" || r.AppliedLimit() != 0 ||
		r.Condition() != v1alpha1.ConditionActive {
		t.Errorf("reports %q, %d, %q", before, r.AppliedLimit(), r.Condition())
	}
}
