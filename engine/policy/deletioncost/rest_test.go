package deletioncost

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/workload"
)

var somewhere = &workload.Node{Name: "node", Labels: map[string]string{"zone": "a"}}

// podsOf returns pods with the given costs on one node. The first pod is the oldest. All costs except 0 were set by
// Flyball.
func podsOf(costs ...int32) []*workload.Pod {
	var pods []*workload.Pod
	for i, cost := range costs {
		p := &workload.Pod{Name: fmt.Sprintf("pod-%02d", i), UID: fmt.Sprint(i), Node: somewhere, Assigned: true, Group: "g",
			Phase: workload.PodRunning,
			Ready: true, Created: int64(i), Cost: cost}
		if cost != 0 {
			p.Writer = "flyball"
		}
		pods = append(pods, p)
	}
	return pods
}

// planned returns the cost of each pod after the changes of a plan.
func planned(pods []*workload.Pod, tiers []int64) []int32 {
	of := map[*workload.Pod]int64{}
	for i, p := range pods {
		of[p] = tiers[i]
	}
	cost := map[*workload.Pod]int32{}
	for _, p := range pods {
		cost[p] = p.Cost
	}
	f := &workload.Fleet{Pods: pods, Own: "flyball"}
	for _, c := range inTiers(f, func(pods []*workload.Pod) []int64 {
		var out []int64
		for _, p := range pods {
			out = append(out, of[p])
		}
		return out
	}) {
		cost[c.Pod] = c.Cost
	}
	var out []int32
	for _, p := range pods {
		out = append(out, cost[p])
	}
	return out
}

func TestCostsOfTiers(t *testing.T) {
	tests := map[string]struct {
		tiers       []int64
		costs, want []int32
	}{
		"of new pods the oldest keeps none, and the others are around it": {[]int64{0, 1, 2}, []int32{0, 0, 0}, []int32{0, 16, 32}},
		"what is in order stays, however odd":                             {[]int64{0, 1, 2}, []int32{-900, -3, 77}, []int32{-900, -3, 77}},
		"one between two is half way":                                     {[]int64{0, 1, 2}, []int32{-32, 0, 10}, []int32{-32, 0, 10}},
		"one that is wrong between two goes half way":                     {[]int64{0, 1, 2}, []int32{-40, 0, -20}, []int32{-40, -30, -20}},
		"two between two are a third of the way apart": {[]int64{0, 1, 2, 3}, []int32{-30, 0, 0, -6},
			[]int32{-30, -22, -14, -6}},
		"where there is no room all are given anew":                       {[]int64{0, 1, 2}, []int32{-8, 0, -7}, []int32{-32, -16, 0}},
		"where there is room for one there is enough":                     {[]int64{0, 1, 2}, []int32{-8, 0, -6}, []int32{-8, -7, -6}},
		"a new highest tier is a step above":                              {[]int64{0, 1, 2}, []int32{-50, -40, -60}, []int32{-50, -40, -24}},
		"new lowest tiers are steps below":                                {[]int64{0, 1, 2}, []int32{0, 0, -4}, []int32{-36, -20, -4}},
		"one tier may have several costs, and what comes gets the lowest": {[]int64{0, 0, 0, 1}, []int32{-9, -5, 0, -1}, []int32{-9, -5, -9, -1}},
		"one of the tier that cannot stay gets the cost of one that can": {[]int64{0, 0, 1, 1, 1}, []int32{-7, -7, -9, -5, -5},
			[]int32{-7, -7, -5, -5, -5}},
		"the next tier is above the highest cost of the one below": {[]int64{0, 0, 1, 2}, []int32{-30, -10, -50, 10},
			[]int32{-30, -10, 0, 10}},
		"two tiers have no cost in common":                              {[]int64{0, 1}, []int32{-3, -3}, []int32{-3, 13}},
		"of two that cannot both stay the one that has a cost does":     {[]int64{1, 0}, []int32{0, 5}, []int32{21, 5}},
		"of two that have a cost the older one stays":                   {[]int64{1, 0}, []int32{4, 5}, []int32{4, -12}},
		"and of two that have none":                                     {[]int64{1, 0}, []int32{0, 0}, []int32{0, -16}},
		"two that have no cost are worth more than one that has":        {[]int64{0, 0, 1}, []int32{0, 0, -5}, []int32{0, 0, 16}},
		"two that have no cost are worth more than an old one that has": {[]int64{1, 2, 0, 0}, []int32{-5, 50, 0, 0}, []int32{25, 50, 0, 0}},
		"just below the limit is kept": {[]int64{0, 1}, []int32{1 - limit, limit - 1},
			[]int32{1 - limit, limit - 1}},
		"at the lower limit all are given anew": {[]int64{0, 1}, []int32{-limit, 3}, []int32{-16, 0}},
		"at the upper limit all are given anew": {[]int64{0, 1}, []int32{3, limit}, []int32{-16, 0}},
		"a step that ends just below the limit is taken": {[]int64{0, 1, 2}, []int32{3, limit - 17, 5},
			[]int32{3, limit - 17, limit - 1}},
		"one that ends at the limit is not":        {[]int64{0, 1, 2}, []int32{3, limit - 16, 5}, []int32{-32, -16, 0}},
		"nor one down to the lower limit":          {[]int64{0, 1, 2}, []int32{5, 16 - limit, 3}, []int32{-32, -16, 0}},
		"all of one tier cost what the first does": {[]int64{4, 4, 4}, []int32{0, 0, 0}, []int32{0, 0, 0}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := planned(podsOf(tc.costs...), tc.tiers); !slices.Equal(got, tc.want) {
				t.Errorf("tiers %v that cost %v cost %v then, want %v", tc.tiers, tc.costs, got, tc.want)
			}
		})
	}
}

