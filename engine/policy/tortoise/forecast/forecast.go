// Package forecast says what demand will be, from its series: an ensemble of three textbook models, weighted by how well each has
// done lately, and an upper bound that has held as often as it should have. Everything is a pure function of the series, so that a
// restart changes nothing.
//
// Values are logarithms inside (log of 1 + milli-CPU): noise and events multiply demand, and the models add.
//
// Sources: seasonal naive and Holt-Winters are as in Hyndman and Athanasopoulos, Forecasting: Principles and Practice, chapters 5 and 8;
// pinball loss in chapter 5.9 there; harmonic (dynamic Fourier) regression in chapter 10.5. The upper bound is split conformal
// prediction: Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, with weights for age as in Barber et al., Conformal
// prediction beyond exchangeability (2023).
package forecast

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Series has points, each of one step.
type Series interface {
	// Peak gives the peak of the demand in a step in milli-CPU, and false where that is not known.
	Peak(step int64) (float64, bool)
}

// Config says how the series is read.
type Config struct {
	// Day is the number of steps of a day; Window how many steps are looked at.
	Day, Window int
	// Quantile is what the models are weighted for, 0 to 1.
	Quantile float64
	// Lead is how many steps ahead of the newest point a forecast must be good.
	Lead int
	// Daily says that there are no weeks.
	Daily bool
}

// Default looks at four weeks of steps of ten minutes, and two steps ahead.
func Default() Config { return Config{Day: 144, Window: 28 * 144, Quantile: 0.9, Lead: 2} }

// modelCount is the number of models.
const modelCount = 3

// Model is a fitted ensemble.
type Model struct {
	cfg    Config
	first  int64
	values []float64 // NaN: unknown
	season int       // steps of the season that was found: a day or a week
	fits   [modelCount][]float64
	ahead  [modelCount]func(step int64) float64
	// Weights of the models; they sum to 1. Loss is the pinball loss of the ensemble, in logarithms.
	Weights [modelCount]float64
	Loss    float64
	// residuals of the ensemble at the lead, with the weight of their age, ascending.
	residuals []weighted
	total     float64
	known     int
	// over says that the season is over: it holds no more than what has been there since. Sunk is by how much demand is off the ensemble then.
	over bool
	sunk float64
}

// weighted is a residual; sum is its weight and that of all that are smaller.
type weighted struct{ value, weight, sum float64 }

// Fit fits the models to a series up to a step, without that step.
func Fit(s Series, until int64, cfg Config) *Model {
	m := &Model{cfg: cfg, first: until - int64(cfg.Window)}
	m.values = make([]float64, cfg.Window)
	begin := -1
	for i := range m.values {
		m.values[i] = math.NaN()
		if v, ok := s.Peak(m.first + int64(i)); ok {
			m.values[i] = math.Log1p(v)
			m.known++
			if begin < 0 {
				begin = i
			}
		}
	}
	if begin < 0 {
		m.values = nil
		return m
	}
	m.first += int64(begin)
	m.values = m.values[begin:]
	lately := slices.Clone(m.values[max(len(m.values)-cfg.Day, 0):])
	m.forget()
	m.season = cfg.Day
	if !cfg.Daily && len(m.values) >= 8*cfg.Day {
		m.season = 7 * cfg.Day
	}
	m.fits[0], m.ahead[0] = m.seasonalNaive()
	m.fits[1], m.ahead[1] = m.holtWinters()
	m.fits[2], m.ahead[2] = m.harmonic()
	m.weigh()
	m.end(lately)
	return m
}

// end finds out whether the season is over: demand has been less than a fifth of what came twice at the same steps of past weeks, for a day and in each
// step of the last hour. An outage is shorter, and demand that comes back ends it. Seasons of a day are forgotten after two of them anyway. The values
// of the last day, outages included, are lately.
func (m *Model) end(lately []float64) {
	if m.season != 7*m.cfg.Day {
		return
	}
	first := m.first + int64(len(m.values)-len(lately))
	var below, off []float64
	for i, v := range lately {
		step := first + int64(i)
		is := v - m.twice(step)
		if math.IsNaN(is) || math.IsInf(is, 0) {
			continue
		}
		if i >= len(lately)-m.cfg.Day/24 && is >= -collapse {
			return
		}
		below, off = append(below, is), append(off, v-m.pattern(step))
	}
	if 2*len(below) > m.cfg.Day && median(below) < -collapse {
		m.over, m.sunk = true, median(off)
	}
}

// collapse is how far below the same step of other days demand is when it did not fail to come but could not: a fifth, as a logarithm.
var collapse = math.Log(5)

// forget makes unknown what was an outage, so that no model learns one: less than a fifth of what the median of the days around had.
func (m *Model) forget() {
	out := make([]bool, len(m.values))
	around := make([]float64, 0, 6)
	for i, v := range m.values {
		around = around[:0]
		for back := -3; back <= 3; back++ {
			if at := i + back*m.cfg.Day; back != 0 && at >= 0 && at < len(m.values) {
				around = append(around, m.values[at])
			}
		}
		out[i] = v < median(around)-collapse
	}
	for i := range out {
		if out[i] {
			m.values[i] = math.NaN()
			m.known--
		}
	}
}

// Seasonal says whether a day, or a week, of history is there.
func (m *Model) Seasonal() (day, week bool) {
	return len(m.values) > m.cfg.Day, m.season == 7*m.cfg.Day
}

