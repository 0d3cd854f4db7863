package workload

import (
	"slices"
	"testing"
)

const now = 1_000_000

func node(name string) *Node { return &Node{Name: name, Labels: map[string]string{"zone": name[:1]}} }

// TestVictimsOfAScaleDown has one pair of pods for each property that the ReplicaSet controller compares, in the
// controller's
// order. By all later properties, the other pod of the pair would be deleted first.
func TestVictimsOfAScaleDown(t *testing.T) {
	ready := Pod{Assigned: true, Phase: PodRunning, Ready: true, Changed: now - 1000, Created: now - 1000, Node: node("a1"), UID: "m"}
	with := func(name string, edit func(*Pod)) *Pod {
		p := ready
		p.Name = name
		edit(&p)
		return &p
	}
	strong := func(p *Pod) { p.Cost, p.Created, p.Changed, p.UID = 1000, 1, 1, "z" }
	for what, pair := range map[string][2]*Pod{
		"no node": {with("first", func(p *Pod) { strong(p); p.Assigned, p.Ready = false, false }),
			with("then", func(p *Pod) { p.Phase, p.Ready = PodPending, false })},
		"pending": {with("first", func(p *Pod) { strong(p); p.Phase, p.Ready = PodPending, false }),
			with("then", func(p *Pod) { p.Phase, p.Ready = PodUnknown, false })},
		"unknown": {with("first", func(p *Pod) { strong(p); p.Phase, p.Ready = PodUnknown, false }),
			with("then", func(p *Pod) { p.Ready = false })},
		"not ready": {with("first", func(p *Pod) { strong(p); p.Ready = false }), with("then", func(*Pod) {})},
		"a lower cost": {with("first", func(p *Pod) { p.Cost, p.Created, p.Changed = -1, 1, 1 }),
			with("then", func(p *Pod) { p.Restarts = 9 })},
		"ready later": {with("first", func(p *Pod) { p.Changed, p.Created = now-10, 1 }), with("then", func(p *Pod) { p.Restarts = 9 })},
		"the smaller UID": {with("first", func(p *Pod) { p.Changed = now - 1000; p.UID = "a" }),
			with("then", func(p *Pod) { p.Changed, p.Restarts = now-1010, 9 })},
		"more restarts":   {with("first", func(p *Pod) { p.Restarts, p.Created = 9, 1 }), with("then", func(p *Pod) { p.Created = now - 5 })},
		"newer":           {with("first", func(p *Pod) { p.Created, p.UID = now-5, "z" }), with("then", func(*Pod) {})},
		"of no known age": {with("first", func(p *Pod) { p.Created, p.UID = 0, "z" }), with("then", func(*Pod) {})},
	} {
		for _, group := range [][]*Pod{{pair[0], pair[1]}, {pair[1], pair[0]}} {
			if got := Victims(group, group, now); got[0].Name != "first" {
				t.Errorf("%s does not go first", what)
			}
		}
	}
}

// TestCrowdedNodesAreThinnedOut: of pods of equal cost, those on nodes with more pods of the target go first.
func TestCrowdedNodesAreThinnedOut(t *testing.T) {
	crowded, other := node("a1"), node("b1")
	group := []*Pod{
		{Name: "alone", Assigned: true, Phase: PodRunning, Ready: true, Changed: now - 1, Node: other},
		{Name: "crowded", Assigned: true, Phase: PodRunning, Ready: true, Changed: 1, Node: crowded},
	}
	related := append(slices.Clone(group), &Pod{Name: "of another group", Assigned: true, Node: crowded})
	if got := Victims(group, related, now); got[0].Name != "crowded" {
		t.Errorf("%s goes first", got[0].Name)
	}
}

func TestCostsAreReadAsTheControllerReadsThem(t *testing.T) {
	for text, want := range map[string]int32{"": 0, "0": 0, "7": 7, "-7": -7, "+7": 0, "07": 0, "-07": -7, "1.5": 0, "many": 0,
		"2147483647": 2147483647, "2147483648": 0} {
		if got := ParseCost(text); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
}

func TestSpreadBalancesDomains(t *testing.T) {
	a, b := node("a1"), node("b1")
	f := &Fleet{Own: "me"}
	for i, n := range []*Node{a, a, a, b, nil} {
		f.Pods = append(f.Pods, &Pod{Name: string(rune('0' + i)), UID: string(rune('0' + i)), Assigned: true, Phase: PodRunning, Ready: true,
			Node: n, Group: "g"})
	}
	if got := f.Spread("zone", nil); got != 2 {
		t.Errorf("three pods in one zone and one in the other: %d", got)
	}
	if got := f.Spread("zone", map[*Pod]bool{f.Pods[3]: true}); got != 3 {
		t.Errorf("a zone that has lost its last pod counts as empty: %d", got)
	}
	if got := (&Fleet{}).Spread("zone", nil); got != 0 {
		t.Errorf("no pods: %d", got)
	}
	f.Pods[0].Cost, f.Pods[1].Cost = -2, -1
	gone := f.ScaledDown(3, now)
	if len(gone) != 2 || !gone[f.Pods[0]] || !gone[f.Pods[1]] {
		t.Errorf("scaled down to three: %d go", len(gone))
	}
}

func TestGroupsByAge(t *testing.T) {
	f := &Fleet{Pods: []*Pod{{Group: "new", Created: 5, Revision: "2"}, {Group: "old", Created: 9, Revision: "1"},
		{Group: "old", Created: 1, Revision: "1"}}}
	groups := f.Groups()
	if len(groups) != 2 || groups[0][0].Group != "old" || len(groups[0]) != 2 || f.Revisions() != 2 {
		t.Errorf("%d groups of %d revisions", len(groups), f.Revisions())
	}
}
