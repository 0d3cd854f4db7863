package pipeline_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/workload"
)

var start = time.Date(2026, 3, 2, 20, 0, 0, 0, time.UTC)

func policy(name string) workload.Policy { return workload.Policy{Kind: "ClusterSchedule", Name: name} }

func sleep(name string, priority int32) workload.Intent {
	return workload.Intent{By: policy(name), Class: workload.ClassSleep, Priority: priority, Since: start,
		Size: &workload.Size{Mode: workload.SizeSleep}}
}

func atMost(name string, priority int32, n int64) workload.Intent {
	in := sleep(name, priority)
	in.Size = &workload.Size{Mode: workload.SizeAtMost, Replicas: n, Capacity: n}
	return in
}

func awake(name string, priority int32) workload.Intent {
	return workload.Intent{By: policy(name), Class: workload.ClassAwake, Priority: priority, Since: start}
}

func exactly(name string, priority int32, n int64) workload.Intent {
	return workload.Intent{By: policy(name), Class: workload.ClassSet, Priority: priority, Since: start,
		Size: &workload.Size{Mode: workload.SizeExactly, Replicas: n, Capacity: n}}
}

func once(name string, priority int32, n int64) workload.Intent {
	in := exactly(name, priority, n)
	in.Once = true
	return in
}

func bounds(name string, priority int32, low, high int64) workload.Intent {
	return workload.Intent{By: policy(name), Class: workload.ClassSet, Priority: priority, Since: start, Min: &low, Max: &high}
}

func sleepBounds(name string, priority int32, low, high int64) workload.Intent {
	in := bounds(name, priority, low, high)
	in.Class = workload.ClassSleep
	return in
}

