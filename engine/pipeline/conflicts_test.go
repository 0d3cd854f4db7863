package pipeline_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/workload"
)

func asks(name string, priority int32, edit func(*workload.Intent)) workload.Intent {
	in := workload.Intent{By: policy(name), Class: workload.ClassSet, Priority: priority, Since: start}
	edit(&in)
	return in
}

func lowest(name string, priority int32, n int64) workload.Intent {
	return asks(name, priority, func(in *workload.Intent) { in.Min = &n })
}

func highest(name string, priority int32, n int64) workload.Intent {
	return asks(name, priority, func(in *workload.Intent) { in.Max = &n })
}

func amount(name string, priority int32, key workload.Amount, n int64) workload.Intent {
	return asks(name, priority, func(in *workload.Intent) { in.Amounts = map[workload.Amount]int64{key: n} })
}

func note(name string, priority int32, value string) workload.Intent {
	return asks(name, priority, func(in *workload.Intent) { in.Annotations = map[string]string{"x": value} })
}

func costs(name string, priority int32, rules string) workload.Intent {
	return asks(name, priority, func(in *workload.Intent) { in.DeletionCosts = rules })
}

// Of two policies with claims on one facet, the winner's value is in the plan. The loser's conflict has the facet and
// the reason, unless both values are equal.
func TestTwoClaimsOnOneFacet(t *testing.T) {
	lost := func(winner, loser, facet, reason string) []pipeline.Conflict {
		return []pipeline.Conflict{{Winner: policy(winner), Loser: policy(loser), Facet: facet, Reason: reason}}
	}
	tests := map[string]struct {
		a, b workload.Intent
		want []pipeline.Conflict
	}{
		"the higher minimum":           {lowest("a", 0, 2), lowest("b", 0, 3), lost("b", "a", "min", "capacity")},
		"a minimum of higher priority": {lowest("a", 1, 2), lowest("b", 0, 3), lost("a", "b", "min", "priority")},
		"the same minimum":             {lowest("a", 0, 3), lowest("b", 1, 3), nil},
		"the higher maximum":           {highest("a", 0, 2), highest("b", 0, 3), lost("b", "a", "max", "capacity")},
		"a maximum of higher priority": {highest("a", 1, 2), highest("b", 0, 3), lost("a", "b", "max", "priority")},
		"the same maximum":             {highest("a", 0, 3), highest("b", 1, 3), nil},
		"a maximum below a minimum":    {highest("a", 1, 2), lowest("b", 0, 3), lost("b", "a", "max", "capacity")},
		"a maximum at a minimum":       {highest("a", 1, 3), lowest("b", 0, 3), nil},
		"the higher request":           {amount("a", 0, request, 1), amount("b", 0, request, 2), lost("b", "a", request.String(), "capacity")},
		"the same request":             {amount("a", 0, request, 1), amount("b", 1, request, 1), nil},
		"the lower utilisation": {amount("a", 0, utilisation, 70), amount("b", 0, utilisation, 50),
			lost("b", "a", utilisation.String(), "capacity")},
		"a utilisation of high priority": {amount("a", 1, utilisation, 70), amount("b", 0, utilisation, 50),
			lost("a", "b", utilisation.String(), "priority")},
		"the annotation that sorts last":  {note("a", 0, "1"), note("b", 0, "2"), lost("b", "a", "x", "value")},
		"an annotation of high priority":  {note("a", 1, "1"), note("b", 0, "2"), lost("a", "b", "x", "priority")},
		"the same annotation":             {note("a", 0, "1"), note("b", 1, "1"), nil},
		"deletion costs of high priority": {costs("a", 0, "s"), costs("b", 1, "t"), lost("b", "a", "deletion costs", "priority")},
		"deletion costs of one priority":  {costs("a", 0, "s"), costs("b", 0, "t"), lost("a", "b", "deletion costs", "name")},
		"the same deletion costs":         {costs("a", 0, "s"), costs("b", 1, "s"), nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, order := range [][]workload.Intent{{tc.a, tc.b}, {tc.b, tc.a}} {
				_, conflicts := pipeline.Merge(order...)
				if diff := cmp.Diff(tc.want, conflicts, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("conflicts (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// If a maximum is raised to the minimum, it is the claim of the minimum's policy. If it is as high as the minimum by
// itself, it stays the claim of its own policy.
func TestARaisedMaximumBelongsToTheMinimumsPolicy(t *testing.T) {
	for by, high := range map[string]int64{"low": 2, "high": 3} {
		plan, _ := pipeline.Merge(lowest("low", 0, 3), highest("high", 0, high))
		if got := plan.Max; got.Value != 3 || got.By != policy(by) {
			t.Errorf("a maximum of %d beside a minimum of 3 is %d by %s, want 3 by %s", high, got.Value, got.By.Name, by)
		}
	}
}

// The annotations of a sleeping policy are set while its sleep wins, and not while another policy keeps the
// target awake.
func TestAnnotationsOfAnOverruledSleepAreNotSet(t *testing.T) {
	asleep := note("a", 0, "1")
	asleep.Class = workload.ClassSleep
	if plan, _ := pipeline.Merge(asleep); plan.Annotations["x"].Value != "1" {
		t.Errorf("nobody objects, and the annotations are %v", plan.Annotations)
	}
	if plan, _ := pipeline.Merge(asleep, awake("b", 0)); len(plan.Annotations) > 0 {
		t.Errorf("the target is kept awake, and the annotations are %v", plan.Annotations)
	}
}
