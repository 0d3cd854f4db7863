package forecast

import (
	"math"
	"testing"
)

// even has one forecast for the steps from 7 on, as a logarithm; it was fitted to what was before step 13.
func even(pattern, twice float32) *Outlook {
	o := &Outlook{first: 7, end: 13, season: 10, points: make([]point, 16), margin: 0.25, spike: 0.5}
	for i := range o.points {
		o.points[i] = point{pattern, twice}
	}
	return o
}

// TestASpikeIsAboveWhatIsUsual: the forecast is 1, and but for two of a hundred steps demand is not above 1.5.
func TestASpikeIsAboveWhatIsUsual(t *testing.T) {
	for _, tc := range []struct {
		level float64
		twice float32
		spike bool
	}{{0, 0.75, false}, {0, 1.375, false}, {0, 1.5, false}, {0, 1.625, true}, {0.25, 1.625, false}, {0.25, 1.75, false}, {0.25, 1.875, true}, {0.75, 1.875, false}} {
		o := even(1, tc.twice)
		o.level = tc.level
		want := 0.0
		if tc.spike {
			want = math.Expm1(float64(tc.twice))
		}
		if got := o.Spike(14); !equal(got, want) {
			t.Errorf("what came twice at %v is a spike of %v, want %v", tc.twice, got, want)
		}
		if got, want := o.Upper(14), math.Expm1(max(float64(tc.twice), 1.25+tc.level)); !equal(got, want) {
			t.Errorf("what came twice at %v makes the upper bound %v, want %v", tc.twice, got, want)
		}
	}
}

// TestTheLevelMovesByThreeTenths of each deviation since the fit: from 2 to 3 by 0.3, and then by 0.3 * 0.7.
func TestTheLevelMovesByThreeTenths(t *testing.T) {
	seen := points{}
	for range 20 {
		seen = append(seen, math.Expm1(3))
	}
	seen[14] = math.NaN()
	for until, want := range map[int64]float64{12: 2, 13: 2, 14: 2.3, 15: 2.3, 16: 2.51} {
		o := even(2, 0)
		o.Follow(seen, 18) // whatever it followed before
		if o.Follow(seen, until); !equal(o.Peak(100), math.Expm1(want)) {
			t.Errorf("until step %d it is %v, want %v", until, math.Log1p(o.Peak(100)), want)
		}
	}
}

// TestWhatIsBeyondAnOutlook is as the season before, and what is before it as its first step.
func TestWhatIsBeyondAnOutlook(t *testing.T) {
	o := even(0, 0)
	for i := range o.points {
		o.points[i].pattern = float32(i)
	}
	for step, want := range map[int64]float32{0: 0, 6: 0, 7: 0, 8: 1, 22: 15, 23: 6, 24: 7, 32: 15, 33: 6, 42: 15, 43: 6} {
		if got := o.at(step).pattern; got != want {
			t.Errorf("step %d is %v, want %v", step, got, want)
		}
	}
}

// TestASeasonIsOver after a day of less than a fifth of what came twice at the same steps of past weeks, which goes on. It holds nothing then, and the
// forecast begins where demand is.
func TestASeasonIsOver(t *testing.T) {
	const until = 23*day + day/2
	for _, tc := range []struct {
		reason string
		edit   func(i int, v float64) float64
		daily  bool
		over   bool
	}{
		{"it goes on", func(_ int, v float64) float64 { return v }, false, false},
		{"a day at a fiftieth", since(until-day, 0.02), false, true},
		{"three days at a fiftieth", since(until-3*day, 0.02), false, true},
		{"a week and a day at a fiftieth", since(until-8*day, 0.02), false, true},
		{"a day at a quarter", since(until-day, 0.25), false, false},
		{"half a day: an outage", since(until-day/2, 0.02), false, false},
		{"a day at a fiftieth, and it comes back", func(i int, v float64) float64 {
			if i == until-1 {
				return v
			}
			return since(until-2*day, 0.02)(i, v)
		}, false, false},
		{"a day of which nothing is known", since(until-day, math.NaN()), false, false},
		{"a day at a fiftieth, of which more than half is not known", func(i int, v float64) float64 {
			if i >= until-day && i < until-day/2+1 {
				return math.NaN()
			}
			return since(until-day, 0.02)(i, v)
		}, false, false},
		{"days that are quiet each week", func(i int, v float64) float64 {
			if i/day%7 == 1 || i/day%7 == 2 {
				return 0.02 * v
			}
			return v
		}, false, false},
		{"a season of a day", since(until-day, 0.02), true, false},
	} {
		p := load(24, 0.02, tc.edit)
		config := Default()
		config.Daily = tc.daily
		m := Fit(p, until, config)
		if m.over != tc.over || (m.sunk != 0) != tc.over {
			t.Errorf("%s: it is over: %t, and demand is off by %v", tc.reason, m.over, m.sunk)
		}
		if !tc.over {
			continue
		}
		o := m.Outlook(0.9, 36)
		o.Follow(p, until)
		for step := int64(until); step < until+7*day; step++ {
			if got := o.Upper(step); got > 200 || o.Spike(step) > 0 {
				t.Errorf("%s: at step %d demand is not above %.0f", tc.reason, step-until, got)
				break
			}
		}
	}
}

// since multiplies what is at a step and after it.
func since(first int, by float64) func(i int, v float64) float64 {
	return func(i int, v float64) float64 {
		if i >= first {
			return by * v
		}
		return v
	}
}
