package deletioncost_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/policy/deletioncost"
	"flyball.dev/flyball/engine/workload"
)

var everything = deletioncost.Params{
	SpreadBy: []string{zone}, GoingTaints: deletioncost.DefaultGoingTaints, GoingLabels: deletioncost.DefaultGoingLabels,
	Weights: []deletioncost.Weight{{Name: "Spread", Weight: 3}, {Name: "NodeOccupancy", Weight: 2}, {Name: "Youngest", Weight: 1}},
}

// After the changes of a plan, the next plan has no changes.
func TestEveryAlgorithmConverges(t *testing.T) {
	for _, name := range deletioncost.Names() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				f := newFleet(drawFleet(r, "web")...)
				for _, p := range f.Pods {
					p.Node.Pods = len(p.Node.Name) * int(p.Created%7)
				}
				changes := deletioncost.Make(name, f, everything, false, now).Changes
				if len(changes) > len(f.Pods) {
					r.Fatalf("%d changes for %d pods", len(changes), len(f.Pods))
				}
				carryOut(changes)
				if again := deletioncost.Make(name, f, everything, false, now).Changes; len(again) > 0 {
					r.Fatalf("planning again changes %d pods", len(again))
				}
			})
		})
	}
}

func order(f *workload.Fleet) []string {
	var names []string
	for _, p := range workload.Victims(f.Pods, f.Pods, now.Unix()) {
		names = append(names, p.Name)
	}
	return names
}

func TestEachAlgorithmOrdersPods(t *testing.T) {
	all := nodes(1, 1, 1)
	all[0].Pods, all[1].Pods, all[2].Pods = 40, 1, 6
	all[1].Labels["karpenter.sh/capacity-type"] = "spot"
	all[2].Taints = []string{"ToBeDeletedByClusterAutoscaler"}
	for name, want := range map[string][]string{
		"Youngest":      {"web-005", "web-004", "web-003", "web-002", "web-001", "web-000"},
		"Oldest":        {"web-000", "web-001", "web-002", "web-003", "web-004", "web-005"},
		"NodeOccupancy": {"web-001", "web-004", "web-002", "web-005", "web-000", "web-003"},
		"NodeLifetime":  {"web-002", "web-005", "web-001", "web-004", "web-000", "web-003"},
	} {
		var pods []*workload.Pod
		for i := range 6 {
			pods = append(pods, pod(i, "web", all[i%3]))
		}
		f := newFleet(pods...)
		carryOut(deletioncost.Make(name, f, everything, false, now).Changes)
		if got := order(f); !slices.Equal(got, want) {
			t.Errorf("%s: pods go as %v, want %v", name, got, want)
		}
	}
}

func TestWeightedAddsUp(t *testing.T) {
	all := nodes(1, 1)
	all[0].Pods, all[1].Pods = 40, 1
	pods := []*workload.Pod{pod(0, "web", all[0]), pod(1, "web", all[0]), pod(2, "web", all[1])}
	for _, tc := range []struct {
		occupancy, oldest int32
		first             string
	}{{3, 1, "web-002"}, {1, 3, "web-000"}} {
		f := newFleet(pods...)
		p := everything
		p.Weights = []deletioncost.Weight{{Name: "NodeOccupancy", Weight: tc.occupancy}, {Name: "Oldest", Weight: tc.oldest}}
		carryOut(deletioncost.Make("Weighted", f, p, false, now).Changes)
		if got := order(f); got[0] != tc.first {
			t.Errorf("with weights %d and %d pods go as %v", tc.occupancy, tc.oldest, got)
		}
	}
}

// A new pod is placed at its end of the order without changes of other pods. This still holds after many new pods.
func TestANewPodCostsOneWriteWhenOrderedByAge(t *testing.T) {
	for _, name := range []string{"Youngest", "Oldest"} {
		all := nodes(2, 2)
		var pods []*workload.Pod
		for i := range 20 {
			pods = append(pods, pod(i, "web", all[i%4]))
		}
		f := newFleet(pods...)
		carryOut(deletioncost.Make(name, f, everything, false, now).Changes)
		for i := range 100 {
			f.Pods = append(f.Pods[1:], pod(20+i, "web", all[i%4]))
			changes := deletioncost.Make(name, f, everything, false, now).Changes
			if len(changes) != 1 {
				for _, p := range f.Pods {
					t.Log(p.Name, p.Cost, p.Writer)
				}
				t.Fatalf("%s: pod %d costs %d writes", name, i, len(changes))
			}
			carryOut(changes)
		}
	}
}

func TestFullNodesAreCountedAgain(t *testing.T) {
	f := newFleet(pod(0, "web", nodes(1)[0]))
	for name, again := range map[string]bool{"NodeOccupancy": true, "Weighted": true, "Spread": false} {
		if plan := deletioncost.Make(name, f, everything, false, now); plan.Again.Equal(now.Add(time.Minute)) != again {
			t.Errorf("%s looks again at %s", name, plan.Again)
		}
	}
}

