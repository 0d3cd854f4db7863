package forecast

import (
	"math"
	"slices"
	"testing"
)

// few gives a series of so many points of 100, the last of them right before step 1000.
func few(n int) points {
	p := make(points, 1000)
	for i := range p {
		p[i] = math.NaN()
		if i >= 1000-n {
			p[i] = 100
		}
	}
	return p
}

// TestTheSeasonThatIsSeen: a day from one point more than a day on, a week from eight days on.
func TestTheSeasonThatIsSeen(t *testing.T) {
	cfg := Config{Day: 4, Window: 100, Quantile: 0.9, Lead: 2}
	for n, want := range map[int][2]bool{1: {}, 4: {}, 5: {true, false}, 31: {true, false}, 32: {true, true}, 100: {true, true}, 200: {true, true}} {
		m := Fit(few(n), 1000, cfg)
		if day, week := m.Seasonal(); day != want[0] || week != want[1] {
			t.Errorf("after %d points a day was seen: %t, a week: %t", n, day, week)
		}
		if kept := min(n, 100); m.Known() != kept || m.first != int64(1000-kept) || len(m.values) != kept {
			t.Errorf("of %d points %d are known, from step %d on", n, m.Known(), m.first)
		}
	}
	if day, week := Fit(points{}, 100, cfg).Seasonal(); day || week {
		t.Error("a season of nothing was seen")
	}
}

// TestAFifthOfTheDaysAroundIsAnOutage: three days before and three after, of which the upper median counts.
func TestAFifthOfTheDaysAroundIsAnOutage(t *testing.T) {
	const high, low = 5.0, 1.0
	limit := high - collapse
	for _, tc := range []struct {
		reason string
		days   [7]float64 // the fourth is looked at
		gone   bool
	}{
		{"exactly a fifth", [7]float64{high, high, high, limit, high, high, high}, false},
		{"a little less", [7]float64{high, high, high, limit - 1e-9, high, high, high}, true},
		{"three high days of six", [7]float64{high, high, low, low, low, low, high}, true},
		{"the first of them is not known", [7]float64{math.NaN(), high, low, low, low, low, high}, false},
		{"the last of them is not known", [7]float64{high, high, low, low, low, low, math.NaN()}, false},
		{"none is known", [7]float64{math.NaN(), math.NaN(), math.NaN(), low, math.NaN(), math.NaN(), math.NaN()}, false},
	} {
		m := &Model{cfg: Config{Day: 2}}
		for _, v := range tc.days {
			m.values = append(m.values, v, low)
			m.known += 2
		}
		m.forget()
		want := 14
		if tc.gone {
			want--
		}
		if gone := math.IsNaN(m.values[6]); gone != tc.gone || m.values[7] != low || m.known != want {
			t.Errorf("%s: it is forgotten: %t, and %d of 14 are left", tc.reason, gone, m.known)
		}
	}
}

// TestWeightsOfModels: losses of 0.9 for what is one too low and of 0.1 for what is one too high, older ones at less weight, then to the
// power of -3. Four days are half of the weight, here sixteen steps.
func TestWeightsOfModels(t *testing.T) {
	older := math.Exp2(-1.0 / 16)
	m := &Model{cfg: Config{Day: 4, Quantile: 0.9}, values: []float64{9, 9, 1, 1}, known: 4}
	m.fits = [modelCount][]float64{{0, 0, 0, 1}, {0, 0, 1, 0}, {0, 0, 2, 2}}
	m.weigh()
	sum := 0.0
	var want [modelCount]float64
	for j, loss := range []float64{0.9 * older / (1 + older), 0.9 / (1 + older), 0.1} {
		want[j] = math.Pow(loss+1e-4, -3)
		sum += want[j]
	}
	for j := range want {
		if !equal(m.Weights[j], want[j]/sum) {
			t.Errorf("model %d has a weight of %v, want %v", j, m.Weights[j], want[j]/sum)
		}
	}
}

// TestWhatTheEnsembleMissed: three models that agree missed by 1 too low at first, by 1 too high then, and by 2 too low where nothing counts.
func TestWhatTheEnsembleMissed(t *testing.T) {
	older := math.Exp2(-1.0 / 16)
	m := &Model{cfg: Config{Day: 4, Quantile: 0.9}, values: []float64{9, 9, 1, 1}, known: 4}
	for j := range m.fits {
		m.fits[j] = []float64{7, 7, 0, 2}
	}
	m.weigh()
	want := []weighted{{-1, 1, 1}, {1, older, 1 + older}}
	if !slices.EqualFunc(m.residuals, want, func(a, b weighted) bool {
		return equal(a.value, b.value) && equal(a.weight, b.weight) && equal(a.sum, b.sum)
	}) || !equal(m.total, 1+older) {
		t.Errorf("it missed %v, in all %v", m.residuals, m.total)
	}
	if want := (0.9*older + 0.1) / (1 + older); !equal(m.Loss, want) {
		t.Errorf("the loss is %v, want %v", m.Loss, want)
	}
	long := &Model{cfg: Config{Day: 1, Quantile: 0.9}, values: []float64{9, 1, 1, 1}, known: 4}
	for j := range long.fits {
		long.fits[j] = make([]float64, 4)
	}
	if long.weigh(); len(long.residuals) != 3 {
		t.Errorf("of four steps, a day of one step aside, %d count", len(long.residuals))
	}
}

func TestPinballOfWhatIsMet(t *testing.T) {
	for _, tc := range [][4]float64{{5, 5, 0.9, 0}, {6, 5, 0.9, 0.9}, {5, 6, 0.9, 0.1}, {7, 5, 0.25, 0.5}, {5, 7, 0.25, 1.5}} {
		if got := Pinball(tc[0], tc[1], tc[2]); !equal(got, tc[3]) {
			t.Errorf("of %v where %v was forecast the loss is %v, want %v", tc[0], tc[1], got, tc[3])
		}
	}
}
