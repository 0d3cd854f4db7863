package deletioncost_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/policy/deletioncost"
	"flyball.dev/flyball/engine/workload"
)

const (
	zone = "topology.kubernetes.io/zone"
	host = "kubernetes.io/hostname"
	own  = "flyball"
)

var zones = deletioncost.Params{SpreadBy: []string{zone}}

// nodes returns the given number of nodes in each zone.
func nodes(perZone ...int) []*workload.Node {
	var out []*workload.Node
	for z, n := range perZone {
		for i := range n {
			name := fmt.Sprintf("node-%c-%d", 'a'+z, i)
			out = append(out, &workload.Node{Name: name, Labels: map[string]string{zone: fmt.Sprintf("zone-%c", 'a'+z), host: name}})
		}
	}
	return out
}

// pod returns a pod that has been ready for an hour.
func pod(i int, group string, node *workload.Node) *workload.Pod {
	at := now.Add(-time.Hour).Unix() + int64(i)
	return &workload.Pod{Namespace: "shop", Name: fmt.Sprintf("%s-%03d", group, i), UID: fmt.Sprint(i), Assigned: true, Node: node,
		Group:    group,
		Revision: group,
		Phase:    workload.PodRunning, Ready: true, Created: at, Changed: at}
}

func newFleet(pods ...*workload.Pod) *workload.Fleet {
	return &workload.Fleet{Pods: pods, Own: own, Moved: now.Add(-time.Hour)}
}

// carryOut applies the changes of a plan.
func carryOut(changes []workload.CostChange) {
	for _, c := range changes {
		c.Pod.Cost, c.Pod.Writer = c.Cost, own
	}
}

func spread(f *workload.Fleet) []workload.CostChange {
	return deletioncost.Make("Spread", f, zones, false, now).Changes
}

// drawFleet draws the pods of one group. They have any readiness, and costs from an earlier plan or random costs.
func drawFleet(r *rapid.T, group string) []*workload.Pod {
	all := nodes(rapid.SliceOfN(rapid.IntRange(1, 4), 1, 11).Draw(r, "nodes in zones")...)
	var pods []*workload.Pod
	for i := range rapid.IntRange(0, 50).Draw(r, "pods") {
		p := pod(i, group, rapid.SampledFrom(all).Draw(r, "node"))
		switch rapid.IntRange(0, 9).Draw(r, "state") {
		case 0, 1:
			p.Ready = false
		case 2:
			p.Ready, p.Phase = false, workload.PodPending
		case 3:
			p.Ready, p.Phase = false, workload.PodUnknown
		}
		switch rapid.IntRange(0, 3).Draw(r, "cost") {
		case 0:
			p.Cost, p.Writer = int32(-rapid.IntRange(0, 30*16).Draw(r, "earlier")), own
		case 1:
			p.Cost, p.Writer = rapid.Int32().Draw(r, "chance"), own
		}
		p.Restarts = rapid.Int64Range(0, 5).Draw(r, "restarts")
		pods = append(pods, p)
	}
	return pods
}

// best returns, for each number of deleted pods, the smallest spread allowed by the classes: pods of a lower class are
// deleted first, and within a class the best choice is the fullest domain.
func best(pods []*workload.Pod, label string) []int {
	left := map[string]int{}
	classes := map[workload.PodClass]map[string]int{}
	for _, p := range pods {
		d, _ := p.Domain(label)
		left[d]++
		c := workload.PodClassOf(p)
		if classes[c] == nil {
			classes[c] = map[string]int{}
		}
		classes[c][d]++
	}
	out := []int{spreadOf(left)}
	for _, c := range slices.Sorted(maps.Keys(classes)) {
		for in := classes[c]; len(in) > 0; out = append(out, spreadOf(left)) {
			most := ""
			for d := range in {
				if most == "" || left[d] > left[most] {
					most = d
				}
			}
			left[most]--
			if in[most]--; in[most] == 0 {
				delete(in, most)
			}
		}
	}
	return out
}

func spreadOf(count map[string]int) int {
	if len(count) == 0 {
		return 0
	}
	all := slices.Collect(maps.Values(count))
	return slices.Max(all) - slices.Min(all)
}

// gone returns, for each number of deleted pods, the spread that remains if the controller chooses the pods.
func gone(f *workload.Fleet, label string, victims []*workload.Pod) []int {
	out := []int{f.Spread(label, nil)}
	taken := map[*workload.Pod]bool{}
	for _, p := range victims {
		taken[p] = true
		out = append(out, f.Spread(label, taken))
	}
	return out
}