func TestMergeDoesNotDependOnOrder(t *testing.T) {
	until := awake("target", 0)
	until.Override = true
	frozen := sleep("freeze", 0)
	frozen.Mandatory = true
	tests := []struct {
		reason    string
		intents   []workload.Intent
		size      *workload.Size
		by        string
		conflicts []pipeline.Conflict
	}{
		{reason: "nothing asked, nothing claimed"},
		{reason: "one schedule asleep", intents: []workload.Intent{sleep("a", 0)}, size: &workload.Size{Mode: workload.SizeSleep}, by: "a"},
		{reason: "a tie keeps it awake and reports the loser", intents: []workload.Intent{sleep("a", 5), awake("b", 5)},
			conflicts: []pipeline.Conflict{{Winner: policy("b"), Loser: policy("a"), Facet: "size", Reason: "capacity"}}},
		{reason: "the higher priority sleeps and reports the loser", intents: []workload.Intent{sleep("a", 6), awake("b", 5)},
			size: &workload.Size{Mode: workload.SizeSleep}, by: "a",
			conflicts: []pipeline.Conflict{{Winner: policy("a"), Loser: policy("b"), Facet: "size", Reason: "priority"}}},
		{reason: "an override beats any priority", intents: []workload.Intent{sleep("a", 1<<30), until},
			conflicts: []pipeline.Conflict{{Winner: policy("target"), Loser: policy("a"), Facet: "size", Reason: "override"}}},
		{reason: "an override does not wake a target suspended by a freeze", intents: []workload.Intent{frozen, until},
			size: &workload.Size{Mode: workload.SizeSleep}, by: "freeze",
			conflicts: []pipeline.Conflict{{Winner: policy("freeze"), Loser: policy("target"), Facet: "size", Reason: "mandatory"}}},
		{reason: "nor does the highest priority", intents: []workload.Intent{frozen, awake("a", math.MaxInt32)},
			size: &workload.Size{Mode: workload.SizeSleep}, by: "freeze",
			conflicts: []pipeline.Conflict{{Winner: policy("freeze"), Loser: policy("a"), Facet: "size", Reason: "mandatory"}}},
		{reason: "nor a size of the highest priority", intents: []workload.Intent{frozen, exactly("t", math.MaxInt32, 6)},
			size: &workload.Size{Mode: workload.SizeSleep}, by: "freeze",
			conflicts: []pipeline.Conflict{{Winner: policy("freeze"), Loser: policy("t"), Facet: "size", Reason: "mandatory"}}},
		{reason: "an override wakes a target of a schedule beside a freeze of another target", intents: []workload.Intent{sleep("a", 1), until},
			conflicts: []pipeline.Conflict{{Winner: policy("target"), Loser: policy("a"), Facet: "size", Reason: "override"}}},
		{reason: "more capacity wins between two that sleep", intents: []workload.Intent{sleep("a", 0), atMost("b", 0, 2)},
			size: &workload.Size{Mode: workload.SizeAtMost, Replicas: 2, Capacity: 2}, by: "b",
			conflicts: []pipeline.Conflict{{Winner: policy("b"), Loser: policy("a"), Facet: "size", Reason: "capacity"}}},
		{reason: "a claim to stay awake reports bounds lost to a higher priority",
			intents: []workload.Intent{sleepBounds("a", 1, 1, 2), awake("b", 0)},
			conflicts: []pipeline.Conflict{
				{Winner: policy("a"), Loser: policy("b"), Facet: "max", Reason: "priority"},
				{Winner: policy("a"), Loser: policy("b"), Facet: "min", Reason: "priority"},
			}},
		{reason: "a claim to narrow bounds reports the claim that keeps it awake",
			intents: []workload.Intent{sleepBounds("a", 0, 1, 2), awake("b", 0)},
			conflicts: []pipeline.Conflict{
				{Winner: policy("b"), Loser: policy("a"), Facet: "max", Reason: "capacity"},
				{Winner: policy("b"), Loser: policy("a"), Facet: "min", Reason: "capacity"},
			}},
		{reason: "two that ask the same do not conflict", intents: []workload.Intent{sleep("b", 0), sleep("a", 0)},
			size: &workload.Size{Mode: workload.SizeSleep}, by: "a"},
		{reason: "an awake schedule does not stand against a trigger's size", intents: []workload.Intent{awake("a", 9), exactly("t", 0, 6)},
			size: &workload.Size{Mode: workload.SizeExactly, Replicas: 6, Capacity: 6}, by: "t"},
		{reason: "a trigger's size has more capacity than sleep", intents: []workload.Intent{sleep("a", 0), exactly("t", 0, 6)},
			size: &workload.Size{Mode: workload.SizeExactly, Replicas: 6, Capacity: 6}, by: "t",
			conflicts: []pipeline.Conflict{{Winner: policy("t"), Loser: policy("a"), Facet: "size", Reason: "capacity"}}},
		{reason: "a schedule of higher priority sleeps over a trigger", intents: []workload.Intent{sleep("a", 1), exactly("t", 0, 6)},
			size: &workload.Size{Mode: workload.SizeSleep}, by: "a",
			conflicts: []pipeline.Conflict{{Winner: policy("a"), Loser: policy("t"), Facet: "size", Reason: "priority"}}},
		{reason: "a size set once counts where none lasts", intents: []workload.Intent{once("t", 0, 6), awake("a", 5)},
			size: &workload.Size{Mode: workload.SizeExactly, Replicas: 6, Capacity: 6}, by: "t"},
		{reason: "a size set once yields to sleep, whatever the priority", intents: []workload.Intent{once("t", 9, 6), sleep("a", 0)},
			size: &workload.Size{Mode: workload.SizeSleep}, by: "a",
			conflicts: []pipeline.Conflict{{Winner: policy("a"), Loser: policy("t"), Facet: "size", Reason: "is set once, the other lasts"}}},
		{reason: "of two sizes set once the larger", intents: []workload.Intent{once("t", 0, 6), once("u", 0, 7)},
			size: &workload.Size{Mode: workload.SizeExactly, Replicas: 7, Capacity: 7}, by: "u",
			conflicts: []pipeline.Conflict{{Winner: policy("u"), Loser: policy("t"), Facet: "size", Reason: "capacity"}}},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			plan, conflicts := pipeline.Merge(tc.intents...)
			var size *workload.Size
			by := ""
			if plan.Size != nil {
				size, by = &plan.Size.Value, plan.Size.By.Name
			}
			if diff := cmp.Diff(tc.size, size); diff != "" {
				t.Errorf("size (-want +got):\n%s", diff)
			}
			if by != tc.by {
				t.Errorf("size won by %q, want %q", by, tc.by)
			}
			if diff := cmp.Diff(tc.conflicts, conflicts, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
		})
	}
}

// A claim to sleep is overruled by a claim to stay awake of the same or a higher priority, or with an override.
func TestIsOverruled(t *testing.T) {
	sleep := workload.Intent{Class: workload.ClassSleep, Priority: 5}
	awake := func(priority int32, override bool) workload.Intent {
		return workload.Intent{Class: workload.ClassAwake, Priority: priority, Override: override}
	}
	for _, tc := range []struct {
		others []workload.Intent
		want   bool
	}{
		{nil, false},
		{[]workload.Intent{awake(4, false)}, false},
		{[]workload.Intent{awake(4, false), awake(5, false)}, true},
		{[]workload.Intent{awake(0, true)}, true},
		{[]workload.Intent{{Class: workload.ClassKeep, Priority: 9}, {Class: workload.ClassSleep, Priority: 9}}, false},
	} {
		if got := pipeline.IsOverruled(&sleep, append(tc.others, sleep)); got != tc.want {
			t.Errorf("among %+v: %t", tc.others, got)
		}
	}
}

func TestMergeNeverPutsMinAboveMax(t *testing.T) {
	low := bounds("a", 0, 5, 20)
	low.Max = nil
	high := bounds("b", 0, 1, 3)
	high.Min = nil
	plan, _ := pipeline.Merge(low, high)
	if plan.Min.Value != 5 || plan.Max.Value != 5 {
		t.Errorf("got min %d and max %d, want 5 and 5: more capacity wins", plan.Min.Value, plan.Max.Value)
	}
}

