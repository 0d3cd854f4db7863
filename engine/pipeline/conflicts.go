package pipeline

import (
	"cmp"
	"maps"
	"slices"

	"flyball.dev/flyball/engine/workload"
)

// Conflict is one claim that lost to a different policy's claim.
type Conflict struct {
	Winner, Loser workload.Policy
	// Facet is the disputed facet: size, min, max, hold, an amount (workload.Amount.String) or an annotation key.
	Facet string
	// Reason is the criterion of the winner: mandatory, override, priority or capacity. For annotations it can also be
	// value, and for deletion costs also name.
	Reason string
}

// Decided reports whether a user has decided the winner: by a priority, by an Override or with a freeze. All other
// reasons only break a tie.
func (c Conflict) Decided() bool {
	return c.Reason == "mandatory" || c.Reason == "override" || c.Reason == "priority"
}

// facets yields the facets claimed by an intent.
func facets(in *workload.Intent, yield func(string)) {
	for _, f := range [...]struct {
		name  string
		asked bool
	}{{"size", in.Size != nil}, {"min", in.Min != nil}, {"max", in.Max != nil}, {"hold", in.Hold}} {
		if f.asked {
			yield(f.name)
		}
	}
	for _, key := range sortedKeys(in.Annotations) {
		yield(key)
	}
}

// sortedKeys returns the keys of annotations. Most intents have none, and a decision asks often.
func sortedKeys(annotations map[string]string) []string {
	if len(annotations) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(annotations))
}

// heardSleep is a claim to sleep that no claim to stay awake overrules. It wins its facet against all claims that set a
// value.
type heardSleep struct {
	facet string
	in    *workload.Intent
}

func (a Agreement) heardSleeps() []heardSleep {
	var all []heardSleep
	add := func(facet string, sleep, set *workload.Intent, less order) {
		if sleep = a.heard(sleep); sleep != nil && winner(sleep, set, less) == sleep {
			all = append(all, heardSleep{facet, sleep})
		}
	}
	add("size", a.sleep, a.exactly, bySize)
	add("min", a.sleepMin, a.setMin, byMin)
	add("max", a.sleepMax, a.setMax, byMax)
	add("hold", a.sleepHold, a.setHold, byRank)
	for key, in := range a.sleepAnnotations {
		add(key, in, a.setAnnotations[key], byAnnotation(key))
	}
	return all
}

// conflicts returns the losing claims, sorted. A claim equal to the plan is no conflict.
func conflicts(plan workload.Plan, a Agreement, intents []workload.Intent) []Conflict {
	var out []Conflict
	lose := func(in *workload.Intent, facet string, by workload.Policy, reason string) {
		if in.By != by {
			if out == nil {
				out = make([]Conflict, 0, len(intents))
			}
			out = append(out, Conflict{Winner: by, Loser: in.By, Facet: facet, Reason: reason})
		}
	}
	slept := a.heardSleeps()
	for i := range intents {
		in := &intents[i]
		switch {
		case in.Class == workload.ClassSleep && overruled(in, a.awake):
			facets(in, func(facet string) { lose(in, facet, a.awake.By, why(a.awake, in)) })
			continue
		case in.Class == workload.ClassAwake:
			for _, s := range slept {
				lose(in, s.facet, s.in.By, why(s.in, in))
			}
			continue
		case in.Class != workload.ClassSleep && in.Class != workload.ClassSet:
			continue
		case in.Once && in.Size != nil && !plan.Size.Once:
			lose(in, "size", plan.Size.By, "is set once, the other lasts")
			continue
		}
		if in.Size != nil && !sameSize(*in.Size, plan.Size.Value) {
			lose(in, "size", plan.Size.By, why(a.size(), in))
		}
		if in.Min != nil && *in.Min != plan.Min.Value {
			lose(in, "min", plan.Min.By, why(a.min(), in))
		}
		if in.Max != nil && *in.Max != plan.Max.Value {
			lose(in, "max", plan.Max.By, a.whyMax(in, plan))
		}
		if in.DeletionCosts != "" && in.DeletionCosts != plan.DeletionCosts.Value {
			lose(in, "deletion costs", plan.DeletionCosts.By, whyText(a.deletionCosts, in, "name"))
		}
		for key, value := range in.Amounts {
			if plan.Amounts[key].Value != value {
				lose(in, key.String(), plan.Amounts[key].By, why(a.amounts[key], in))
			}
		}
		for _, key := range sortedKeys(in.Annotations) {
			if won := plan.Annotations[key]; won.Value != in.Annotations[key] {
				lose(in, key, won.By, whyText(a.annotation(key), in, "value"))
			}
		}
	}
	slices.SortFunc(out, func(a, b Conflict) int {
		return cmp.Or(a.Loser.Compare(b.Loser), a.Winner.Compare(b.Winner), cmp.Compare(a.Facet, b.Facet), cmp.Compare(a.Reason, b.Reason))
	})
	return slices.Compact(out)
}

func why(winner, loser *workload.Intent) string {
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

// whyMax returns the reason why a maximum lost. A maximum below the winning minimum loses by capacity,
// whatever the priorities.
func (a Agreement) whyMax(loser *workload.Intent, plan workload.Plan) string {
	if won := a.max(); *won.Max == plan.Max.Value {
		return why(won, loser)
	}
	return "capacity"
}

// whyText returns the reason why a claim on an annotation or on deletion costs lost. Such claims have no capacity to
// compare. At equal rank the value of the annotation decides; for deletion costs the name of the policy decides.
func whyText(winner, loser *workload.Intent, sortedBy string) string {
	if reason := why(winner, loser); reason != "capacity" {
		return reason
	}
	return sortedBy
}

func sameSize(a, b workload.Size) bool {
	return a.Mode == b.Mode && a.Replicas == b.Replicas && a.Percent == b.Percent
}
