package workload

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestReferencesAndModesAreWrittenAsText(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Ref{schema.GroupKind{Group: "apps", Kind: "Deployment"}, "shop", "web"}.String(), "Deployment.apps/shop/web"},
		{Ref{GroupKind: schema.GroupKind{Kind: "Node"}, Name: "n"}.String(), "Node/n"},
		{Policy{"Schedule", "shop", "nights"}.String(), "Schedule/shop/nights"},
		{Policy{Kind: "ClusterSchedule", Name: "nights"}.String(), "ClusterSchedule/nights"},
		{LedgerOf("Deployment", "web"), "Deployment/web"},
		{DirectionNone.String(), "ledger"}, {DirectionDown.String(), "down"}, {DirectionUp.String(), "up"},
		{StateAwake.String(), "awake"}, {StateAsleep.String(), "asleep"}, {StateAlreadyAsleep.String(), "already_asleep"},
		{StateOverridden.String(), "overridden"}, {StateSet.String(), "set"}, {StateUnable.String(), "unable"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestParsePolicy(t *testing.T) {
	for text, want := range map[string]Policy{
		"Schedule/shop/nights":   {"Schedule", "shop", "nights"},
		"ClusterSchedule/nights": {Kind: "ClusterSchedule", Name: "nights"},
		"nights":                 {Name: "nights"},
		"a/b/c/d":                {Name: "a/b/c/d"},
		"":                       {},
	} {
		if got := ParsePolicy(text); got != want {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
}

func TestPolicyCompare(t *testing.T) {
	sorted := []Policy{{"A", "a", "b"}, {"A", "b", "a"}, {"A", "b", "b"}, {"B", "", "a"}}
	for i, p := range sorted {
		for j, q := range sorted {
			if got, want := p.Compare(q), compareInts(i, j); got != want {
				t.Errorf("%v and %v: got %d, want %d", p, q, got, want)
			}
		}
	}
}

func compareInts(i, j int) int {
	switch {
	case i < j:
		return -1
	case i > j:
		return 1
	}
	return 0
}

func TestPairsAreSortedByKey(t *testing.T) {
	if NewPairs(nil) != nil || NewPairs(map[string]string{}) != nil {
		t.Error("pairs of nothing")
	}
	p := NewPairs(map[string]string{"b": "2", "a": "1", "c": ""})
	if diff := cmp.Diff(Pairs{{"a", "1"}, {"b", "2"}, {"c", ""}}, p); diff != "" {
		t.Error(diff)
	}
	for key, want := range map[string]string{"a": "1", "b": "2", "c": "", "": "none", "aa": "none", "d": "none"} {
		has := want != "none"
		if !has {
			want = ""
		}
		if v, ok := p.Lookup(key); v != want || ok != has || p.Get(key) != want || p.Has(key) != has {
			t.Errorf("%q: got %q, %t", key, v, ok)
		}
	}
}

func TestClampKeepsANumberWithinBounds(t *testing.T) {
	n := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		b       Bounds
		n, want int64
	}{
		{Bounds{}, 5, 5}, {Bounds{Min: n(3)}, 2, 3}, {Bounds{Min: n(3)}, 4, 4}, {Bounds{Max: n(3)}, 4, 3}, {Bounds{Max: n(3)}, 2, 2},
		{Bounds{Min: n(5), Max: n(3)}, 4, 5}, {Bounds{Min: n(1), Max: n(9)}, 0, 1}, {Bounds{Min: n(1), Max: n(9)}, 10, 9},
	} {
		if got := c.b.Clamp(c.n); got != c.want {
			t.Errorf("%d: got %d, want %d", c.n, got, c.want)
		}
	}
}

// For each mode, owners' counts from 0 to 4 are sized with a minimum of 0 and of 2.
func TestSizeOf(t *testing.T) {
	for _, c := range []struct {
		size         Size
		free, atMin2 [5]int64
	}{
		{Size{Mode: SizeOwn, Replicas: 9}, [5]int64{0, 1, 2, 3, 4}, [5]int64{0, 1, 2, 3, 4}},
		{Size{Mode: SizeSleep}, [5]int64{0, 0, 0, 0, 0}, [5]int64{0, 1, 2, 2, 2}},
		{Size{Mode: SizeAtMost, Replicas: 1}, [5]int64{0, 1, 1, 1, 1}, [5]int64{0, 1, 2, 2, 2}},
		{Size{Mode: SizeAtMost, Replicas: 3}, [5]int64{0, 1, 2, 3, 3}, [5]int64{0, 1, 2, 3, 3}},
		{Size{Mode: SizePercent, Percent: 50}, [5]int64{0, 1, 1, 2, 2}, [5]int64{0, 1, 2, 2, 2}},
		{Size{Mode: SizePercent, Percent: 1}, [5]int64{0, 1, 1, 1, 1}, [5]int64{0, 1, 2, 2, 2}},
		{Size{Mode: SizePercent, Percent: 100}, [5]int64{0, 1, 2, 3, 4}, [5]int64{0, 1, 2, 3, 4}},
		{Size{Mode: SizePercent}, [5]int64{0, 0, 0, 0, 0}, [5]int64{0, 1, 2, 2, 2}},
		{Size{Mode: SizeExactly, Replicas: 1}, [5]int64{1, 1, 1, 1, 1}, [5]int64{2, 2, 2, 2, 2}},
	} {
		for own := range int64(5) {
			if got := c.size.Of(Component{Replicas: own}); got != c.free[own] {
				t.Errorf("%+v of %d: got %d, want %d", c.size, own, got, c.free[own])
			}
			if got := c.size.Of(Component{Replicas: own, Minimum: 2}); got != c.atMin2[own] {
				t.Errorf("%+v of %d, at least 2: got %d, want %d", c.size, own, got, c.atMin2[own])
			}
			if got := c.size.Of(Component{Replicas: own, Fixed: true}); got != own {
				t.Errorf("%+v of %d, fixed: got %d", c.size, own, got)
			}
		}
	}
}

func TestCapacityIsTheSumOverComponents(t *testing.T) {
	o := Observed{Components: []Component{{Replicas: 3}, {Replicas: 5, Minimum: 1}}}
	suspendable := o
	suspendable.CanSuspend = true
	for _, c := range []struct {
		o    Observed
		size Size
		want int64
	}{
		{o, Size{}, math.MaxInt64}, {o, Size{Mode: SizeSleep}, 1}, {suspendable, Size{Mode: SizeSleep}, 0},
		{suspendable, Size{Mode: SizeAtMost, Replicas: 2}, 4}, {Observed{}, Size{Mode: SizeExactly, Replicas: 2}, 0},
	} {
		if got := c.o.Capacity(c.size); got != c.want {
			t.Errorf("%+v: got %d, want %d", c.size, got, c.want)
		}
	}
}

func TestAsleepIsAtZeroOrSuspended(t *testing.T) {
	for mode, want := range map[SizeMode]bool{SizeOwn: false, SizeSleep: true, SizeAtMost: true, SizePercent: true, SizeExactly: false} {
		if got := (Plan{Size: &Claim[Size]{Value: Size{Mode: mode}}}).Asleep(); got != want {
			t.Errorf("mode %d: got %t", mode, got)
		}
	}
	if (Plan{}).Asleep() {
		t.Error("an empty plan is asleep")
	}
}

// The test walks all sets of actions.
func TestChangeListsItsActions(t *testing.T) {
	names := []string{"Create", "Delete", "RollOut", "Scale"}
	for c := range Change(16) {
		var want []string
		for i, one := range []Change{ChangeCreate, ChangeDelete, ChangeRollOut, ChangeScale} {
			if c.Has(one) != (c>>i&1 == 1) {
				t.Errorf("%04b has %04b: got %t", c, one, c.Has(one))
			}
			if c.Has(one) {
				want = append(want, names[i])
			}
		}
		if got := c.Names(); !slices.Equal(got, want) {
			t.Errorf("%04b: got %v, want %v", c, got, want)
		}
	}
	if (ChangeScale).Has(ChangeScale | ChangeRollOut) {
		t.Error("one action has two")
	}
}
