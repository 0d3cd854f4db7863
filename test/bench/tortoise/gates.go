package tortoise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Gate is a promise, and whether it holds.
type Gate struct {
	Name, Text string
	Holds      bool
}

// interval is a mean with its bootstrap interval of 90 %.
type interval struct{ mean, low, high float64 }

// bootstrap resamples values 2,000 times with a fixed seed.
func bootstrap(values []float64) interval {
	if len(values) == 0 {
		return interval{math.NaN(), math.NaN(), math.NaN()}
	}
	const rounds = 2000
	r := rand.New(rand.NewPCG(1, uint64(len(values))))
	means := make([]float64, rounds)
	for i := range means {
		for range values {
			means[i] += values[r.IntN(len(values))] / float64(len(values))
		}
	}
	slices.Sort(means)
	sum := 0.0
	for _, v := range values {
		sum += v / float64(len(values))
	}
	return interval{sum, means[rounds/20], means[rounds-rounds/20-1]}
}

// table finds results.
type table map[[2]string][]Result

func tabulate(results []Result) table {
	t := table{}
	for _, r := range results {
		t[[2]string{r.Family, r.Contender}] = append(t[[2]string{r.Family, r.Contender}], r)
	}
	return t
}

// total adds up a measure over families.
func (t table) total(who string, measure func(Result) float64, families ...string) float64 {
	sum := 0.0
	for _, f := range families {
		for _, r := range t[[2]string{f, who}] {
			sum += measure(r)
		}
	}
	return sum
}

// ratios gives, for each family and seed, what one has over the baseline.
func (t table) ratios(who string, measure func(Result) float64, families ...string) []float64 {
	var all []float64
	for _, f := range families {
		base := t[[2]string{f, baseline}]
		for i, r := range t[[2]string{f, who}] {
			if i < len(base) && measure(base[i]) > 0 {
				all = append(all, measure(r)/measure(base[i]))
			}
		}
	}
	return all
}

func violations(r Result) float64 { return r.ViolationMinutes }
func cores(r Result) float64      { return r.CoreHours }
func restarts(r Result) float64   { return float64(r.Restarts) }
func fallen(r Result) float64     { return r.Fallen }

// The families that the gates name.
var (
	periodic = []string{"diurnal", "weekly"}
	sudden   = []string{"noon-spike", "outage-herd"}
)

// Gates judges a run of all families with the baseline, the original and ours.
func Gates(results []Result) []Gate {
	t := tabulate(results)
	ratio := func(measure func(Result) float64, families ...string) float64 {
		return t.total(ours, measure, families...) / t.total(baseline, measure, families...)
	}
	c, v := ratio(cores, periodic...), ratio(violations, periodic...)
	gates := []Gate{{"periodic", fmt.Sprintf("diurnal and weekly: core hours %.3f of %s (at most 0.85), violation minutes %.3f (at most 1)", c, baseline, v), c <= 0.85 && v <= 1}}
	c, v = ratio(cores, sudden...), ratio(violations, sudden...)
	gates = append(gates, Gate{"sudden", fmt.Sprintf("noon-spike and outage-herd: violation minutes %.3f of %s (at most 0.5), core hours %.3f (at most 1.05)", v, baseline, c), v <= 0.5 && c <= 1.05})
	worse := []string{}
	for _, f := range families {
		if ratio(cores, f) > 1 && ratio(violations, f) > 1 {
			worse = append(worse, f)
		}
	}
	gates = append(gates, Gate{"nowhere-worse", fmt.Sprintf("worse than %s in both core hours and violation minutes: %v", baseline, worse), len(worse) == 0})
	fell := t.total(ours, fallen, families...)
	gates = append(gates, Gate{"blackout", fmt.Sprintf("capacity that fell without metrics: %.0fm", fell), fell == 0})
	r, o := t.total(ours, restarts, families...), t.total(original, restarts, families...)
	return append(gates, Gate{"restarts", fmt.Sprintf("%.0f restarts, %.0f of %s (at most a third)", r, o, original), 3*r <= o})
}

// Figures are the numbers of the benchmark, by name.
type Figure struct {
	Name  string
	Value float64
	Unit  string
}

// Figures gives those of a run.
func Figures(results []Result) []Figure {
	t := tabulate(results)
	mean := func(measure func(Result) float64, families ...string) float64 {
		return t.total(ours, measure, families...) / t.total(baseline, measure, families...)
	}
	held := 0.0
	for _, g := range Gates(results) {
		if g.Holds {
			held++
		}
	}
	return []Figure{
		{"tortoise_periodic_cores_ratio", mean(cores, periodic...), "ratio"},
		{"tortoise_periodic_violations_ratio", mean(violations, periodic...), "ratio"},
		{"tortoise_sudden_cores_ratio", mean(cores, sudden...), "ratio"},
		{"tortoise_sudden_violations_ratio", mean(violations, sudden...), "ratio"},
		{"tortoise_cores_ratio", mean(cores, families...), "ratio"},
		{"tortoise_violations_ratio", mean(violations, families...), "ratio"},
		{"tortoise_blackout_fallen", t.total(ours, fallen, families...), "milli-CPU"},
		{"tortoise_restarts", t.total(ours, restarts, families...), "restarts"},
		{"tortoise_gates", held, "of 5"},
	}
}