// For any unready subset, any earlier costs and any number of remaining pods, the spread is the smallest possible. So
// it is at most 1 wherever the counts at the start allow that.
func TestSpreadIsOptimal(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := newFleet(drawFleet(r, "web")...)
		carryOut(spread(f))
		if got, want := gone(f, zone, workload.Victims(f.Pods, f.Pods, now.Unix())), best(f.Pods, zone); !slices.Equal(got, want) {
			r.Fatalf("spread as pods go one by one:\n got %v\nwant %v", got, want)
		}
		if again := spread(f); len(again) > 0 {
			r.Fatalf("planning again changes %d pods", len(again))
		}
		for _, p := range f.Pods {
			if low := -int32(len(f.Pods)); p.Cost > 0 || p.Cost < low {
				r.Fatalf("a cost of %d is outside of %d to 0", p.Cost, low)
			}
		}
	})
}

// For any initial placement, a Deployment with two ReplicaSets stays as even as possible while it is scaled down pod by
// pod; the controller deletes from the larger ReplicaSet.
func TestSpreadOfTwoReplicaSetsIsOptimal(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		all := nodes(1, 1, 1)
		var a, b []*workload.Pod
		for z, node := range all {
			for i := range rapid.IntRange(4, 9).Draw(r, "in a") {
				a = append(a, pod(100*z+i, "a", node))
			}
			for i := range rapid.IntRange(2, 5).Draw(r, "in b") {
				b = append(b, pod(1000+100*z+i, "b", node))
			}
		}
		f := newFleet(append(slices.Clone(a), b...)...)
		carryOut(spread(f))
		if again := spread(f); len(again) > 0 {
			r.Fatalf("planning again changes %d pods", len(again))
		}
		for _, group := range [][]*workload.Pod{a, b} {
			costs := map[int32]bool{}
			for _, p := range group {
				costs[p.Cost] = true
			}
			for i := range group {
				if !costs[int32(-i)] {
					r.Fatalf("no pod of %d costs %d", len(group), -i)
				}
			}
		}
		victimsA, victimsB := workload.Victims(a, f.Pods, now.Unix()), workload.Victims(b, f.Pods, now.Unix())
		taken, want := map[*workload.Pod]bool{}, best(f.Pods, zone)
		for n := range len(f.Pods) {
			if got := f.Spread(zone, taken); got > want[n] {
				r.Fatalf("with %d gone the spread is %d, could be %d", n, got, want[n])
			}
			from := &victimsA
			if len(victimsB) > len(victimsA) {
				from = &victimsB
			}
			taken[(*from)[0]] = true
			*from = (*from)[1:]
		}
	})
}

// In a fleet with its planned costs, a new or a deleted pod costs one write.
func TestAPodChangeCostsOneWrite(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		all := nodes(3, 5, 7)
		var pods []*workload.Pod
		for i := range rapid.IntRange(1, 60).Draw(r, "pods") {
			pods = append(pods, pod(i, "web", rapid.SampledFrom(all).Draw(r, "node")))
		}
		f := newFleet(pods...)
		carryOut(spread(f))
		for i := range rapid.IntRange(1, 10).Draw(r, "changes") {
			if rapid.Bool().Draw(r, "comes") || len(f.Pods) == 0 {
				f.Pods = append(f.Pods, pod(1000+i, "web", rapid.SampledFrom(all).Draw(r, "node")))
			} else {
				at := rapid.IntRange(0, len(f.Pods)-1).Draw(r, "goes")
				f.Pods = slices.Delete(slices.Clone(f.Pods), at, at+1)
			}
			changes := spread(f)
			if len(changes) > 1 {
				for _, c := range changes {
					r.Logf("%s in %s from %d to %d", c.Pod.Name, c.Pod.Node.Name, c.Pod.Cost, c.Cost)
				}
				r.Fatalf("%d writes for one change", len(changes))
			}
			carryOut(changes)
		}
	})
}

// After a scale-down by the controller, the remaining costs need no change.
func TestAScaleDownCostsNoWrite(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := newFleet(drawFleet(r, "web")...)
		for _, p := range f.Pods {
			p.Ready, p.Phase = true, workload.PodRunning
		}
		carryOut(spread(f))
		victims := workload.Victims(f.Pods, f.Pods, now.Unix())
		f.Pods = victims[rapid.IntRange(0, len(victims)).Draw(r, "go"):]
		if changes := spread(f); len(changes) > 0 {
			r.Fatalf("%d writes after a scale-down", len(changes))
		}
	})
}

// The plan is even among the other pods wherever possible.
func TestForeignCostsAreNotChanged(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := newFleet(drawFleet(r, "web")...)
		for _, p := range f.Pods {
			if rapid.IntRange(0, 4).Draw(r, "foreign") == 0 {
				p.Cost, p.Writer = rapid.Int32().Draw(r, "theirs"), "karpenter"
			}
		}
		for _, c := range spread(f) {
			if f.IsForeign(c.Pod) {
				r.Fatalf("the cost of %s is changed, which %s has set", c.Pod.Name, c.Pod.Writer)
			}
			c.Pod.Cost, c.Pod.Writer = c.Cost, own
		}
		if again := spread(f); len(again) > 0 {
			r.Fatalf("planning again changes %d pods", len(again))
		}
	})
}