// No larger set of pods could have kept their costs. A search through all sets shows this.
func TestTheMostCostsAreKept(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(r, "pods")
		var all []tiered
		for i, p := range podsOf(rapid.SliceOfN(rapid.Int32Range(-3, 3), n, n).Draw(r, "costs")...) {
			all = append(all, tiered{p, int64(rapid.IntRange(0, 3).Draw(r, fmt.Sprint("tier ", i)))})
		}
		slices.SortFunc(all, func(a, b tiered) int { return int(10*(a.tier-b.tier)) + int(a.pod.Cost) - int(b.pod.Cost) })
		best := 0
		for set := range 1 << n {
			var kept []tiered
			for i := range all {
				if set>>i&1 == 1 {
					kept = append(kept, all[i])
				}
			}
			rises := slices.IsSortedFunc(kept, func(a, b tiered) int {
				if a.tier == b.tier {
					return 0
				}
				return int(a.pod.Cost) - int(b.pod.Cost)
			})
			for i := 1; i < len(kept); i++ {
				rises = rises && (kept[i].tier == kept[i-1].tier || kept[i].pod.Cost > kept[i-1].pod.Cost)
			}
			if rises {
				best = max(best, len(kept))
			}
		}
		got := 0
		for _, k := range longestKept(all) {
			if k {
				got++
			}
		}
		if got != best {
			r.Fatalf("%d of %d pods stay, %d could", got, n, best)
		}
	})
}

// The result has equal steps from 0 to 64 for any tiers.
func TestScaledTiersHaveEqualSteps(t *testing.T) {
	for _, tc := range []struct{ tiers, want []int64 }{
		{[]int64{7, -1, 900, 7}, []int64{32, 0, 64, 32}},
		{[]int64{3, 1, 2, 0}, []int64{64, 21, 42, 0}},
		{[]int64{5, 5}, []int64{0, 0}},
	} {
		if got := scaled(tc.tiers); !slices.Equal(got, tc.want) {
			t.Errorf("%v have the places %v, want %v", tc.tiers, got, tc.want)
		}
	}
}

// A combination is planned again after a while if one of its algorithms counts the other pods on nodes.
func TestWeightedIsPlannedAgainForOccupancy(t *testing.T) {
	for _, tc := range []struct {
		names []string
		want  time.Time
	}{{nil, time.Time{}}, {[]string{"Spread"}, time.Time{}}, {[]string{"Spread", "NodeOccupancy", "NodeOccupancy", "Youngest"},
		time.Unix(1000, 0).Add(lookAgain)}} {
		var p Params
		for _, name := range tc.names {
			p.Weights = append(p.Weights, Weight{Name: name, Weight: 1})
		}
		p.SpreadBy = []string{"zone"}
		if got := Make(Combined, &workload.Fleet{}, p, false, time.Unix(1000, 0)).Again; !got.Equal(tc.want) {
			t.Errorf("%v is planned again at %s, want %s", tc.names, got, tc.want)
		}
	}
}
