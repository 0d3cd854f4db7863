package timeline

import (
	"time"

	"flyball.dev/flyball/engine/timeline/recur"
)

// repeat is a window that opens at every firing of a cron and stays open for a length of elapsed time. A firing while
// the window is open, or at the moment when it would close, keeps it open for the length again.
type repeat struct {
	zone   *zone
	cron   *recur.Cron
	length int64 // seconds
	label  string

	// hourly is true if the cron names every hour. Such a cron also fires in an hour that a fall-back repeats.
	hourly  bool
	stretch stretch
}

// stretch is the rule by which openings are known to belong to one run. In a stretch, neighbouring openings are never
// further apart than the length of the window. So only the first and the last opening of a stretch are looked at.
type stretch uint8

const (
	// oneOpening: each opening counts by itself, because the next may be any time away.
	oneOpening stretch = iota
	// oneDay: the openings of one day with the same offset of the zone are one stretch.
	oneDay
	// oneOffset: all openings between two changes of the zone's offset are one stretch.
	oneOffset
)

func newRepeat(loc *time.Location, c *recur.Cron, length time.Duration, label string) node {
	r := &repeat{zone: zoneOf(loc), cron: c, length: int64(length / time.Second), label: label}
	r.hourly = c.HasEveryHour()
	switch overnight := c.WidestOvernight(); {
	case c.WidestWithinDay()*minuteSeconds > r.length:
		return r
	case overnight+2*maxOffset <= r.length: // this holds whatever the zone's clock does overnight
		return &settled{node: r, from: always}
	case overnight <= r.length:
		r.stretch = oneOffset
		return settle(r)
	default:
		r.stretch = oneDay
		return r
	}
}

func (r *repeat) state(at int64) (bool, string) {
	if at-r.previous(at) < r.length {
		return true, r.label
	}
	return false, ""
}

func (r *repeat) transition(at int64, d direction) (bool, int64) {
	opened := r.previous(at) // the window of an earlier opening would have closed earlier
	on := at-opened < r.length
	switch {
	case on && d == forward:
		return true, r.end(opened)
	case on:
		return true, r.start(opened)
	case d == forward:
		return false, r.next(at)
	default:
		return false, opened + r.length
	}
}

// end returns the end of the run that contains the opening.
func (r *repeat) end(opening int64) int64 {
	cycle := int64(gregorianSeconds)
	if r.stretch == oneOffset && r.length < yearSeconds {
		cycle = seasonsSeconds
	}
	for limit := max(opening, steady) + cycle; opening < limit; {
		last := r.lastOfStretch(opening)
		if last == forever {
			return forever
		}
		opening = r.next(last)
		if opening-last > r.length {
			return last + r.length
		}
	}
	return forever
}

const (
	yearSeconds = 365 * daySeconds
	// seasonsSeconds is the length after which a run is known to be endless, if the window is shorter than a year.
	// Within this time, the changes of the zone's clock have met every kind of year, followed by every kind of year
	// that can follow it: kinds of years repeat after 28 years, except around a century without a leap day.
	seasonsSeconds = 64 * 366 * daySeconds
)

// start returns the start of the run that contains the opening.
func (r *repeat) start(opening int64) int64 {
	for opening > earliest {
		first := r.firstOfStretch(opening)
		if first == always {
			return always
		}
		opening = r.previous(first - 1)
		if first-opening > r.length {
			return first
		}
	}
	return always
}

// lastOfStretch returns the last opening of the stretch that contains the opening.
func (r *repeat) lastOfStretch(opening int64) int64 {
	if r.stretch == oneOpening {
		return opening
	}
	offset, _, end := r.zone.period(opening)
	switch {
	case r.stretch == oneOffset && end == forever:
		return forever
	case r.stretch == oneOffset:
		return r.previous(end - 1)
	case !r.cron.Fires(opening + offset): // a gap has moved the opening here, perhaps from another day
		return opening
	}
	return r.previous(min(midnight(opening+offset)+daySeconds-offset, end) - 1)
}

// firstOfStretch returns the first opening of the stretch that contains the opening.
func (r *repeat) firstOfStretch(opening int64) int64 {
	if r.stretch == oneOpening {
		return opening
	}
	offset, begin, _ := r.zone.period(opening)
	switch {
	case r.stretch == oneOffset && begin == always:
		return always
	case r.stretch == oneOffset:
		return r.next(begin - 1)
	case !r.cron.Fires(opening + offset): // a gap has moved the opening here, perhaps from another day
		return opening
	}
	first := r.next(max(midnight(opening+offset)-offset, begin) - 1)
	if !r.cron.Fires(first + offset) { // a gap has moved the first opening of the day here
		return r.next(first)
	}
	return first
}

// midnight returns the reading of the midnight at which the reading's day begins.
func midnight(reading int64) int64 { return recur.FloorDiv(reading, daySeconds) * daySeconds }

// next returns the first opening strictly after the instant.
func (r *repeat) next(at int64) int64 {
	if r.hourly {
		return r.nextHourly(at)
	}
	reading, ok := r.cron.From(r.zone.high(at) + 1)
	if !ok {
		return forever
	}
	opening, _ := r.zone.instant(reading)
	return opening
}

// previous returns the last opening at or before the instant.
func (r *repeat) previous(at int64) int64 {
	if r.hourly {
		return r.previousHourly(at)
	}
	reading, ok := r.cron.UpTo(r.zone.high(at))
	if !ok {
		return always
	}
	opening, _ := r.zone.instant(reading)
	return opening
}

// nextHourly does the work of next for a cron that fires again in a repeated hour. It looks for the reading in one
// period of equal offset after the other. A reading that is skipped between two periods fires at the start of the
// second period.
func (r *repeat) nextHourly(at int64) int64 {
	offset, _, end := r.zone.period(at)
	start := at + 1
	lowest := start + offset
	for {
		reading, ok := r.cron.From(lowest)
		if !ok {
			return forever
		}
		if opening := max(reading-offset, start); opening < end {
			return opening
		}
		before := offset
		start = end
		offset, _, end = r.zone.period(start)
		lowest = start + min(before, offset)
	}
}

// previousHourly does the work of previous for a cron that fires again in a repeated hour.
func (r *repeat) previousHourly(at int64) int64 {
	offset, start, _ := r.zone.period(at)
	highest := at + offset
	for {
		reading, ok := r.cron.UpTo(highest)
		if !ok {
			return always
		}
		if reading-offset >= start {
			return reading - offset
		}
		last := start - 1
		before, beforeStart, _ := r.zone.period(last)
		if reading > last+before { // the gap between the two periods skips the reading
			return start
		}
		offset, start, highest = before, beforeStart, last+before
	}
}
