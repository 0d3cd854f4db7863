package tortoise

import (
	"bytes"
	"compress/gzip"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func mean(w *world, from, to int) float64 {
	sum := 0.0
	for _, v := range w.demand[from:to] {
		sum += v
	}
	return sum / float64(to-from)
}

// TestLoadsAreAsNamed compares the demand in two spans of a family. The demand in the second span must be at least,
// or
// at most, a multiple of the demand in the first span.
func TestLoadsAreAsNamed(t *testing.T) {
	if diff := cmp.Diff(slices.Sorted(maps.Keys(events)), slices.Sorted(slices.Values(Families))); diff != "" {
		t.Fatalf("families differ: %s", diff)
	}
	const day, noon = ticksPerDay, 12 * hour
	for _, tc := range []struct {
		family                 string
		from, to, since, until int
		least, most            float64
	}{
		{"diurnal", hour, 3 * hour, 13 * hour, 15 * hour, 1.6, 12},
		{"weekly", 0, 5 * day, 5 * day, 7 * day, 0, 0.7},
		{"noon-spike", noon - hour, noon, noon + 4, noon + 16, 1.5, 4},
		{"release-step", 11 * day, 12 * day, 14 * day, 15 * day, 1.3, 1.7},
		{"growth", 0, day, 14 * day, 15 * day, 1.1, 1.2},
		{"growth-tenth", 0, day, 21 * day, 22 * day, 6, 9},
		{"holiday", 9 * day, 11 * day, 16 * day, 18 * day, 0.3, 0.4},
		{"retired", 7 * day, 10 * day, 21 * day, 24 * day, 0.01, 0.03},
		{"moved-users", day + 14*hour, day + 15*hour, 15*day + 20*hour, 15*day + 21*hour, 0.7, 1.4},
	} {
		for _, seed := range Seeds[:4] {
			w := newWorld(tc.family, seed, days)
			if ratio := mean(w, tc.since, tc.until) / mean(w, tc.from, tc.to); ratio < tc.least || ratio > tc.most {
				t.Errorf("%s, seed %d: demand is %.2f times what it was", tc.family, seed, ratio)
			}
		}
	}
	for family, times := range map[string]float64{"first-crowd": 2.5, "month-end": 1.2} {
		for _, seed := range Seeds[:4] {
			w := newWorld(family, seed, days)
			if before, after := slices.Max(w.demand[:w.teach]), slices.Max(w.demand[w.teach:]); after < times*before*0.7 {
				t.Errorf("%s, seed %d: the largest demand is %.1f times that of the first week", family, seed, after/before)
			}
		}
	}
	if w := newWorld("blackout", 1, 2); !slices.Contains(w.blind, true) || slices.Contains(w.unknown, true) {
		t.Error("there are metrics all the time, or demand is not known")
	}
}

// TestMaximaBind checks that the owner's maximum is too small for the largest demand, just enough, or much larger,
// each
// for a third of the seeds.
func TestMaximaBind(t *testing.T) {
	for _, family := range Families {
		for _, seed := range Seeds[:3] {
			w := newWorld(family, seed, days)
			largest := slices.Max(w.demand)
			over := largest > threshold*w.owner.reach()
			if want := seed%3 == 0; over != want && w.owner.maximum > w.owner.minimum+1 && w.owner.maximum < 100 {
				t.Errorf("%s, seed %d: the maximum of %d is too small for %.0fm: %t", family, seed, w.owner.maximum, largest, over)
			}
			for _, g := range grid {
				if s := g.begin(w); s.reach() < w.owner.reach() {
					t.Errorf("%s, seed %d: %s reaches %.0fm, the owner %.0fm", family, seed, g.name, s.reach(), w.owner.reach())
				}
			}
		}
	}
}

// TestSeriesAreSteps checks that a value of a series holds for ten minutes, or for the usual distance of two rows.
func TestSeriesAreSteps(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"minutes": "minute,cores\n100,1\n101,3\n102,3\n130,1\n131,2\n",
		"half-hours": "minute,cores\n0,1\n30,3\n60,2\n"} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write([]byte(text)); err != nil || z.Close() != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".csv.gz"), packed.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	worlds, err := readTraces(dir, 0)
	if err != nil || len(worlds) != 2 {
		t.Fatalf("%d worlds, error %v", len(worlds), err)
	}
	halves, minutes := worlds[0], worlds[1]
	if slices.Contains(halves.unknown, true) || len(halves.demand) != 61*ticksPerMin || halves.teach != len(halves.demand)/3 {
		t.Errorf("of half-hours %d ticks are known, %d teach", len(halves.demand), halves.teach)
	}
	if one, three := halves.demand[29*ticksPerMin], halves.demand[30*ticksPerMin]; math.Abs(three/one-3) > 1e-9 {
		t.Errorf("a step from %v to %v", one, three)
	}
	known, sum := 0, 0.0
	for i, v := range minutes.demand {
		unknown := i >= 12*ticksPerMin && i < 30*ticksPerMin
		if minutes.unknown[i] != unknown || minutes.blind[i] != unknown {
			t.Errorf("minute %d is unknown: %t", i/ticksPerMin, minutes.unknown[i])
		}
		if !unknown {
			known, sum = known+1, sum+v
		}
	}
	if got := sum / float64(known); math.Abs(got-traceMean) > 1 {
		t.Errorf("the mean is %v", got)
	}
	if got := minutes.at(0).Unix(); got != 6000 {
		t.Errorf("it begins at %d", got)
	}
}