// The generators draw few policies, priorities and values, so that ties are common.
var (
	request     = workload.Amount{Kind: workload.AmountRequest, Component: "web", Resource: workload.CPU}
	utilisation = workload.Amount{Kind: workload.AmountUtilisation, Resource: workload.CPU}
)

func intents(t *rapid.T) []workload.Intent {
	one := rapid.Custom(func(t *rapid.T) workload.Intent {
		name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
		priority := rapid.Int32Range(0, 2).Draw(t, "priority")
		n := rapid.Int64Range(0, 3).Draw(t, "n")
		var in workload.Intent
		switch rapid.IntRange(0, 10).Draw(t, "kind") {
		case 0:
			in = sleep(name, priority)
		case 1:
			in = atMost(name, priority, n)
		case 2:
			in = awake(name, priority)
		case 3:
			in = exactly(name, priority, n)
		case 4:
			in = bounds(name, priority, n, n+rapid.Int64Range(0, 3).Draw(t, "span"))
		case 5:
			in = bounds(name, priority, n, n)
			in.Class = workload.ClassSleep
		case 6:
			in = workload.Intent{By: policy(name), Class: rapid.SampledFrom([]workload.Class{workload.ClassKeep, workload.ClassOrphan}).Draw(t,
				"class")}
		case 7:
			in = workload.Intent{By: policy(name), Class: workload.ClassSleep, Priority: priority, Hold: true,
				Annotations: map[string]string{rapid.SampledFrom([]string{"x", "y"}).Draw(t, "key"): rapid.SampledFrom([]string{"1", "2"}).Draw(t,
					"value")}}
		case 8:
			in = workload.Intent{By: policy(name), Class: workload.ClassSet, Priority: priority, Hold: rapid.Bool().Draw(t, "hold"),
				Annotations: map[string]string{rapid.SampledFrom([]string{"x", "y"}).Draw(t, "key"): rapid.SampledFrom([]string{"1", "2"}).Draw(t,
					"value")}}
		case 9:
			in = sleep(name, priority)
			in.Size = &workload.Size{Mode: workload.SizePercent, Percent: rapid.Int32Range(0, 2).Draw(t, "percent"), Capacity: n}
		case 10:
			in = workload.Intent{By: policy(name), Class: workload.ClassSet, Priority: priority, Amounts: map[workload.Amount]int64{}}
			for _, key := range rapid.SliceOfN(rapid.SampledFrom([]workload.Amount{request, utilisation}), 1, 2).Draw(t, "amounts") {
				in.Amounts[key] = rapid.Int64Range(1, 3).Draw(t, "amount")
			}
		}
		if in.Min != nil && rapid.IntRange(0, 3).Draw(t, "one bound") == 0 {
			in.Max = nil
		}
		if in.Max != nil && rapid.IntRange(0, 3).Draw(t, "other bound") == 0 {
			in.Min = nil
		}
		in.Resumed = in.Class == workload.ClassSet && in.Size != nil && rapid.Bool().Draw(t, "resumed")
		in.Once = in.Class == workload.ClassSet && in.Size != nil && rapid.Bool().Draw(t, "once")
		in.Override = in.Class == workload.ClassAwake && rapid.Bool().Draw(t, "override")
		in.Mandatory = in.Class == workload.ClassSleep && rapid.IntRange(0, 3).Draw(t, "mandatory") == 0
		in.Enforce = rapid.Bool().Draw(t, "enforce")
		in.Since = start.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "since")) * time.Hour)
		return in
	})
	return rapid.SliceOfN(one, 0, 7).Draw(t, "intents")
}

func TestMergeDoesNotDependOnOrderOrRepetition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := intents(t)
		plan, conflicts := pipeline.Merge(given...)
		again := append([]workload.Intent{}, given...)
		if len(given) > 0 {
			again = append(again, given[rapid.IntRange(0, len(given)-1).Draw(t, "repeated")])
		}
		seed := rapid.Uint64().Draw(t, "seed")
		rand.New(rand.NewPCG(seed, seed)).Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
		plan2, conflicts2 := pipeline.Merge(again...)
		if diff := cmp.Diff(plan, plan2); diff != "" {
			t.Fatalf("the plan depends on order or repetition:\n%s", diff)
		}
		if diff := cmp.Diff(conflicts, conflicts2); diff != "" {
			t.Fatalf("the conflicts depend on order or repetition:\n%s", diff)
		}
	})
}

func TestMergeReportsEveryLosingClaim(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := intents(t)
		plan, conflicts := pipeline.Merge(given...)
		lost := map[workload.Policy]bool{}
		for _, c := range conflicts {
			if c.Winner == c.Loser {
				t.Fatalf("%v lost against itself", c.Winner)
			}
			lost[c.Loser] = true
		}
		for _, in := range given {
			if in.Class == workload.ClassSleep && in.Size != nil && plan.Size == nil && !lost[in.By] {
				// The loser's own claim to stay awake may be the winner.
				own := false
				for _, other := range given {
					own = own || other.Class == workload.ClassAwake && other.By == in.By
				}
				if !own {
					t.Fatalf("%v asked to sleep, was not heard, and is not told", in.By)
				}
			}
		}
	})
}
