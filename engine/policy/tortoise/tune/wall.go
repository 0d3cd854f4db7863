package tune

import (
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/forecast"
	"flyball.dev/flyball/engine/policy/tortoise/usage"
)

// wall numbers steps by what the wall clock of a time zone shows, so that a season is a local day or week. Where the clock is set back steps have
// the numbers of an hour before again, and where it is set forward some numbers are never used. Nothing is kept in such numbers: history is kept
// in steps of Unix time.
type wall struct{ zone *time.Location }

// stepSeconds is the length of a step.
const stepSeconds = int64(usage.Step / time.Second)

// farthest is further than any zone is from UTC, in seconds.
const farthest = 26 * 60 * 60

func (w wall) isUTC() bool { return w.zone == nil || w.zone == time.UTC }

func (w wall) offset(unix int64) int64 {
	_, seconds := time.Unix(unix, 0).In(w.zone).Zone()
	return int64(seconds)
}

// step gives the local number of a step of Unix time.
func (w wall) step(step int64) int64 {
	if w.isUTC() {
		return step
	}
	return (step*stepSeconds + w.offset(step*stepSeconds)) / stepSeconds
}

// steps calls a function with the steps of Unix time that have a local number: one, two where the clock was set back, or none.
func (w wall) steps(local int64, yield func(step int64)) {
	if w.isUTC() {
		yield(local)
		return
	}
	reading := local * stepSeconds
	before, after := w.offset(reading-farthest), w.offset(reading+farthest)
	for _, offset := range []int64{before, after} {
		if step := (reading - offset + stepSeconds - 1) / stepSeconds; w.step(step) == local {
			yield(step)
		}
		if before == after {
			return
		}
	}
}

// HourOf gives the instant at which the hour of an instant began, on the wall clock of a zone; nil is UTC.
func HourOf(at time.Time, zone *time.Location) time.Time {
	w, unix := wall{zone}, at.Unix()
	if !w.isUTC() {
		unix -= (unix + w.offset(unix)) % int64(time.Hour/time.Second)
		return time.Unix(unix, 0)
	}
	return time.Unix(unix/3600*3600, 0)
}

// peaks reads the series of the scaled container by local steps, without a step of Unix time and all that come after it. An hour that was met twice
// has the larger of both peaks.
type peaks struct {
	*usage.Series
	wall
	until int64
}

// Peak implements forecast.Series.
func (p peaks) Peak(local int64) (peak float64, known bool) {
	p.steps(local, func(step int64) {
		if at := p.At(step); at.Known && step < p.until {
			peak, known = max(peak, at.Peak), true
		}
	})
	return peak, known
}

// outlook answers for steps of Unix time with what was found for local ones.
type outlook struct {
	*forecast.Outlook
	wall
	daily bool
}

func (o *outlook) Peak(step int64) float64  { return o.Outlook.Peak(o.step(step)) }
func (o *outlook) Upper(step int64) float64 { return o.Outlook.Upper(o.step(step)) }
func (o *outlook) Spike(step int64) float64 { return o.Outlook.Spike(o.step(step)) }

// fits says whether it was found for a spec's notion of a season.
func (o *outlook) fits(spec Spec) bool {
	return o.daily == spec.Daily && (o.zone == spec.Zone || o.isUTC() && wall{spec.Zone}.isUTC())
}
