package forecast

import "math"

// Known is the number of points that were fitted to.
func (m *Model) Known() int { return m.known }

// Peak gives the forecast of the peak in a step, in milli-CPU; zero where nothing is known.
func (m *Model) Peak(step int64) float64 {
	if m.known == 0 {
		return 0
	}
	return math.Expm1(m.pattern(step))
}

// Upper gives what the peak in a step is not above, in a share q of all cases, in milli-CPU: the conformal quantile of what the
// ensemble missed at the lead, and no less than what the same step of past seasons had at least twice.
func (m *Model) Upper(step int64, q float64) float64 {
	if m.known == 0 {
		return 0
	}
	upper := m.pattern(step) + m.margin(q)
	return math.Expm1(max(upper, m.twice(step)))
}