func TestRowsMayBeInAnyOrder(t *testing.T) {
	got, err := parseTrace(strings.NewReader("minute,cores\n3,1\n1,2\n3,4\n2,3\n"))
	if diff := cmp.Diff(trace{{1, 2}, {2, 3}, {3, 4}}, got, cmp.AllowUnexported(row{})); diff != "" || err != nil {
		t.Errorf("error %v, %s", err, diff)
	}
}

func TestBadSeriesAreRefused(t *testing.T) {
	for reason, text := range map[string]string{
		"no row": "minute,cores\n", "no header": "1,2\n3,4\n", "no number": "minute,cores\n1,x\n", "below zero": "minute,cores\n1,-1\n",
		"not a number": "minute,cores\n1,NaN\n",
	} {
		if _, err := parseTrace(strings.NewReader(text)); err == nil {
			t.Errorf("a series with %s is read", reason)
		}
	}
}

// TestRunsAreDeterministic checks that two runs are equal, and that every contender and every family runs.
func TestRunsAreDeterministic(t *testing.T) {
	o := Options{Seeds: Seeds[:1], Families: []string{"diurnal", "blackout"}, Days: 8}
	first, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again, cmp.AllowUnexported(Result{}, tally{})); diff != "" {
		t.Errorf("the second run differs: %s", diff)
	}
	if len(first) != 2*(len(contenders)+len(grid)) {
		t.Errorf("there are %d results", len(first))
	}
	for _, r := range first {
		if r.CoreHours <= 0 || r.GiBHours <= 0 || r.Days != 1 {
			t.Errorf("%s ran nothing in %s", r.Contender, r.World)
		}
	}
	var out bytes.Buffer
	if err := Table(&out, first); err != nil || strings.Count(out.String(), "\ndiurnal ") != len(contenders)+1 {
		t.Errorf("the table is, error %v:\n%s", err, out.String())
	}
	if got := Figures("real", first); len(got) != len(Promises("real")) {
		t.Errorf("there are %d figures", len(got))
	}
	for missing, figures := range map[string]int{grid[0].name: 4, Baseline: 7, Original: 7, Flyball: 0} {
		some := slices.DeleteFunc(slices.Clone(first), func(r Result) bool { return r.Contender == missing })
		if got := Figures("real", some); len(got) != figures {
			t.Errorf("without %s there are %d figures", missing, len(got))
		}
	}
}

// TestCostsOfThreePods checks the costs of three pods, with a request of 1.1 cores each, for a day without load and
// for a day with
// too much load.
func TestCostsOfThreePods(t *testing.T) {
	for _, tc := range []struct{ demand, minutes float64 }{{1, 0}, {0.86 * 3 * 1000, 24 * 60}} {
		w := newWorld("diurnal", 1, teachDays+1)
		w.owner.maximum = 3
		for i := range w.demand {
			w.demand[i] = tc.demand
		}
		got := simulate(w, contenders[0]).tally
		want := tally{CoreHours: 3 * 1.1 * 24, GiBHours: 3 * 24, ViolationMinutes: tc.minutes}
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0.01, 0), cmp.AllowUnexported(tally{})); diff != "" {
			t.Error(diff)
		}
		if cost := got.cost(); math.Abs(cost-(3*1.1+3*GiBPrice)*24) > 0.01 {
			t.Errorf("it costs %v", cost)
		}
	}
}

