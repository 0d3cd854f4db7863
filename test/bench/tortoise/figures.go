package tortoise

import (
	"fmt"
	"math"
	"slices"
)

// Figure is a number of the benchmark, with its largest promised value.
type Figure struct {
	Name  string
	Value float64
	Unit  string
	Most  float64
}

// Holds reports whether the value keeps the promise.
func (f Figure) Holds() bool { return f.Value <= f.Most }

// Promises returns all figures, without their values. The parameter kind is synthetic or real.
func Promises(kind string) []Figure {
	return []Figure{
		{"tortoise_" + kind + "_violations_at_equal_cost", 0, "ratio", 0.8},
		{"tortoise_" + kind + "_violations_at_equal_cost_median", 0, "ratio", 0.8},
		{"tortoise_" + kind + "_cost_at_equal_violations", 0, "ratio", 0.9},
		{"tortoise_" + kind + "_cost_at_equal_violations_median", 0, "ratio", 0.9},
		{"tortoise_" + kind + "_worse_runs", 0, "runs", 0},
		{"tortoise_ceiling_lost", 0, "ratio", 0},
		{"tortoise_restarts_ratio", 0, "ratio", 0.333},
		{"tortoise_changes_per_day", 0, "changes", 30},
	}
}

// Figures returns the figures of the results. It leaves out the figures for which a contender did not run.
func Figures(kind string, results []Result) []Figure {
	all := runs(results)
	if len(all) == 0 || !all[0].has(Flyball) {
		return nil
	}
	figures := Promises(kind)
	set := func(first int, who string, values ...float64) {
		for i, v := range values {
			if !all[0].has(who) {
				v = math.NaN()
			}
			figures[first+i].Value = v
		}
	}
	judged := slices.DeleteFunc(slices.Clone(all), func(r run) bool { return r.apart })
	if len(judged) > 0 && judged[0].has(grid[0].name) {
		d, m := frontierOf(judged).distance(sum(judged, Flyball)), medians(judged, Flyball)
		set(0, Flyball, d.violations, m.violations, d.cost, m.cost)
	} else {
		set(0, Flyball, math.NaN(), math.NaN(), math.NaN(), math.NaN())
	}
	lost, changes, restarts, theirs := 0.0, 0.0, 0, 0
	for _, r := range all {
		f := r.by[Flyball]
		lost, changes = max(lost, f.CeilingLost), max(changes, float64(f.Changes)/f.Days)
		restarts, theirs = restarts+f.Restarts, theirs+r.by[Original].Restarts
	}
	set(4, Baseline, float64(len(worse(all))))
	set(5, Flyball, lost)
	set(6, Original, float64(restarts)/float64(max(theirs, 1)))
	set(7, Flyball, changes)
	return slices.DeleteFunc(figures, func(f Figure) bool { return math.IsNaN(f.Value) })
}

// run is one world with the outcome of each contender.
type run struct {
	apart bool
	by    map[string]Result
}

// runs groups results by world and seed, in the order of the results.
func runs(results []Result) []run {
	type key struct {
		world string
		seed  uint64
	}
	var all []run
	index := map[key]int{}
	for _, r := range results {
		k := key{r.World, r.Seed}
		i, known := index[k]
		if !known {
			i = len(all)
			index[k], all = i, append(all, run{r.Apart, map[string]Result{}})
		}
		all[i].by[r.Contender] = r
	}
	return all
}

func (r Result) outcome() outcome { return outcome{r.cost(), r.ViolationMinutes} }

// sum adds up the outcomes of a contender.
func sum(all []run, who string) outcome {
	var total outcome
	for _, r := range all {
		total = total.plus(r.by[who].outcome())
	}
	return total
}

// frontierOf returns the frontier of the fixed settings, from their sums over all runs.
func frontierOf(all []run) frontier {
	var settings []outcome
	for _, g := range grid {
		if _, ran := all[0].by[g.name]; ran {
			settings = append(settings, sum(all, g.name))
		}
	}
	return newFrontier(settings)
}

func (r run) has(who string) bool { _, ran := r.by[who]; return ran }

// medians returns the medians of a contender's distances. A distance is that of a single run to the run's own frontier.
func medians(all []run, who string) distance {
	var vs, cs []float64
	for i, r := range all {
		d := frontierOf(all[i : i+1]).distance(r.by[who].outcome())
		vs, cs = append(vs, d.violations), append(cs, d.cost)
	}
	return distance{median(vs), median(cs)}
}

func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// tolerated is the number of violation minutes that a run may always have, even if the baseline has fewer.
const tolerated = 30

// worse returns the names of the runs with more than 1.2 times the violations of the baseline.
func worse(all []run) []string {
	var names []string
	for _, r := range all {
		f, b := r.by[Flyball], r.by[Baseline]
		if f.ViolationMinutes >= tolerated && f.ViolationMinutes > 1.2*b.ViolationMinutes {
			names = append(names, fmt.Sprintf("%s/%d: %.0f minutes, %s has %.0f", f.World, f.Seed, f.ViolationMinutes, Baseline, b.ViolationMinutes))
		}
	}
	return names
}