func TestThePlanIncludesForeignCosts(t *testing.T) {
	all := nodes(1, 1, 1)
	var pods []*workload.Pod
	for i := range 12 {
		pods = append(pods, pod(i, "web", all[i%3]))
	}
	for _, i := range []int{0, 3} { // the cost of two pods of zone a keeps them longest
		pods[i].Cost, pods[i].Writer = 1000, "kubectl"
	}
	pods[1].Cost, pods[1].Writer = -1_000_000, "karpenter" // the cost of a pod of zone b makes it the first to go
	f := newFleet(pods...)
	carryOut(spread(f))
	got := gone(f, zone, workload.Victims(pods, pods, now.Unix()))
	for n, spread := range got {
		want := 1 + min(1, n%3)
		if left := 12 - n; left <= 3 {
			want = 2 // the two remaining pods are in one zone
		}
		if spread > want {
			t.Errorf("with %d gone the spread is %d: %v", n, spread, got)
		}
	}
}

// With several labels, each zone is as even over its racks as possible, and each rack over its nodes. This holds for every
// number of remaining pods, any placement and any unready subset. The zones themselves are as even as without further
// labels.
func TestSpreadOverFurtherLabelsIsOptimal(t *testing.T) {
	const rack = "example.com/rack"
	all := deletioncost.Params{SpreadBy: []string{zone, rack, host}}
	rapid.Check(t, func(r *rapid.T) {
		f := newFleet(drawFleet(r, "web")...)
		for _, p := range f.Pods {
			name := p.Node.Name // of the form node-z-n
			p.Node.Labels[rack] = fmt.Sprint(name[:len(name)-1], int(name[len(name)-1])%2)
		}
		carryOut(deletioncost.Make("Spread", f, all, false, now).Changes)
		if again := deletioncost.Make("Spread", f, all, false, now).Changes; len(again) > 0 {
			r.Fatalf("planning again changes %d pods", len(again))
		}
		victims := workload.Victims(f.Pods, f.Pods, now.Unix())
		within := func(label, domain, of string) {
			part := newFleet()
			for _, p := range victims {
				if d, _ := p.Domain(label); d == domain || label == "" {
					part.Pods = append(part.Pods, p)
				}
			}
			if got, want := gone(part, of, part.Pods), best(part.Pods, of); !slices.Equal(got, want) {
				r.Fatalf("spread by %s in %s as pods go one by one:\n got %v\nwant %v", of, domain, got, want)
			}
		}
		within("", "", zone)
		for _, p := range f.Pods {
			z, _ := p.Domain(zone)
			in, _ := p.Domain(rack)
			within(zone, z, rack)
			within(rack, in, host)
		}
	})
}

// With nodes as a second label, a deleted pod costs at most 3 writes at the median, and so does a new pod that is placed
// where the scheduler would place it.
func TestAPodChangeCostsFewWritesWithNodes(t *testing.T) {
	both := deletioncost.Params{SpreadBy: []string{zone, host}}
	all, dice := nodes(3, 5, 7), rand.New(rand.NewPCG(1, 2))
	var pods []*workload.Pod
	// emptiest returns the node with the fewest pods in the zone with the fewest pods.
	emptiest := func() *workload.Node {
		count := map[string]int{}
		for _, p := range pods {
			count[p.Node.Name]++
			count[p.Node.Labels[zone]]++
		}
		return slices.MinFunc(all, func(a, b *workload.Node) int {
			return cmp.Or(cmp.Compare(count[a.Labels[zone]], count[b.Labels[zone]]), cmp.Compare(count[a.Name], count[b.Name]))
		})
	}
	for i := range 60 {
		pods = append(pods, pod(i, "web", emptiest()))
	}
	plan := func() int {
		changes := deletioncost.Make("Spread", newFleet(pods...), both, false, now).Changes
		carryOut(changes)
		return len(changes)
	}
	plan()
	var writes []int
	for i := range 500 {
		at := dice.IntN(len(pods))
		pods = slices.Delete(pods, at, at+1)
		writes = append(writes, plan())
		pods = append(pods, pod(1000+i, "web", emptiest()))
		writes = append(writes, plan())
	}
	slices.Sort(writes)
	if median := writes[len(writes)/2]; median > 3 {
		t.Errorf("a change costs %d writes at the median, %d at most", median, writes[len(writes)-1])
	}
	t.Logf("writes a change: %d at the median, %d at most", writes[len(writes)/2], writes[len(writes)-1])
}
