package adapter

import (
	"testing"
	"time"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// TestEveryCombinationOnAnObject combines every ledger entry, every value in the object and every kind of claim. It
// checks the count under the claim, and after the end of the claim.
func TestEveryCombinationOnAnObject(t *testing.T) {
	counts := []string{"", "0", "1", "2", "3", "4"}
	plans := []struct {
		name string
		plan workload.Plan
	}{
		{"none", workload.Plan{}}, {"sleep", sleep()}, {"at most 2", size(workload.SizeAtMost, 2)},
		{"exactly 4", size(workload.SizeExactly, 4)}, {"once 5", once(5, monday)},
		{"kept", workload.Plan{Keep: map[workload.Policy]bool{nights: true}}},
		{"orphaned", workload.Plan{Orphan: map[workload.Policy]bool{nights: true}}},
	}
	for _, kind := range []string{deploymentYAML, scaledYAML} {
		a := mustCompile(t, kind, Keys{})
		for _, was := range []string{"", "0", "3"} {
			for _, set := range []string{"0", "2"} {
				for _, prior := range []string{"none", "settled", "4"} {
					if kind == deploymentYAML && prior != "settled" || was == set {
						continue
					}
					e := entry("/spec/replicas", was, set)
					e.By, e.Since = nights.String(), monday
					if e.Pending = prior != "settled"; prior == "4" {
						e.Prior = prior
					}
					for _, holds := range counts {
						for _, p := range plans {
							for _, since := range []time.Time{monday, monday.Add(time.Hour)} {
								for _, enforce := range []bool{false, true} {
									c := combination{a: a, entry: e, holds: holds, name: p.name, plan: p.plan}
									if p.plan.Size != nil {
										claim := *p.plan.Size
										claim.Since, claim.Enforce = since, enforce
										c.plan.Size = &claim
									}
									c.check(t)
								}
							}
						}
					}
				}
			}
		}
	}
}

// combination is a case: a count with a ledger entry, and a plan.
type combination struct {
	a     *Adapter
	entry workload.Entry
	holds string
	name  string
	plan  workload.Plan
}

func (c *combination) check(t *testing.T) {
	t.Helper()
	spec := `{}`
	if c.holds != "" {
		spec = `{"replicas":` + c.holds + `}`
	}
	flyballs := c.holds == c.entry.Set || c.entry.Pending && c.entry.Prior != "" && c.holds == c.entry.Prior
	owners := c.holds
	if flyballs {
		owners = c.entry.Was
	}
	s := newServer(withLedger(t, spec, c.entry))
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s: %s of %+v holding %q, plan %+v: %s", c.a.GroupKind().Kind, c.name, c.entry, c.holds, c.plan.Size, sprintf(format, args...))
	}
	r := s.settle(t, c.a, c.plan)
	now, left := s.value("/spec/replicas"), len(s.ledger(t, c.a))
	switch {
	case c.plan.Keep != nil:
		if r.Patch != nil {
			fail("it writes %s", r.Patch.Body)
		}
		return
	case c.plan.Orphan != nil:
		if now != c.holds || left > 0 {
			fail("the count is %q, %d entries are left", now, left)
		}
		return
	case c.plan.Size == nil:
		if now != owners || left > 0 {
			fail("the count is %q, %d entries are left", now, left)
		}
		return
	case c.plan.Size.Once:
		if now != "5" || left != 1 {
			fail("the count is %q, %d entries are left", now, left)
		}
		owners = "5"
	case r.State == workload.StateOverridden || r.Corrected:
		if flyballs || c.entry.Pending || c.plan.Size.Since.After(monday) || r.Corrected != c.plan.Size.Enforce {
			fail("overridden: %s", r.Message)
		}
		if !r.Corrected && now != c.holds || r.Corrected && now != c.entry.Set {
			fail("the count is %q", now)
		}
		if r.Corrected {
			owners = c.entry.Was
		}
	default:
		n, _ := c.a.Components[0].Read(owners)
		if want := c.plan.Size.Value.Of(workload.Component{Replicas: n}); now != path.Integer(want) && (now != owners || want != n) {
			fail("the count is %q, want %d", now, want)
		}
	}
	s.settle(t, c.a, workload.Plan{})
	if now := s.value("/spec/replicas"); now != owners || len(s.ledger(t, c.a)) > 0 {
		fail("given back it is %q, want %q", now, owners)
	}
}
