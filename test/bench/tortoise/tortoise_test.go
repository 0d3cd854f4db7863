package tortoise

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestLoadsAreWhatTheyAreNamedFor(t *testing.T) {
	if len(families) != 12 || len(events) != 12 {
		t.Fatalf("there are %d families and %d events", len(families), len(events))
	}
	mean := func(w *world, from, to int) float64 {
		sum := 0.0
		for _, v := range w.demand[from:to] {
			sum += v
		}
		return sum / float64(to-from)
	}
	const hour = 60 * ticksPerMin
	noon := 12 * hour
	for _, seed := range slices.Concat(TuningSeeds, ReportingSeeds) {
		if w := newWorld("noon-spike", seed, 2); mean(w, noon+4, noon+16) < 1.5*mean(w, noon-hour, noon) {
			t.Errorf("seed %d has no spike at noon", seed)
		}
		if w := newWorld("weekly", seed, 7); mean(w, 5*ticksPerDay, 7*ticksPerDay) > 0.7*mean(w, 0, 5*ticksPerDay) {
			t.Errorf("seed %d has no weekend", seed)
		}
		if w := newWorld("growth", seed, 29); mean(w, 28*ticksPerDay, 29*ticksPerDay) < 1.2*mean(w, 0, ticksPerDay) {
			t.Errorf("seed %d does not grow", seed)
		}
		if w := newWorld("blackout", seed, 2); !slices.Contains(w.blackout, true) {
			t.Errorf("seed %d has metrics all the time", seed)
		}
		d := newWorld("diurnal", seed, 2)
		if day, night := mean(d, 13*hour, 15*hour), mean(d, hour, 3*hour); day < 1.6*night {
			t.Errorf("seed %d has %.0f by day and %.0f by night", seed, day, night)
		}
	}
}

func TestSeedsAreApart(t *testing.T) {
	for _, seed := range TuningSeeds {
		if slices.Contains(ReportingSeeds, seed) {
			t.Errorf("seed %d is used for tuning and for reporting", seed)
		}
	}
}

// TestRunsAreDeterministic, and every contender and family runs.
func TestRunsAreDeterministic(t *testing.T) {
	o := Options{Seeds: ReportingSeeds[:1], Days: 2}
	first, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again, cmp.AllowUnexported(Result{}, point{}, setting{})); diff != "" {
		t.Errorf("the second run differs: %s", diff)
	}
	if len(first) != len(families)*len(contenders) {
		t.Errorf("there are %d results", len(first))
	}
	for _, r := range first {
		if r.CoreHours <= 0 || r.GiBHours <= 0 {
			t.Errorf("%s ran nothing in %s", r.Contender, r.Family)
		}
	}
	var out bytes.Buffer
	if err := Table(&out, first); err != nil || strings.Count(out.String(), "\n") != 1+len(first) {
		t.Errorf("the table is, error %v:\n%s", err, out.String())
	}
	wellFormed(t, plot("diurnal", first[:2]))
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("a plot is no XML: %v", err)
		}
	}
}

// TestCosts: three pods of a core and a tenth for a day without load.
func TestCosts(t *testing.T) {
	w := newWorld("diurnal", 1, 1)
	for i := range w.demand {
		w.demand[i] = 1
	}
	c := newCluster(w, true)
	for range w.demand {
		c.step()
	}
	want := tally{CoreHours: 3 * 1.1 * 24, GiBHours: 3 * 24}
	if diff := cmp.Diff(want, c.tally, cmpopts.EquateApprox(0.01, 0)); diff != "" {
		t.Error(diff)
	}
	for i := range w.demand {
		w.demand[i] = 0.86 * 3 * 1000
	}
	c = newCluster(w, false)
	for range w.demand {
		c.replicas = 3
		c.step()
	}
	if got := c.tally.ViolationMinutes; got != 24*60 {
		t.Errorf("a day above the threshold has %v violation minutes", got)
	}
}

func TestGates(t *testing.T) {
	results := func(edit func(family string, r *Result)) []Result {
		var all []Result
		for _, f := range families {
			all = append(all,
				Result{Family: f, Contender: baseline, tally: tally{CoreHours: 100, ViolationMinutes: 10}},
				Result{Family: f, Contender: original, tally: tally{CoreHours: 100, ViolationMinutes: 10, Restarts: 3}})
			r := Result{Family: f, Contender: ours, tally: tally{CoreHours: 85, ViolationMinutes: 5, Restarts: 1}}
			edit(f, &r)
			all = append(all, r)
		}
		return all
	}
	for gate, edit := range map[string]func(string, *Result){
		"":         func(string, *Result) {},
		"periodic": func(f string, r *Result) { r.CoreHours += 1 },
		"sudden":   func(f string, r *Result) { r.ViolationMinutes += 0.1 },
		"blackout": func(f string, r *Result) { r.Fallen = 1 },
		"restarts": func(f string, r *Result) { r.Restarts++ },
		"nowhere-worse": func(f string, r *Result) {
			if f == "holiday" {
				r.CoreHours, r.ViolationMinutes = 101, 11
			}
		},
	} {
		for _, g := range Gates(results(edit)) {
			if g.Holds != (g.Name != gate) {
				t.Errorf("with %q broken, %s holds: %t: %s", gate, g.Name, g.Holds, g.Text)
			}
		}
	}
	if i := bootstrap([]float64{1, 2, 3, 4, 5}); i.mean != 3 || i.low >= i.mean || i.high <= i.mean || i.low < 1 || i.high > 5 {
		t.Errorf("the interval is %+v", i)
	}
	if i := bootstrap(nil); !math.IsNaN(i.mean) {
		t.Errorf("the interval of nothing is %+v", i)
	}
}
