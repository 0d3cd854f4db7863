package pipeline_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/workload"
)

// level is the first criterion of comparison.
func level(in workload.Intent) int64 {
	switch {
	case in.Mandatory:
		return 1 << 50
	case in.Override:
		return 1 << 49
	default:
		return int64(in.Priority)
	}
}

// asked is one claimed value with its comparison keys: the greatest wins.
type asked struct {
	in   workload.Intent
	keys []int64
	text string
	// last are the keys compared last; the least wins.
	last []string
}

func (a asked) compare(b asked) int {
	return cmp.Or(slices.Compare(a.keys, b.keys), cmp.Compare(a.text, b.text), slices.Compare(b.last, a.last))
}

func ask(in workload.Intent, text string, keys ...int64) asked {
	flag := map[bool]string{true: "0", false: "1"}
	return asked{in: in, keys: append([]int64{level(in)}, keys...), text: text,
		last: []string{in.By.String(), in.Since.Format("15:04:05"), flag[in.Enforce], flag[!in.Resumed]}}
}

// values returns the claimed values of an intent, by facet. A size set once is a facet of its own.
func values(in workload.Intent) map[string]asked {
	out := map[string]asked{}
	if s := in.Size; s != nil {
		name := "size"
		if in.Once && in.Class == workload.ClassSet {
			name = "once"
		}
		out[name] = ask(in, "", s.Capacity, int64(s.Mode), s.Replicas, int64(s.Percent))
	}
	if in.Min != nil {
		out["min"] = ask(in, "", *in.Min)
	}
	if in.Max != nil {
		out["max"] = ask(in, "", *in.Max)
	}
	if in.Hold {
		out["hold"] = ask(in, "")
	}
	for k, v := range in.Annotations {
		out[k] = ask(in, v)
	}
	if n, ok := in.Amounts[request]; ok {
		out["requests/web/cpu"] = ask(in, "", n)
	}
	if n, ok := in.Amounts[utilisation]; ok {
		out["utilisation/cpu"] = ask(in, "", -n)
	}
	return out
}

// agreed returns the winner of each facet from all intents at once, and the best claim to stay awake.
func agreed(intents []workload.Intent) (winners map[string]asked, awake *asked) {
	for _, in := range intents {
		if a := ask(in, ""); in.Class == workload.ClassAwake && (awake == nil || a.compare(*awake) > 0) {
			awake = &a
		}
	}
	winners = map[string]asked{}
	for _, in := range intents {
		sleeps := in.Class == workload.ClassSleep
		if !sleeps && in.Class != workload.ClassSet || sleeps && awake != nil && level(in) <= level(awake.in) {
			continue
		}
		for facet, a := range values(in) {
			if old, ok := winners[facet]; !ok || a.compare(old) > 0 || sleeps && a.compare(old) == 0 { // to sleep is the stronger claim
				winners[facet] = a
			}
		}
	}
	return winners, awake
}

func claimed[T any](a asked, value T) *workload.Claim[T] {
	return &workload.Claim[T]{Value: value, By: a.in.By, Since: a.in.Since, Enforce: a.in.Enforce}
}

// also returns the policies but one with a claim for a facet that counts and has the wanted value, sorted.
func also(intents []workload.Intent, by workload.Policy, facet string, wanted func(workload.Intent) bool) (all []workload.Policy) {
	_, awake := agreed(intents)
	for _, in := range intents {
		counts := in.Class == workload.ClassSet || in.Class == workload.ClassSleep && (awake == nil || level(in) > level(awake.in))
		if _, asks := values(in)[facet]; counts && asks && in.By != by && wanted(in) && !slices.Contains(all, in.By) {
			all = append(all, in.By)
		}
	}
	slices.SortFunc(all, workload.Policy.Compare)
	return all
}

