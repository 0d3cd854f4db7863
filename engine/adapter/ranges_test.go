package adapter

import (
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// TestRangesOfElements sets bounds in the elements of a list, all or none.
func TestRangesOfElements(t *testing.T) {
	a := mustCompile(t, `
target: {group: example.com, kind: Cluster, versions: [v1]}
scale: [{each: '.spec.groups[*]', nameFrom: .name, replicas: .n}]
bounds: {each: '.spec.groups[*]', nameFrom: .name, min: {path: .range.min, default: 0}, max: {path: .range.max, unlimited: 0}}
`, Keys{})
	if !a.Can(v1alpha1.CapabilityBounds) {
		t.Error("it has no bounds")
	}
	for _, c := range []struct {
		name, spec string
		plan       workload.Plan
		set, why   string
	}{
		{"both ends", `{"groups":[{"name":"a","n":1,"range":{"min":2,"max":9}},{"name":"b","n":1,"range":{"max":0}}]}`,
			workload.Plan{Min: number(3), Max: number(5)},
			`{"groups":[{"name":"a","n":1,"range":{"min":3,"max":5}},{"name":"b","n":1,"range":{"min":3,"max":5}}]}`,
			"a min 2 -> 3, a max 9 -> 5, b min absent -> 3, b max 0 -> 5"},
		{"one end, inside the other", `{"groups":[{"name":"a","range":{"min":2,"max":4}},{"name":"b","range":{"min":1,"max":9}}]}`,
			workload.Plan{Min: number(6)},
			`{"groups":[{"name":"a","range":{"min":4,"max":4}},{"name":"b","range":{"min":6,"max":9}}]}`, "a min 2 -> 4, b min 1 -> 6"},
		{"the upper end alone", `{"groups":[{"name":"a","range":{"min":2,"max":9}}]}`, workload.Plan{Max: number(5)},
			`{"groups":[{"name":"a","range":{"min":2,"max":5}}]}`, "a max 9 -> 5"},
		{"beside counts", `{"groups":[{"name":"a","n":4,"range":{"min":1,"max":9}}]}`, workload.Plan{Size: sleep().Size, Min: number(2)},
			`{"groups":[{"name":"a","n":0,"range":{"min":2,"max":9}}]}`, "a n 4 -> 0, a min 1 -> 2"},
		{"an element that cannot be told", `{"groups":[{"name":"a","range":{"min":1}},{"name":"a","range":{"min":1}}]}`,
			workload.Plan{Min: number(2)},
			`{"groups":[{"name":"a","range":{"min":1}},{"name":"a","range":{"min":1}}]}`, "two elements of the list have the name a"},
		{"a bound that cannot be read", `{"groups":[{"name":"a","range":{"min":1}},{"name":"b","range":{"min":"few"}}]}`,
			workload.Plan{Min: number(2)},
			`{"groups":[{"name":"a","range":{"min":1}},{"name":"b","range":{"min":"few"}}]}`,
			`the bound of b is "few", which is no whole number of 0 or more`},
	} {
		s := newServer(object(c.spec))
		r := s.settle(t, a, c.plan)
		if !path.Equal(s.spec(), c.set) || r.Message != c.why {
			t.Errorf("%s: %s\n%s", c.name, r.Message, s.spec())
		}
		if unable := r.State == workload.StateUnable; unable != (c.spec == c.set) {
			t.Errorf("%s: it is %s", c.name, r.State)
		}
		if s.settle(t, a, workload.Plan{}); !path.Equal(s.spec(), c.spec) || len(s.ledger(t, a)) > 0 {
			t.Errorf("%s, given back: %s", c.name, s.spec())
		}
	}
	before, after := object(`{"groups":[{"name":"a","range":{"min":1}}]}`), object(`{"groups":[{"name":"a","range":{"min":2}}]}`)
	if got := a.Classify(before, after); got != workload.ChangeScale {
		t.Errorf("another bound is %v", got.Names())
	}
	if got := a.Classify(object(`{"groups":[{"name":"a","range":{}}]}`), object(`{"groups":[{"name":"a","range":{"min":0}}]}`)); got != 0 {
		t.Errorf("a bound to its default is %v", got.Names())
	}
}

// TestClaimForAMissingEndOfARangeIsIgnored has kinds with only one end of the range in each element. A claim for the
// other end is ignored.
func TestClaimForAMissingEndOfARangeIsIgnored(t *testing.T) {
	const own = `{"groups":[{"name":"a","n":2},{"name":"b","n":3}]}`
	for _, c := range []struct {
		end  string
		plan workload.Plan
		set  string
	}{
		{"min", workload.Plan{Min: number(5), Max: number(7)}, `{"groups":[{"name":"a","n":5},{"name":"b","n":5}]}`},
		{"max", workload.Plan{Min: number(5), Max: number(7)}, `{"groups":[{"name":"a","n":7},{"name":"b","n":7}]}`},
		{"min", workload.Plan{Max: number(7)}, own},
		{"max", workload.Plan{Min: number(5)}, own},
	} {
		a := mustCompile(t, "target: {kind: K, versions: [v1]}\n"+
			"bounds: {each: '.spec.groups[*]', nameFrom: .name, "+c.end+": {path: .n}}", Keys{})
		s := newServer(object(own))
		if s.settle(t, a, c.plan); !path.Equal(s.spec(), c.set) {
			t.Errorf("only %s: %s, want %s", c.end, s.spec(), c.set)
		}
		if s.settle(t, a, workload.Plan{}); !path.Equal(s.spec(), own) || len(s.ledger(t, a)) > 0 {
			t.Errorf("only %s, given back: %s", c.end, s.spec())
		}
	}
}

// TestHeldRanges keeps the set ranges, with their originals, while one range of the object cannot be read. Other
// changes are restored.
func TestHeldRanges(t *testing.T) {
	a := mustCompile(t, `
target: {group: example.com, kind: Cluster, versions: [v1]}
scale: [{each: '.spec.groups[*]', nameFrom: .name, replicas: .n}]
hold: [{set: [{path: .spec.paused, value: true}]}]
bounds: {each: '.spec.groups[*]', nameFrom: .name, min: {path: .min}}
`, Keys{})
	s := newServer(object(`{"groups":[{"name":"a","n":1,"min":1},{"name":"b","n":1,"min":2}]}`))
	s.settle(t, a, workload.Plan{Size: sleep().Size, Hold: holding().Hold, Min: number(3)})
	s.set("/spec/groups/1/min", `"few"`)
	r := s.settle(t, a, workload.Plan{Min: number(4)})
	if want := `{"groups":[{"name":"a","n":1,"min":3},{"name":"b","n":1,"min":"few"}]}`; !path.Equal(want, s.spec()) ||
		len(s.ledger(t, a)) != 2 {
		t.Errorf("%s: %s, ledger %v", r.Message, s.spec(), s.ledger(t, a))
	}
	s.settle(t, a, workload.Plan{})
	if want := `{"groups":[{"name":"a","n":1,"min":1},{"name":"b","n":1,"min":"few"}]}`; !path.Equal(want, s.spec()) ||
		len(s.ledger(t, a)) > 0 {
		t.Errorf("given back: %s", s.spec())
	}
}

// TestALowerCountLowersTheMinimumBesideIt: the controller of such a kind lifts counts to the minimum. An end that is low enough, or
// cannot be read, stays.
func TestALowerCountLowersTheMinimumBesideIt(t *testing.T) {
	a := mustCompile(t, `
target: {group: example.com, kind: Cluster, versions: [v1]}
scale: [{each: '.spec.groups[*]', nameFrom: .name, replicas: .n}]
bounds: {each: '.spec.groups[*]', nameFrom: .name, min: {path: .range.min}, max: {path: .range.max}, liftsCounts: true}
`, Keys{})
	once := size(workload.SizeExactly, 1)
	once.Size.Once = true
	for _, c := range []struct {
		reason, own string
		plan        workload.Plan
		set         string
	}{
		{"asleep", `{"groups":[{"name":"a","n":4,"range":{"min":2,"max":9}},{"name":"b","n":1,"range":{"min":0}}]}`, sleep(),
			`{"groups":[{"name":"a","n":0,"range":{"min":0,"max":9}},{"name":"b","n":0,"range":{"min":0}}]}`},
		{"a count above the minimum", `{"groups":[{"name":"a","n":4,"range":{"min":2}}]}`, size(workload.SizeAtMost, 3),
			`{"groups":[{"name":"a","n":3,"range":{"min":2}}]}`},
		{"a count below the minimum", `{"groups":[{"name":"a","n":4,"range":{"min":2}}]}`, size(workload.SizeAtMost, 1),
			`{"groups":[{"name":"a","n":1,"range":{"min":1}}]}`},
		{"no minimum", `{"groups":[{"name":"a","n":4,"range":{"max":9}},{"name":"b","n":4}]}`, sleep(),
			`{"groups":[{"name":"a","n":0,"range":{"max":9}},{"name":"b","n":0}]}`},
		{"a minimum that cannot be read", `{"groups":[{"name":"a","n":4,"range":{"min":"few"}}]}`, sleep(),
			`{"groups":[{"name":"a","n":0,"range":{"min":"few"}}]}`},
		{"a count set once", `{"groups":[{"name":"a","n":4,"range":{"min":2}}]}`, once, `{"groups":[{"name":"a","n":1,"range":{"min":2}}]}`},
	} {
		s := newServer(object(c.own))
		r := s.settle(t, a, c.plan)
		if !path.Equal(s.spec(), c.set) {
			t.Errorf("%s: %s\n%s", c.reason, r.Message, s.spec())
		}
		if c.plan.Size.Once {
			continue // a count set once belongs to the autoscaler
		}
		if s.settle(t, a, workload.Plan{}); !path.Equal(s.spec(), c.own) || len(s.ledger(t, a)) > 0 {
			t.Errorf("%s, given back: %s", c.reason, s.spec())
		}
	}
}
