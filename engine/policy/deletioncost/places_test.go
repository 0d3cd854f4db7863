package deletioncost_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/policy/deletioncost"
	"flyball.dev/flyball/engine/workload"
)

// A pod with a foreign cost gets the height of its cost, or the next height below the top; the other pods get the
// remaining heights.
func TestForeignCostsKeepTheirHeights(t *testing.T) {
	for _, tc := range []struct{ foreign, want []int32 }{
		{[]int32{-1}, []int32{0, -2, -3}},
		{[]int32{-3}, []int32{0, -1, -2}},
		{[]int32{-100, -200}, []int32{0, -1}},
		{[]int32{-200, -2}, []int32{0, -1}},
		{[]int32{-1, -1}, []int32{0, -3}},
		{[]int32{7, 0, -9}, []int32{-2}},
	} {
		at := nodes(1)[0]
		var pods []*workload.Pod
		for i := range 4 {
			p := pod(i, "web", at)
			if i < len(tc.foreign) {
				p.Cost, p.Writer = tc.foreign[i], "karpenter"
			}
			pods = append(pods, p)
		}
		carryOut(spread(newFleet(pods...)))
		var got []int32
		for _, p := range pods[len(tc.foreign):] {
			got = append(got, p.Cost)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("beside %v of somebody else the others cost %v, want %v", tc.foreign, got, tc.want)
		}
	}
}

// A pod with a written cost keeps it. A pod without a cost, which counts as cost 0, has to give way.
func TestAPodWithACostKeepsIt(t *testing.T) {
	at := nodes(1)[0]
	older, younger := pod(0, "web", at), pod(1, "web", at)
	younger.Writer = own
	f := newFleet(older, younger)
	carryOut(spread(f))
	if older.Cost != -1 || younger.Cost != 0 {
		t.Errorf("the older one costs %d, and the younger one, which had a cost of 0, %d", older.Cost, younger.Cost)
	}
}

// There are three pods in one zone and one pod in another zone. The first two deleted pods are in the larger zone.
func TestTheHighestLayerGoesFirst(t *testing.T) {
	all := nodes(1, 1)
	f := newFleet(pod(0, "web", all[0]), pod(1, "web", all[0]), pod(2, "web", all[0]), pod(3, "web", all[1]))
	p := zones
	p.Weights = []deletioncost.Weight{{Name: "Spread", Weight: 1}}
	carryOut(deletioncost.Make("Weighted", f, p, false, now).Changes)
	if got := order(f); !slices.Equal(got[:2], []string{"web-002", "web-001"}) {
		t.Errorf("pods go as %v", got)
	}
}

// If Spread is the only weighted algorithm, the zones are as even as with Spread itself.
func TestWeightedSpreadEqualsSpread(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		all := nodes(1, 1, 1)
		var pods []*workload.Pod
		for i := range rapid.IntRange(1, 20).Draw(r, "pods") {
			pods = append(pods, pod(i, "web", rapid.SampledFrom(all).Draw(r, "node")))
		}
		f := newFleet(pods...)
		p := zones
		p.Weights = []deletioncost.Weight{{Name: "Spread", Weight: 5}}
		plan := deletioncost.Make("Weighted", f, p, false, now)
		carryOut(plan.Changes)
		if !plan.Again.IsZero() {
			r.Fatalf("nothing changes by itself, and the plan is to be made again at %v", plan.Again)
		}
		if got, want := gone(f, zone, workload.Victims(f.Pods, f.Pods, now.Unix())), best(f.Pods, zone); !slices.Equal(got, want) {
			r.Fatalf("spread as pods go one by one:\n got %v\nwant %v", got, want)
		}
	})
}