func referencePlan(intents []workload.Intent) workload.Plan {
	p := referenceClaims(intents)
	if c := p.Size; c != nil {
		c.Also = also(intents, c.By, "size", func(in workload.Intent) bool { return in.Size.Capacity == c.Value.Capacity })
	}
	if c := p.Min; c != nil {
		c.Also = also(intents, c.By, "min", func(in workload.Intent) bool { return *in.Min == c.Value })
	}
	if c := p.Max; c != nil {
		c.Also = also(intents, c.By, "max", func(in workload.Intent) bool { return *in.Max == c.Value })
	}
	if c := p.Hold; c != nil {
		c.Also = also(intents, c.By, "hold", func(workload.Intent) bool { return true })
	}
	for key, c := range p.Annotations {
		c.Also = also(intents, c.By, key, func(in workload.Intent) bool { return in.Annotations[key] == c.Value })
		p.Annotations[key] = c
	}
	for key, facet := range map[workload.Amount]string{request: "requests/web/cpu", utilisation: "utilisation/cpu"} {
		if c, ok := p.Amounts[key]; ok {
			c.Also = also(intents, c.By, facet, func(in workload.Intent) bool { return in.Amounts[key] == c.Value })
			p.Amounts[key] = c
		}
	}
	return p
}

// referenceClaims returns the plan without the other policies with the same claims.
func referenceClaims(intents []workload.Intent) workload.Plan {
	winners, _ := agreed(intents)
	var p workload.Plan
	if a, ok := winners["size"]; ok {
		p.Size = claimed(a, *a.in.Size)
	} else if a, ok := winners["once"]; ok {
		p.Size = claimed(a, *a.in.Size)
		p.Size.Once, p.Size.Resumed = true, a.in.Resumed
	}
	if a, ok := winners["min"]; ok {
		p.Min = claimed(a, *a.in.Min)
	}
	if a, ok := winners["max"]; ok {
		p.Max = claimed(a, *a.in.Max)
		if p.Min != nil && p.Max.Value < p.Min.Value {
			p.Max = claimed(winners["min"], p.Min.Value)
		}
	}
	if a, ok := winners["hold"]; ok {
		p.Hold = claimed(a, true)
	}
	for _, key := range []string{"x", "y"} {
		if a, ok := winners[key]; ok {
			if p.Annotations == nil {
				p.Annotations = map[string]workload.Claim[string]{}
			}
			p.Annotations[key] = *claimed(a, a.in.Annotations[key])
		}
	}
	for key, facet := range map[workload.Amount]string{request: "requests/web/cpu", utilisation: "utilisation/cpu"} {
		if a, ok := winners[facet]; ok {
			if p.Amounts == nil {
				p.Amounts = map[workload.Amount]workload.Claim[int64]{}
			}
			p.Amounts[key] = *claimed(a, a.in.Amounts[key])
		}
	}
	for _, in := range intents {
		switch in.Class {
		case workload.ClassKeep:
			p.Keep = add(p.Keep, in.By)
		case workload.ClassOrphan:
			p.Orphan = add(p.Orphan, in.By)
		}
	}
	return p
}

func add(m map[workload.Policy]bool, p workload.Policy) map[workload.Policy]bool {
	if m == nil {
		m = map[workload.Policy]bool{}
	}
	m[p] = true
	return m
}