// TestRollOutsKeepMostPods checks a roll-out of eight pods. At least six are ready, at most ten exist, and in the end
// all are new.
func TestRollOutsKeepMostPods(t *testing.T) {
	w := newWorld("diurnal", 2, 1)
	c := newCluster(w, false, setting{app: 1000, side: 100, memory: 1024, minimum: 8, maximum: 8, target: 70})
	c.step()
	c.rollOut(500, 50, 512)
	for range 40 * 2 {
		c.step()
		ready := 0
		for _, p := range c.pods {
			if p.readyAt < c.t {
				ready++
			}
		}
		if ready < 6 || len(c.pods) > 10 {
			t.Fatalf("%d pods, %d of them ready", len(c.pods), ready)
		}
	}
	for _, p := range c.pods {
		if p.old || p.app != 500 || len(c.pods) != 8 {
			t.Fatalf("after 40 minutes there are %d pods, one with %.0fm", len(c.pods), p.app)
		}
	}
}

// figuresOf returns the figures by name for made-up runs. The fixed settings in these runs go from 100 core hours with
// 80 minutes of violations to 180 core hours without violations.
func figuresOf(edit func(family string, r *Result)) map[string]float64 {
	var all []Result
	for _, f := range Families {
		add := func(who string, t tally) {
			r := Result{World: f, Contender: who, Seed: 1, Days: 2, Apart: f == "memory-ramp", tally: t}
			edit(f, &r)
			all = append(all, r)
		}
		add(Baseline, tally{CoreHours: 150, ViolationMinutes: 40})
		add(Original, tally{CoreHours: 150, ViolationMinutes: 40, Restarts: 4})
		add(Flyball, tally{CoreHours: 120, GiBHours: 100, ViolationMinutes: 20, Restarts: 1, Changes: 4})
		for i, g := range grid[:9] {
			add(g.name, tally{CoreHours: 100 + float64(i)*10, ViolationMinutes: 80 - float64(i)*10})
		}
	}
	values := map[string]float64{}
	for _, f := range Figures("synthetic", all) {
		values[strings.TrimPrefix(f.Name, "tortoise_")] = f.Value
	}
	return values
}

func TestFiguresOfResults(t *testing.T) {
	for reason, tc := range map[string]struct {
		edit func(family string, r *Result)
		want map[string]float64
	}{
		"as they are": {nil, nil},
		"one family is worse": {
			func(f string, r *Result) {
				if f == "holiday" && r.Contender == Flyball {
					r.ViolationMinutes = 49
				}
			},
			map[string]float64{
				"synthetic_worse_runs": 1, "synthetic_violations_at_equal_cost": (20*18 + 49) / (47.0 * 19),
				"synthetic_cost_at_equal_violations": 133 * 19 / (160*19.0 - 29),
			},
		},
		"a few minutes are nothing": {
			func(f string, r *Result) {
				if f == "holiday" && r.Contender == Baseline {
					r.ViolationMinutes = 1
				}
			},
			nil,
		},
		"what a fixed size does not bear is in no sum, and still no worse run": {
			func(f string, r *Result) {
				if f == "memory-ramp" && r.Contender == Flyball {
					r.ViolationMinutes = 1000
				}
			},
			map[string]float64{"synthetic_worse_runs": 1},
		},
		"a ceiling": {func(f string, r *Result) { r.CeilingLost = map[string]float64{"weekly": 0.8}[f] },
			map[string]float64{"ceiling_lost": 0.8}},
		"the worst run changes": {func(f string, r *Result) { r.Changes = map[string]int{"growth": 90}[f] },
			map[string]float64{"changes_per_day": 45}},
		"restarts": {
			func(_ string, r *Result) {
				if r.Contender == Flyball {
					r.Restarts = 3
				}
			},
			map[string]float64{"restarts_ratio": 0.75},
		},
	} {
		if tc.edit == nil {
			tc.edit = func(string, *Result) {}
		}
		want := map[string]float64{
			"synthetic_violations_at_equal_cost": 20.0 / 47, "synthetic_violations_at_equal_cost_median": 20.0 / 47,
			"synthetic_cost_at_equal_violations": 133.0 / 160, "synthetic_cost_at_equal_violations_median": 133.0 / 160,
			"synthetic_worse_runs": 0, "ceiling_lost": 0, "restarts_ratio": 0.25, "changes_per_day": 2,
		}
		for name, value := range tc.want {
			want[name] = value
		}
		if diff := cmp.Diff(want, figuresOf(tc.edit), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("%s: %s", reason, diff)
		}
	}
}

// TestKillSampleDescribesThePod checks that a kill shows the memory of the killed pod itself, and not the memory
// that is being
// rolled out.
func TestKillSampleDescribesThePod(t *testing.T) {
	w := newWorld("weekly", 1, 2)
	small := w.owner
	small.memory = 300
	c := newCluster(w, true, small)
	c.rollOut(small.app, small.side, 2048)
	c.step()
	if s := c.recent[0]; s.kills == 0 || s.killed != small.memory {
		t.Errorf("%d kills, of %g MiB", s.kills, s.killed)
	}
}
