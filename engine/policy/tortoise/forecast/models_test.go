package forecast

import (
	"math"
	"testing"
)

var unknown = math.NaN()

func compare(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if !equal(got[i], want[i]) {
			t.Errorf("%s: at %d it is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// TestAModelIsAdjusted: the level moves by 0.15 of each deviation, and a forecast has 0.9 of the level that there was a lead ago. Of 10,
// 12 and 13 where 10 is usual the level is 0, then 0.3, and after a gap 0.3 + 0.15 * 2.7.
func TestAModelIsAdjusted(t *testing.T) {
	m := &Model{cfg: Config{Lead: 2}, first: 100, values: []float64{12, unknown, 13, 10}}
	fit, ahead := m.adjusted(func(i int) float64 { return 10 + float64(i/100) })
	compare(t, "the fit", fit, []float64{10, 10, 10 + 0.9*0.3, 10 + 0.9*0.3})
	level := 0.3 + 0.15*2.7
	level += 0.15 * (0 - level)
	if got := ahead(150); !equal(got, 10+0.9*level) {
		t.Errorf("the forecast is %v", got)
	}
	if got := ahead(200); !equal(got, 11+0.9*level) {
		t.Errorf("the forecast of the hundredth step from the first on is %v", got)
	}
}

// TestPastSeasons count with 1, 0.6 and 0.36, the newest first.
func TestPastSeasons(t *testing.T) {
	m := &Model{values: []float64{10, 11, 12, 13, 14, 15, unknown, 17, 18, 19, 20, 21}}
	for i, want := range map[int]float64{
		2: unknown, 3: 10, 4: 11, 9: (0.6*13 + 0.36*10) / 0.96, 10: (17 + 0.6*14 + 0.36*11) / 1.96, 11: (18 + 0.6*15 + 0.36*12) / 1.96,
		12: (19 + 0.36*13) / 1.36, 15: (19 + 0.36*13) / 1.36, 13: (20 + 0.6*17 + 0.36*14) / 1.96, 20: (21 + 0.6*18 + 0.36*15) / 1.96,
	} {
		if got := m.past(i, 3); !equal(got, want) && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("step %d is %v, want %v", i, got, want)
		}
	}
}

// TestWithoutASeasonTheNewestValueCounts, that of a lead ago.
func TestWithoutASeasonTheNewestValueCounts(t *testing.T) {
	m := &Model{cfg: Config{Day: 100, Lead: 2}, season: 100, values: []float64{4, 6, 8, unknown, 8}}
	fit, ahead := m.seasonalNaive()
	// The patterns are 0, 0, 4, 6 and 8, and 8 and 8 after them.
	levels := []float64{0.6}
	for _, off := range []float64{6, 4} {
		now := levels[len(levels)-1]
		levels = append(levels, now+0.15*(off-now))
	}
	compare(t, "the fit", fit, []float64{0, 0, 4 + 0.9*levels[0], 6 + 0.9*levels[1], 8 + 0.9*levels[2]})
	last := levels[2] * 0.85
	for step := range int64(4) {
		if got := ahead(5 + step); !equal(got, 8+0.9*last) {
			t.Errorf("the forecast of step %d is %v", 5+step, got)
		}
	}
}

// TestHoltWinters: numbers worked out apart by the recurrences of the textbook, with a trend that is damped by 0.998 and smoothing of 0.1,
// 0.0005 and 0.2. A step of the second season that was not seen yet is as half of the same step a day before and half of what is seen.
func TestHoltWinters(t *testing.T) {
	for _, tc := range []struct {
		reason     string
		season     int
		lead       int
		values     []float64
		fit, ahead []float64
	}{
		{"a season of a day", 2, 1, []float64{1, 3, 2, 5, unknown},
			[]float64{3, 2.7999, 1.01982038499, 3.097887721674, 1.484496081348}, []float64{3.630533798453, 1.484550661723, 3.630588378828, 1.484550661723}},
		{"a season of two days", 4, 2, []float64{1, 3, 2, 5, 4, unknown, 2.5},
			[]float64{3, 2.8, 0.9998, 2.99982040998, 1.117757295226, 3.288208183347, 2.01871618843}, []float64{4.461846394356, 2.110567387926, 3.606108669212, 2.153764781544}},
	} {
		m := &Model{cfg: Config{Day: 2, Lead: tc.lead}, first: 50, season: tc.season, values: tc.values}
		fit, ahead := m.holtWinters()
		compare(t, tc.reason+", the fit", fit, tc.fit)
		for i, want := range tc.ahead {
			if got := ahead(int64(50 + len(tc.values) + i)); !equal(got, want) {
				t.Errorf("%s: %d steps behind the last it is %v, want %v", tc.reason, i+1, got, want)
			}
		}
	}
	nothing := &Model{cfg: Config{Day: 2, Lead: 1}, season: 2, values: []float64{unknown, unknown, 3}}
	if fit, _ := nothing.holtWinters(); fit[0] != 0 || fit[1] != 0 {
		t.Errorf("without a first day it begins with %v", fit)
	}
}

// TestHarmonicOfOnePoint: one point of 8 has sines and cosines whose squares add up to 6, and a constant: of 7 parts and one for the
// ridge, 7 are its own. Of what is left, 0.15 moves the level, and 0.9 of that is forecast.
func TestHarmonicOfOnePoint(t *testing.T) {
	m := &Model{cfg: Config{Day: 24, Lead: 2}, first: 5, season: 24, values: []float64{8}}
	fit, ahead := m.harmonic()
	if !equal(fit[0], 7) || !equal(ahead(5), 7.135) || !equal(ahead(5+24), 7.135) {
		t.Errorf("it is fitted by %v, and forecast as %v and %v", fit[0], ahead(5), ahead(29))
	}
}

// TestHarmonicsAreFound: each of six sines and cosines of the day, a trend, and the days of the week where weeks were seen.
func TestHarmonicsAreFound(t *testing.T) {
	const steps, first = 24, 7
	angle := func(step, k int) float64 { return 2 * math.Pi * float64(k*step) / steps }
	weekday := [7]float64{0, 1, -1, 2, -2, 3, -3}
	signals := map[string]func(step int) float64{
		"a trend":         func(step int) float64 { return 5 + float64(step-first)/(steps*70) },
		"days of a week":  func(step int) float64 { return 5 + weekday[step/steps%7] },
		"a constant only": func(int) float64 { return 5 },
	}
	for k := 1; k <= harmonics; k++ {
		signals["sine "+string(rune('0'+k))] = func(step int) float64 { return 5 + math.Sin(angle(step, k)) }
		signals["cosine "+string(rune('0'+k))] = func(step int) float64 { return 5 + math.Cos(angle(step, k)) }
	}
	for name, signal := range signals {
		for _, season := range []int{steps, 7 * steps} {
			m := &Model{cfg: Config{Day: steps, Lead: 2}, first: first, season: season}
			for i := range 70 * steps {
				m.values = append(m.values, signal(first+i))
			}
			fit, _ := m.harmonic()
			worst := 0.0
			for i := 30 * steps; i < 60*steps; i++ {
				worst = max(worst, math.Abs(fit[i]-m.values[i]))
			}
			if found := worst < 0.1; found != (season > steps || name != "days of a week") {
				t.Errorf("%s: with a season of %d steps it is off by %v", name, season, worst)
			}
		}
	}
}
