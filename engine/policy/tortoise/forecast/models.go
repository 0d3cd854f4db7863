package forecast

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// adjust is the share of a new deviation that moves the level of a model, and carry the share of the level that a forecast keeps.
const (
	adjust = 0.15
	carry  = 0.9
)

// adjusted makes the fits of a model from its pattern: the pattern plus what the newest deviations were when the forecast had to be made.
func (m *Model) adjusted(pattern func(i int) float64) ([]float64, func(step int64) float64) {
	n := len(m.values)
	fit, level := make([]float64, n), make([]float64, n)
	now := 0.0
	for i := range m.values {
		p := pattern(i)
		fit[i] = p
		if i >= m.cfg.Lead {
			fit[i] += carry * level[i-m.cfg.Lead]
		}
		if v := m.values[i]; !math.IsNaN(v) {
			now += adjust * (v - p - now)
		}
		level[i] = now
	}
	return fit, func(step int64) float64 { return pattern(int(step-m.first)) + carry*now }
}

// seasonalNaive has what the last seasons had at the same step, the newest most: up to three of them, at 1, 0.6 and 0.36. Where no season
// was seen it takes the days before, and else the newest value.
func (m *Model) seasonalNaive() ([]float64, func(step int64) float64) {
	n := len(m.values)
	newest := make([]float64, n+1)
	for i, v := range m.values {
		newest[i+1] = newest[i]
		if !math.IsNaN(v) {
			newest[i+1] = v
		}
	}
	return m.adjusted(func(i int) float64 {
		for _, season := range [...]int{m.season, m.cfg.Day} {
			if v := m.past(i, season); !math.IsNaN(v) {
				return v
			}
		}
		return newest[min(max(i-m.cfg.Lead+1, 0), n)]
	})
}

// past is the mean of what the last three seasons had, NaN where there are none. Of steps yet to come it takes seasons before the end.
func (m *Model) past(i, season int) float64 {
	for i-season >= len(m.values) {
		i -= season
	}
	sum, weights, w := 0.0, 0.0, 1.0
	for back := i - season; back >= 0 && back > i-4*season; back -= season {
		if v := m.values[back]; !math.IsNaN(v) {
			sum, weights = sum+w*v, weights+w
		}
		w *= 0.6
	}
	if weights == 0 {
		return math.NaN()
	}
	return sum / weights
}

// Smoothing of level, trend and season, and how much of the trend is left after a step.
const (
	alpha, beta, gamma = 0.1, 0.0005, 0.2
	damped             = 0.998
)

// holtWinters is additive, in logarithms, with a damped trend. A step of the season that was not seen yet is as on the day before.
func (m *Model) holtWinters() ([]float64, func(step int64) float64) {
	n := len(m.values)
	season := make([]float64, m.season)
	for i := range season {
		season[i] = math.NaN()
	}
	index := func(i int) int { return (i%m.season + m.season) % m.season }
	part := func(i int) float64 {
		for back := 0; back < m.season; back += m.cfg.Day {
			if s := season[index(i-back)]; !math.IsNaN(s) {
				return s
			}
		}
		return 0
	}
	level := median(m.values[:min(n, m.cfg.Day)])
	if math.IsNaN(level) {
		level = 0
	}
	trend := 0.0
	fit, levels, trends := make([]float64, n), make([]float64, n), make([]float64, n)
	for i, v := range m.values {
		s := part(i)
		if origin := i - m.cfg.Lead; origin >= 0 {
			fit[i] = levels[origin] + float64(m.cfg.Lead)*trends[origin] + s
		} else {
			fit[i] = level // no season was seen yet
		}
		if !math.IsNaN(v) {
			before := level
			level += damped*trend + alpha*(v-s-level-damped*trend)
			trend = damped*trend + beta*(level-before-damped*trend)
			if k := index(i); math.IsNaN(season[k]) {
				season[k] = s + 0.5*(v-level-s)
				if s == 0 {
					season[k] = v - level
				}
			} else {
				season[k] += gamma * (v - level - season[k])
			}
		}
		levels[i], trends[i] = level, trend
	}
	return fit, func(step int64) float64 {
		i := int(step - m.first)
		return level + min(float64(i-n+1), float64(m.cfg.Day))*trend + part(i)
	}
}

// harmonics is the number of harmonics of a day, and ridge keeps the normal equations solvable.
const (
	harmonics = 6
	ridge     = 1.0
)

// harmonic is a regression on sines and cosines of the day, on the day of the week where weeks were seen, and on time.
func (m *Model) harmonic() ([]float64, func(step int64) float64) {
	n, day := len(m.values), m.cfg.Day
	weekly := m.season > day
	width := 2 + 2*harmonics
	if weekly {
		width += 6
	}
	table := make([]float64, day*2*harmonics)
	for i := range day {
		for k := range harmonics {
			angle := 2 * math.Pi * float64((k+1)*i) / float64(day)
			table[i*2*harmonics+2*k], table[i*2*harmonics+2*k+1] = math.Sin(angle), math.Cos(angle)
		}
	}
	row := func(i int, x []float64) {
		at := m.first + int64(i)
		x[0], x[1] = 1, min(float64(i)/float64(n), 1)
		of := int(((at % int64(day)) + int64(day)) % int64(day))
		copy(x[2:], table[of*2*harmonics:(of+1)*2*harmonics])
		if weekly {
			clear(x[2+2*harmonics:])
			if d := int(at / int64(day) % 7); d > 0 {
				x[1+2*harmonics+d] = 1
			}
		}
	}
	xx, xy, x := make([]float64, width*width), make([]float64, width), make([]float64, width)
	for i, v := range m.values {
		if math.IsNaN(v) {
			continue
		}
		row(i, x)
		for a, xa := range x {
			if xa == 0 {
				continue
			}
			xy[a] += xa * v
			for b := a; b < width; b++ {
				xx[a*width+b] += xa * x[b]
			}
		}
	}
	for a := range width {
		xx[a*width+a] += ridge
	}
	coefficients := mat.NewVecDense(width, nil)
	var factors mat.Cholesky
	if !factors.Factorize(mat.NewSymDense(width, xx)) || factors.SolveVecTo(coefficients, mat.NewVecDense(width, xy)) != nil {
		coefficients.Zero()
	}
	c := coefficients.RawVector().Data
	return m.adjusted(func(i int) float64 {
		row(i, x)
		sum := 0.0
		for a, xa := range x {
			sum += c[a] * xa
		}
		return sum
	})
}
