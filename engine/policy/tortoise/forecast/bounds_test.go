package forecast

import (
	"math"
	"testing"
)

// flat is a model that forecasts a constant, as a logarithm, and missed as told; each residual has one weight.
func flat(log, weight float64, missed ...float64) *Model {
	m := &Model{cfg: Config{Day: 10, Quantile: 0.9}, known: 1, season: 10, Weights: [modelCount]float64{0.5, 0.25, 0.25}}
	for i := range m.ahead {
		m.ahead[i] = func(int64) float64 { return log }
	}
	for _, v := range missed {
		m.total += weight
		m.residuals = append(m.residuals, weighted{value: v, weight: weight, sum: m.total})
	}
	return m
}

var nine = []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}

// TestTheMarginIsAQuantile of what was missed and of one more that is infinite; beyond all, the largest grows by 12 in the weight.
func TestTheMarginIsAQuantile(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		m       *Model
		q, want float64
	}{
		{"five are too few", flat(0, 1, nine[:5]...), 0.1, math.Ln2},
		{"six are enough: 0.1 * 7 is within the first", flat(0, 1, nine[:6]...), 0.1, 0.1},
		{"0.5 * 10 is exactly the fifth", flat(0, 1, nine...), 0.5, 0.5},
		{"0.51 * 10 is within the sixth", flat(0, 1, nine...), 0.51, 0.6},
		{"0.9 * 10 is the last", flat(0, 1, nine...), 0.9, 0.9},
		{"beyond the last, few", flat(0, 1, nine...), 0.95, 0.9 + math.Ln2},
		{"beyond the last, of 36", flat(0, 4, nine...), 0.99, 0.9 + math.Ln2/3},
		{"what was too high needs no margin", flat(0, 1, -7, -6, -5, -4, -3, -2), 0.5, 0},
		{"nor does it beyond the last", flat(0, 1, -7, -6, -5, -4, -3, -2), 1, math.Ln2},
	} {
		if got := tc.m.margin(tc.q); !equal(got, tc.want) {
			t.Errorf("%s: it is %v, want %v", tc.reason, got, tc.want)
		}
		if got, want := tc.m.Upper(100, tc.q), math.Expm1(tc.want); !equal(got, want) {
			t.Errorf("%s: the upper bound is %v, want %v", tc.reason, got, want)
		}
	}
}

// TestTheBestQuantile: of nine residuals, the one at place k costs exp(0.1 k) and the price times (9 - k) / 9. Its quantile is k / 10.
func TestTheBestQuantile(t *testing.T) {
	for _, price := range []float64{0, 5, 12, 14, 16, 18, 100} {
		best, at := math.Inf(1), 0.0
		for k := 1.0; k <= 9; k++ {
			if cost := math.Exp(0.1*k) + price*(9-k)/9; cost < best {
				best, at = cost, k/10
			}
		}
		if got := flat(0, 1, nine...).Best(price); !equal(got, at) {
			t.Errorf("at a price of %v it is %v, want %v", price, got, at)
		}
	}
	if few, enough := flat(0, 1, nine[:5]...).Best(0), flat(0, 1, nine[:6]...).Best(0); few != 1 || !equal(enough, 1.0/7) {
		t.Errorf("of five it is %v, of six %v", few, enough)
	}
	if got := flat(0, 1, -3, -2, -1, -1, -1, -1).Best(0); !equal(got, 1.0/7) {
		t.Errorf("where all cost the same it is %v, not the first", got)
	}
}

func at(m *Model, values map[int]float64) *Model {
	m.values = make([]float64, 40)
	for i := range m.values {
		m.values[i] = math.NaN()
	}
	for i, v := range values {
		m.values[i] = v
	}
	return m
}

// TestWhatCameTwice is the second largest of the same step in the last three seasons: of step 45, those at 35, 25 and 15.
func TestWhatCameTwice(t *testing.T) {
	none := math.Inf(-1)
	for _, tc := range []struct {
		values map[int]float64
		want   float64
	}{
		{map[int]float64{35: 3, 25: 1, 15: 2}, 2},
		{map[int]float64{35: 1, 25: 2, 15: 3}, 2},
		{map[int]float64{35: 2, 25: 3, 15: 1}, 2},
		{map[int]float64{35: 3, 25: 3, 15: 1}, 3},
		{map[int]float64{35: 3, 25: 2}, 2},
		{map[int]float64{25: -1, 15: -2}, -2},
		{map[int]float64{35: 3}, none},
		{map[int]float64{35: 3, 5: 2}, none},
		{map[int]float64{34: 3, 26: 2}, none},
		{nil, none},
	} {
		if got := at(flat(0, 1), tc.values).twice(45); got != tc.want {
			t.Errorf("of %v it is %v, want %v", tc.values, got, tc.want)
		}
	}
	m := at(flat(0, 1), map[int]float64{0: 7, 39: 8})
	m.first = 100
	if m.at(100) != 7 || m.at(139) != 8 || !math.IsNaN(m.at(99)) || !math.IsNaN(m.at(140)) {
		t.Error("the values are not those of the steps from the first on")
	}
}

// TestASpikeIsFarAboveTheUsual: what came twice must be above the pattern by more than what steps without a spike are, and a fifth and a
// little besides.
func TestASpikeIsFarAboveTheUsual(t *testing.T) {
	usual := flat(0, 1, nine...).margin(usualSteps) + aboveUsual
	for came, want := range map[float64]bool{usual - 0.01: false, usual: false, usual + 0.01: true} {
		if got := at(flat(0, 1, nine...), map[int]float64{25: came, 35: came}).Spiky(); got != want {
			t.Errorf("with %v where %v is usual it is spiky: %t", came, usual, got)
		}
	}
}

// TestSpikesOfTheSeasonToCome: the steps from 40 to 49 count, and not what the pattern is before or after them.
func TestSpikesOfTheSeasonToCome(t *testing.T) {
	for step, want := range map[int64]bool{39: false, 40: true, 45: true, 49: true, 50: false} {
		m := at(flat(9, 1, nine...), nil)
		for i := range m.values {
			m.values[i] = 8
		}
		for i := range m.ahead {
			m.ahead[i] = func(s int64) float64 {
				if s == step {
					return 0
				}
				return 9
			}
		}
		if got := m.Spiky(); got != want {
			t.Errorf("far above the pattern in step %d, it is spiky: %t", step, got)
		}
	}
}
