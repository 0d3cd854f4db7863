package forecast

import "math"

// Outlook is what is kept of a fitted Model: its forecasts for the steps around now and for a season after, with one upper bound. It is
// much smaller than the model, which is made anew often enough. Numbers are those of the model, in single precision.
type Outlook struct {
	// Loss is the pinball loss of the ensemble, in logarithms.
	Loss float64
	// first is the step of the first forecast, end the first step that the model was not fitted to.
	first, end int64
	points     []point
	// margin is by how much the upper bound is above the forecast, spike that of two steps in a hundred; both as logarithms.
	margin, spike float64
	// season is the number of steps that repeat.
	season    int64
	day, week bool
	// level is by how much demand was off the ensemble since the fit, and sunk what it was at the fit: zero, but where a season is over.
	level, sunk float64
}

// point is the forecast of a step, and the second largest of what the same step had in past seasons, as logarithms.
type point struct{ pattern, twice float32 }

// follow is the share of a new deviation that moves the level.
const follow = 0.3

// before is how many steps before the end an Outlook knows: an hour.
const before = 6

// Outlook gives what is to be kept of a model whose upper bound is to hold in a share q of all cases, for a season and so many steps more.
func (m *Model) Outlook(q float64, more int) *Outlook {
	o := &Outlook{end: m.first + int64(len(m.values)), Loss: m.Loss}
	if m.known == 0 {
		return o
	}
	o.day, o.week = m.Seasonal()
	o.season, o.level, o.sunk = int64(m.season), m.sunk, m.sunk
	o.margin, o.spike, o.first = m.margin(q), m.margin(usualSteps), o.end-before
	o.points = make([]point, before+m.season+more)
	for i := range o.points {
		step := o.first + int64(i)
		o.points[i] = point{float32(m.pattern(step)), float32(m.twice(step))}
	}
	return o
}

// at gives the forecast of a step; beyond what is known it is that of a season before.
func (o *Outlook) at(step int64) point {
	i := step - o.first
	if n := int64(len(o.points)); i >= n {
		i = n - o.season + (i-n)%o.season
	}
	return o.points[max(i, 0)]
}

// known says whether anything was fitted to.
func (o *Outlook) known() bool { return len(o.points) > 0 }

// Seasonal says whether a day, or a week, of history was there.
func (o *Outlook) Seasonal() (day, week bool) { return o.day, o.week }

// Follow moves the level by what was seen since the fit, up to a step and without that step. It may be called again for later steps.
func (o *Outlook) Follow(s Series, until int64) {
	if !o.known() {
		return
	}
	o.level = o.sunk
	for step := o.end; step < until; step++ {
		if v, ok := s.Peak(step); ok {
			o.level += follow * (math.Log1p(v) - float64(o.at(step).pattern) - o.level)
		}
	}
}

// Peak gives the forecast of the peak in a step, in milli-CPU; zero where nothing is known.
func (o *Outlook) Peak(step int64) float64 {
	if !o.known() {
		return 0
	}
	return math.Expm1(float64(o.at(step).pattern) + o.level)
}

// Upper gives what the peak in a step is not above in the share of all cases that was asked for, in milli-CPU, and no less than what the
// same step of past seasons had at least twice.
func (o *Outlook) Upper(step int64) float64 {
	if !o.known() {
		return 0
	}
	at := o.at(step)
	return math.Expm1(max(float64(at.pattern)+o.level+o.margin, float64(at.twice)))
}

// Spike says what demand in a step will be where it was far above the usual twice: more than in all but two of a hundred steps. Zero: it
// was not.
func (o *Outlook) Spike(step int64) float64 {
	if !o.known() {
		return 0
	}
	if at := o.at(step); float64(at.twice) > float64(at.pattern)+o.level+o.spike {
		return math.Expm1(float64(at.twice))
	}
	return 0
}