func TestRollOuts(t *testing.T) {
	all := nodes(1, 1)
	pods := []*workload.Pod{pod(0, "old", all[0]), pod(1, "old", all[1]), pod(2, "new", all[0])}
	f := newFleet(pods...)
	f.Moved = now.Add(-10 * time.Second)
	plan := deletioncost.Make("Spread", f, zones, false, now)
	if !plan.RollingOut || len(plan.Changes) > 0 || !plan.Again.Equal(now.Add(20*time.Second)) {
		t.Errorf("during a roll-out: %+v", plan)
	}
	if plan := deletioncost.Make("Spread", f, zones, true, now); plan.RollingOut || len(plan.Changes) == 0 {
		t.Errorf("during a roll-out that is to be planned in: %+v", plan)
	}
	if plan := deletioncost.Make("Spread", f, zones, false, plan.Again); plan.RollingOut || len(plan.Changes) == 0 {
		t.Errorf("once it is over: %+v", plan)
	}
}

// A pod that has just become unready, or is starting, counts as ready for half a minute.
func TestStartingPodsAreExpected(t *testing.T) {
	all := nodes(1)
	pods := []*workload.Pod{pod(0, "web", all[0]), pod(1, "web", all[0]), pod(2, "web", all[0])}
	f := newFleet(pods...)
	carryOut(spread(f))
	pods[0].Ready, pods[0].Changed = false, now.Unix()
	plan := deletioncost.Make("Spread", f, zones, false, now)
	if len(plan.Changes) > 0 || !plan.Again.Equal(now.Add(30*time.Second)) {
		t.Errorf("at once: %+v", plan)
	}
	if plan := deletioncost.Make("Spread", f, zones, false, plan.Again); len(plan.Changes) != 2 || !plan.Again.IsZero() {
		t.Errorf("after half a minute: %+v", plan)
	}
}

// Such pods get no cost: the controller deletes them first, whatever their cost.
func TestPodsWithoutANodeAreLeftAlone(t *testing.T) {
	all := nodes(1)
	unassigned, unknown := pod(0, "web", nil), pod(1, "web", nil)
	unassigned.Assigned, unassigned.Ready, unassigned.Phase = false, false, workload.PodPending
	for _, name := range deletioncost.Names() {
		f := newFleet(unassigned, unknown, pod(2, "web", all[0]), pod(3, "web", all[0]))
		for _, c := range deletioncost.Make(name, f, everything, false, now).Changes {
			if c.Pod == unassigned || c.Pod == unknown {
				t.Errorf("%s gives a cost to %s", name, c.Pod.Name)
			}
		}
	}
}

// FuzzPlan plans with every algorithm for pods with odd fields: it must not panic, must converge, and must not change
// foreign costs.
func FuzzPlan(f *testing.F) {
	f.Add([]byte("a few bytes are a few pods, and each says something else of them"), "-5", "karpenter")
	f.Add([]byte{0, 255, 0, 255, 1, 2, 3, 4, 5, 6, 7, 8, 9, 200, 201, 202}, "99999999999", "")
	f.Add([]byte{}, "+1", "flyball")
	f.Fuzz(func(t *testing.T, data []byte, cost, writer string) {
		all := append(nodes(2, 1, 3), &workload.Node{Name: "bare"})
		var pods []*workload.Pod
		for i := 0; i+8 <= len(data) && i < 8*64; i += 8 {
			b := data[i : i+8]
			p := &workload.Pod{Name: fmt.Sprint("p", i), UID: fmt.Sprint(b[7]), Group: fmt.Sprint(b[0] % 3), Revision: fmt.Sprint(b[0] % 2),
				Assigned: b[1]%5 > 0, Phase: workload.PodPhase(b[2] % 3), Ready: b[3]%2 > 0, Restarts: int64(b[4])}
			if p.Assigned && b[1]%7 > 0 {
				p.Node = all[int(b[1])%len(all)]
			}
			p.Created = int64(int32(binary.LittleEndian.Uint32(b[3:7])))
			if b[5]%3 > 0 {
				p.Changed = p.Created * int64(b[6])
			}
			if b[6]%2 > 0 {
				p.Cost, p.Writer = workload.ParseCost(cost), writer
			} else if b[6]%3 > 0 {
				p.Cost, p.Writer = int32(binary.LittleEndian.Uint32(b[2:6])), own
			}
			pods = append(pods, p)
		}
		for _, name := range deletioncost.Names() {
			fl := newFleet(pods...)
			if len(order(fl)) != len(pods) {
				t.Fatal("the order of victims loses pods")
			}
			changes := deletioncost.Make(name, fl, everything, false, now).Changes
			for _, c := range changes {
				if fl.IsForeign(c.Pod) || c.Pod.Node == nil {
					t.Fatalf("%s changes %+v", name, c.Pod)
				}
			}
			carryOut(changes)
			if again := deletioncost.Make(name, fl, everything, false, now).Changes; len(again) > 0 {
				t.Fatalf("%s: planning again changes %d of %d pods", name, len(again), len(pods))
			}
		}
	})
}

func BenchmarkPlan2000(b *testing.B) {
	all := nodes(33, 33, 34)
	var pods []*workload.Pod
	for i := range 2000 {
		pods = append(pods, pod(i, "web", all[(i*7)%100]))
	}
	for b.Loop() {
		deletioncost.Make("Spread", newFleet(pods...), zones, false, now)
	}
}

func BenchmarkPlan2000OverNodes(b *testing.B) {
	all := nodes(33, 33, 34)
	var pods []*workload.Pod
	for i := range 2000 {
		pods = append(pods, pod(i, "web", all[(i*7)%100]))
	}
	both := deletioncost.Params{SpreadBy: []string{zone, host}}
	for b.Loop() {
		deletioncost.Make("Spread", newFleet(pods...), both, false, now)
	}
}