// pattern gives the point forecast of a step as a logarithm.
func (m *Model) pattern(step int64) float64 {
	sum := 0.0
	for i, f := range m.ahead {
		sum += m.Weights[i] * f(step)
	}
	return sum
}

// usualSteps is the share of steps that no spike is in.
const usualSteps = 0.98

// margin is the weighted quantile of the residuals; one more that is infinite has the weight of a new point, so the share is that of the
// points to come. Where there are too few for the share, the largest grows by how few there are.
func (m *Model) margin(q float64) float64 {
	if len(m.residuals) < 6 {
		return math.Ln2
	}
	want := q * (m.total + 1)
	if i := sort.Search(len(m.residuals), func(i int) bool { return m.residuals[i].sum >= want }); i < len(m.residuals) {
		return max(m.residuals[i].value, 0)
	}
	last := max(m.residuals[len(m.residuals)-1].value, 0)
	return last + math.Ln2*min(1, 12/m.total)
}

// aboveUsual is by how much a spike is above what is usual, as a logarithm, for a demand to count as spiky: a fifth and a little.
const aboveUsual = 0.2

// Spiky says whether the season to come has a step of which the past says twice that demand is far above the usual then.
func (m *Model) Spiky() bool {
	if m.known == 0 {
		return false
	}
	usual := m.margin(usualSteps) + aboveUsual
	end := m.first + int64(len(m.values))
	for step := end; step < end+int64(m.season); step++ {
		if m.twice(step) > m.pattern(step)+usual {
			return true
		}
	}
	return false
}

// Best gives the quantile at which capacity that is held for the upper bound and steps in which demand is above it cost least together. A
// share of steps above it costs price times as much as the same share of the expected demand. It is the newsvendor's choice: the more
// regular the demand, the cheaper it is to be on the safe side.
func (m *Model) Best(price float64) float64 {
	if len(m.residuals) < 6 {
		return 1
	}
	best, quantile := math.Inf(1), 1.0
	for _, r := range m.residuals {
		if cost := math.Exp(max(r.value, 0)) + price*(1-r.sum/m.total); cost < best {
			best, quantile = cost, r.sum/(m.total+1)
		}
	}
	return quantile
}

// twice gives the second largest of what the same step had in past seasons, lowered by nothing: what came twice comes again. It is
// minus infinity where there were not two, or the season is over.
func (m *Model) twice(step int64) float64 {
	if m.over {
		return math.Inf(-1)
	}
	had := make([]float64, 0, 3)
	for back := range int64(cap(had)) {
		if v := m.at(step - (back+1)*int64(m.season)); !math.IsNaN(v) {
			had = append(had, v)
		}
	}
	if len(had) < 2 {
		return math.Inf(-1)
	}
	slices.Sort(had)
	return had[len(had)-2]
}

// at gives a known value, or NaN.
func (m *Model) at(step int64) float64 {
	i := step - m.first
	if i < 0 || i >= int64(len(m.values)) {
		return math.NaN()
	}
	return m.values[i]
}

const (
	// lossSteps is the half-life of losses and residuals in days.
	lossDays = 4
	// sharpness makes the better models count for more: weights are losses to this power, negative.
	sharpness = 3
)

// weigh weights the models by their pinball losses, older ones at less weight, and then collects what the ensemble missed.
func (m *Model) weigh() {
	n := len(m.values)
	skip := min(m.cfg.Day, n/2)
	var loss [modelCount]float64
	age := func(i int) float64 { return math.Exp2(-float64(n-1-i) / float64(lossDays*m.cfg.Day)) }
	sum := 0.0
	for i := skip; i < n; i++ {
		if v := m.values[i]; !math.IsNaN(v) {
			w := age(i)
			sum += w
			for j := range m.fits {
				loss[j] += w * Pinball(v, m.fits[j][i], m.cfg.Quantile)
			}
		}
	}
	all := 0.0
	for j := range loss {
		m.Weights[j] = math.Pow(loss[j]/max(sum, 1)+1e-4, -sharpness)
		all += m.Weights[j]
	}
	for j := range m.Weights {
		m.Weights[j] /= all
	}
	m.residuals = make([]weighted, 0, m.known)
	for i := skip; i < n; i++ {
		if v := m.values[i]; !math.IsNaN(v) {
			fit := 0.0
			for j := range m.fits {
				fit += m.Weights[j] * m.fits[j][i]
			}
			m.residuals = append(m.residuals, weighted{value: v - fit, weight: age(i)})
			m.total += age(i)
			m.Loss += age(i) * Pinball(v, fit, m.cfg.Quantile) / max(sum, 1)
		}
	}
	slices.SortFunc(m.residuals, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	smaller := 0.0
	for i := range m.residuals {
		smaller += m.residuals[i].weight
		m.residuals[i].sum = smaller
	}
	m.fits = [modelCount][]float64{} // a model lives for hours, and nobody looks at them any more
}

// Pinball is the loss of a forecast of a quantile: q for each unit too low, 1-q for each too high.
func Pinball(actual, forecast, q float64) float64 {
	return max(q*(actual-forecast), (q-1)*(actual-forecast))
}

// median of what is known among values; NaN where there is nothing.
func median(values []float64) float64 {
	known := values[:0:0]
	for _, v := range values {
		if !math.IsNaN(v) {
			known = append(known, v)
		}
	}
	if len(known) == 0 {
		return math.NaN()
	}
	slices.Sort(known)
	return known[len(known)/2]
}
