package main

import (
	"fmt"
	"slices"
	"strconv"

	"flyball.dev/flyball/test/bench/tortoise"
)

// promise is the bound of a figure: the largest allowed value or, if smallest is true, the smallest allowed value.
type promise struct {
	figure   string
	bound    float64
	smallest bool
}

// promises are the promises of docs/benchmarks.md, in the order of its table; a test compares the two.
var promises = slices.Concat([]promise{
	{figure: "library_kinds", bound: 36, smallest: true},
	{figure: "edge_ratio", bound: 1.15},
	{figure: "edge_requests_per_change", bound: 1.1},
	{figure: "noop_requests", bound: 0},
	{figure: "idle_requests_per_minute", bound: 0},
	{figure: "scale_20000_edge_ratio", bound: 1.05},
	{figure: "scale_20000_memory_ratio", bound: 8},
	{figure: "heap_per_object_ratio", bound: 0.25},
	{figure: "heap_per_policy_bytes", bound: 8192},
	{figure: "policy_check_ms", bound: 50},
	{figure: "ledger_hostile_ratio", bound: 250},
	{figure: "cost_plan_ms_2000", bound: 50},
	{figure: "cost_steady_writes", bound: 0},
	{figure: "cost_writes_per_pod_change", bound: 3},
	{figure: "heap_per_pod_ratio", bound: 0.15},
	{figure: "plan_seconds_2000", bound: 4},
	{figure: "plan_heap_mb_2000", bound: 500},
	{figure: "ui_first_paint_ms_2000", bound: 1000},
	{figure: "admit_p99_ratio", bound: 1.5},
	{figure: "admit_hostile_p99_ratio", bound: 3},
	{figure: "admit_decide_ratio", bound: 2},
	{figure: "admit_globs_ratio", bound: 2},
	{figure: "decide_globs_ratio", bound: 2},
	{figure: "decide_overrides_ratio", bound: 1.1},
	{figure: "mutate_added_p99_ms", bound: 2},
	{figure: "react_max_ms", bound: 2000},
	{figure: "react_p99_ms", bound: 2000},
	{figure: "freeze_enforced_ms", bound: 1000},
	{figure: "freeze_first_enforced_ms", bound: 1000},
	{figure: "webhook_restored_ms", bound: 1000},
	{figure: "outage_recovery_ms", bound: 10_000},
	{figure: "usage_heap_mb_2000", bound: 90},
	{figure: "usage_checkpoint_bytes", bound: 65_536},
	{figure: "idle_look_ms_2000", bound: 50},
	{figure: "idle_look_mb_2000", bound: 5},
}, ofTuning())

// ofTuning returns the promises about the offline benchmark of tuning.
func ofTuning() (all []promise) {
	for _, f := range tortoise.Promises(synthetic) {
		all = append(all, promise{figure: f.Name, bound: f.Most})
	}
	return all
}

// String returns the promise in the form of the table in docs/benchmarks.md, without a unit.
func (p promise) String() string {
	side := "at most "
	if p.smallest {
		side = "at least "
	}
	return side + strconv.FormatFloat(p.bound, 'f', -1, 64)
}

// holds reports whether a value keeps the promise.
func (p promise) holds(value float64) bool {
	if p.smallest {
		return value >= p.bound
	}
	return value <= p.bound
}

// shortfalls returns a sentence for each measured figure with a broken promise.
func shortfalls(values map[string]float64) []string {
	var all []string
	for _, p := range promises {
		if v, measured := values[p.figure]; measured && !p.holds(v) {
			all = append(all, fmt.Sprintf("%s is %.4g, promised is %s", p.figure, v, p))
		}
	}
	return all
}
