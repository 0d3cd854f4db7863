package algorithm_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/fleet"
	"flyball.dev/flyball/engine/policy/deletioncost/algorithm"
)

// replicaSets are two ReplicaSets of one Deployment, the older one first.
type replicaSets [2][]*fleet.Pod

// place makes as many pods in each zone as given.
func place(group string, first int, perZone []int) []*fleet.Pod {
	var pods []*fleet.Pod
	for z, n := range perZone {
		node := &fleet.Node{Name: fmt.Sprint("node-", z), Labels: map[string]string{zone: fmt.Sprint("zone-", z)}}
		for range n {
			pods = append(pods, pod(first+len(pods), group, node))
		}
	}
	return pods
}

func (r replicaSets) all() []*fleet.Pod { return append(slices.Clone(r[0]), r[1]...) }

// ways gives, for each n, the pods that stay when the Deployment is scaled down one by one, and when it is scaled down in one step to n.
func (r replicaSets) ways() (slowly, atOnce [][]*fleet.Pod) {
	small := []int{len(r[0]), len(r[1])}
	all := r.all()
	after := func(sizes []int) []*fleet.Pod {
		var stay []*fleet.Pod
		for i, size := range sizes {
			stay = append(stay, fleet.Victims(r[i], all, now.Unix())[len(r[i])-size:]...)
		}
		return stay
	}
	for n := len(all) - 1; n > 0; n-- {
		small = fleet.Shares(small, n)
		slowly, atOnce = append(slowly, after(small)), append(atOnce, after(fleet.Shares([]int{len(r[0]), len(r[1])}, n)))
	}
	return slowly, atOnce
}

// count is how many pods of a group are in each of three zones.
func count(pods []*fleet.Pod, group string) (in [3]int, total int) {
	for _, p := range pods {
		if p.Group == group {
			d, _ := p.Domain(zone)
			in[d[len(d)-1]-'0']++
			total++
		}
	}
	return in, total
}

// bestOfShares is the smallest spread over three zones when each ReplicaSet keeps as many pods as those that stay: every way to choose them
// is tried.
func bestOfShares(r replicaSets, stay []*fleet.Pod) int {
	a, _ := count(r[0], "old")
	b, _ := count(r[1], "new")
	_, fromA := count(stay, "old")
	n, best := len(stay), len(stay)
	for x := range min(n, a[0]+b[0]) + 1 {
		for y := range min(n-x, a[1]+b[1]) + 1 {
			left := [3]int{x, y, n - x - y}
			atLeast, atMost := 0, 0
			for z := range left {
				atLeast += max(0, left[z]-b[z])
				atMost += min(left[z], a[z])
			}
			if left[2] <= a[2]+b[2] && atLeast <= fromA && fromA <= atMost {
				best = min(best, slices.Max(left[:])-slices.Min(left[:]))
			}
		}
	}
	return best
}

func spreadOver(stay []*fleet.Pod) int {
	a, _ := count(stay, "old")
	b, _ := count(stay, "new")
	var in []int
	for z := range a {
		in = append(in, a[z]+b[z])
	}
	return slices.Max(in) - slices.Min(in)
}

func drawReplicaSets(r *rapid.T, draw func(name string) []int) replicaSets {
	return replicaSets{place("old", 0, draw("old")), place("new", 1000, draw("new"))}
}

// TestTwoReplicaSets: where the pods of each ReplicaSet are even, what a Deployment keeps is at most one pod less even than it could be,
// for every n, whether it is scaled down in one step or in many.
func TestTwoReplicaSets(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		sets := drawReplicaSets(r, func(name string) []int {
			all := rapid.IntRange(1, 30).Draw(r, name)
			in := rapid.Permutation([]int{all / 3, (all + 1) / 3, (all + 2) / 3}).Draw(r, name+" by zone")
			return in
		})
		checkWays(r, sets, 1)
	})
}

// TestSkewedReplicaSets: wherever the pods of two ReplicaSets are, it is at most three pods less even.
func TestSkewedReplicaSets(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		sets := drawReplicaSets(r, func(name string) []int { return rapid.SliceOfN(rapid.IntRange(0, 9), 3, 3).Draw(r, name) })
		checkWays(r, sets, 3)
	})
}

func checkWays(r *rapid.T, sets replicaSets, above int) {
	f := newFleet(sets.all()...)
	carryOut(spread(f))
	if again := spread(f); len(again) > 0 {
		r.Fatalf("planning again changes %d pods", len(again))
	}
	slowly, atOnce := sets.ways()
	for name, way := range map[string][][]*fleet.Pod{"one by one": slowly, "in one step": atOnce} {
		for _, stay := range way {
			if got, want := spreadOver(stay), bestOfShares(sets, stay); got > want+above {
				r.Fatalf("scaled down %s to %d, the spread is %d, could be %d", name, len(stay), got, want)
			}
		}
	}
}

// TestReplicaSetsComeToRest: what a scale-down or a pod that comes leaves is planned for by a few writes, and the order stays as even.
func TestReplicaSetsComeToRest(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		sets := replicaSets{place("old", 0, []int{7, 7, 6}), place("new", 1000, []int{3, 3, 4})}
		f := newFleet(sets.all()...)
		carryOut(spread(f))
		slowly, _ := sets.ways()
		f.Pods = slowly[rapid.IntRange(0, len(slowly)-1).Draw(r, "gone")]
		if changes := spread(f); len(changes) > 0 {
			r.Fatalf("%d writes after a scale-down to %d", len(changes), len(f.Pods))
		}
	})
}

// BenchmarkTwoReplicaSets2000 plans for 2,000 pods of two ReplicaSets that have no cost yet.
func BenchmarkTwoReplicaSets2000(b *testing.B) {
	f := newFleet(append(place("old", 0, []int{445, 444, 444}), place("new", 5000, []int{223, 222, 222})...)...)
	for b.Loop() {
		algorithm.Make("Spread", f, zones, false, now)
	}
}