// referenceConflicts returns the losing claims as text.
func referenceConflicts(intents []workload.Intent) []string {
	winners, awake := agreed(intents)
	plan := referencePlan(intents)
	lost := map[string]bool{}
	lose := func(loser, winner workload.Policy, facet, reason string) {
		if loser != winner {
			lost[fmt.Sprintf("%s to %s on %s: %s", loser, winner, facet, reason)] = true
		}
	}
	for _, in := range intents {
		asks := values(in)
		switch in.Class {
		case workload.ClassAwake:
			for facet, w := range winners {
				if w.in.Class == workload.ClassSleep {
					lose(in.By, w.in.By, facet, reason(w.in, in))
				}
			}
		case workload.ClassSleep, workload.ClassSet:
			for facet, a := range asks {
				w, won := winners[facet]
				switch {
				case in.Class == workload.ClassSleep && awake != nil && level(in) <= level(awake.in):
					lose(in.By, awake.in.By, facet, reason(awake.in, in))
				case facet == "once" && !plan.Size.Once:
					lose(in.By, plan.Size.By, "size", "is set once, the other lasts")
				case !won || facet == "hold":
				case facet == "size" || facet == "once":
					if slices.Compare(a.keys[2:], w.keys[2:]) != 0 {
						lose(in.By, w.in.By, "size", reason(w.in, in))
					}
				case facet == "min" && *in.Min != plan.Min.Value:
					lose(in.By, plan.Min.By, facet, reason(w.in, in))
				case facet == "max" && *in.Max != plan.Max.Value && *w.in.Max < plan.Max.Value:
					lose(in.By, plan.Max.By, facet, "capacity") // the minimum is higher than the winning maximum
				case facet == "max" && *in.Max != plan.Max.Value:
					lose(in.By, plan.Max.By, facet, reason(w.in, in))
				case strings.Contains(facet, "/"):
					if a.keys[1] != w.keys[1] {
						lose(in.By, w.in.By, facet, reason(w.in, in))
					}
				case facet != "min" && facet != "max" && a.text != w.text:
					lose(in.By, w.in.By, facet, strings.Replace(reason(w.in, in), "capacity", "value", 1))
				}
			}
		}
	}
	return slices.Sorted(func(yield func(string) bool) {
		for text := range lost {
			if !yield(text) {
				return
			}
		}
	})
}

func reason(winner, loser workload.Intent) string {
	switch {
	case winner.Mandatory:
		return "mandatory"
	case winner.Override:
		return "override"
	case winner.Priority != loser.Priority:
		return "priority"
	default:
		return "capacity"
	}
}

// The plan and the conflicts equal those of a reference that compares all intents at once.
func TestMergeEqualsTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := intents(t)
		plan, conflicts := pipeline.Merge(given...)
		if diff := gocmp.Diff(referencePlan(given), plan); diff != "" {
			t.Fatalf("plan (-want +got):\n%s\nof %+v", diff, given)
		}
		var got []string
		for _, c := range conflicts {
			got = append(got, fmt.Sprintf("%s to %s on %s: %s", c.Loser, c.Winner, c.Facet, c.Reason))
		}
		if !slices.IsSortedFunc(conflicts, func(a, b pipeline.Conflict) int {
			return cmp.Or(a.Loser.Compare(b.Loser), a.Winner.Compare(b.Winner), cmp.Compare(a.Facet, b.Facet), cmp.Compare(a.Reason, b.Reason))
		}) {
			t.Fatalf("the conflicts are not sorted: %v", got)
		}
		slices.Sort(got)
		if diff := gocmp.Diff(referenceConflicts(given), got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("conflicts (-want +got):\n%s\nof %+v", diff, given)
		}
	})
}

// Add leaves the former agreement unchanged, and grouping does not matter.
func TestAgreementsAreImmutableAndAssociative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := intents(t)
		var one pipeline.Agreement
		var plans []workload.Plan
		var all []pipeline.Agreement
		for i := range given {
			all, plans = append(all, one), append(plans, one.Plan())
			one = one.Add(&given[i])
		}
		for i := range all {
			if diff := gocmp.Diff(plans[i], all[i].Plan()); diff != "" {
				t.Fatalf("a later Add has changed the agreement of %d intents (-before +after):\n%s", i, diff)
			}
			again := all[i]
			for j := len(given) - 1; j >= i; j-- {
				again = again.Add(&given[j])
			}
			if diff := gocmp.Diff(one.Plan(), again.Plan()); diff != "" {
				t.Fatalf("another order from the %dth on (-want +got):\n%s", i, diff)
			}
		}
	})
}
