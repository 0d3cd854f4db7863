package timeline

import "time"

// repeat is a window that opens at every firing of a cron and stays open for a length of elapsed time. Openings that
// come while it is open, or at the moment it would close, prolong it.
type repeat struct {
	zone   zone
	cron   *cron
	length int64 // seconds
	label  string

	// hourly: the cron names every hour, so it also fires in the repeated hour of a fold.
	hourly bool
	// block: two firings of one day are never further apart than length, so a day is one stretch.
	block bool
	// seamless: no two firings are ever further apart than length on the clock face, so only a change of the zone's
	// offset can part them.
	seamless bool
}

func newRepeat(loc *time.Location, c *cron, length time.Duration, label string) node {
	r := &repeat{zone: zone{loc}, cron: c, length: int64(length / time.Second), label: label}
	r.hourly = c.hours == everyHour
	within := c.widestWithinDay()*minuteSeconds <= r.length
	r.block = within && c.firstMinute() != c.lastMinute()
	r.seamless = within && c.overnightWithin(r.length)
	if !r.seamless {
		return r
	}
	return settle(r)
}

func (r *repeat) state(at int64) (bool, string) {
	if at-r.previous(at) < r.length {
		return true, r.label
	}
	return false, ""
}

func (r *repeat) look(at int64, d direction) (bool, int64) {
	opened := r.previous(at) // an earlier opening would have closed earlier
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

// end returns the end of the run that the opening is part of.
func (r *repeat) end(opening int64) int64 {
	for limit := max(opening, steady) + gregorianSeconds; opening < limit; {
		opening = r.leapForward(opening)
		if opening == forever {
			return forever
		}
		next := r.next(opening)
		if next-opening > r.length {
			return opening + r.length
		}
		opening = next
	}
	return forever
}

// start returns the start of the run that the opening is part of.
func (r *repeat) start(opening int64) int64 {
	for opening > earliest {
		opening = r.leapBackward(opening)
		if opening == always {
			return always
		}
		previous := r.previous(opening - 1)
		if opening-previous > r.length {
			return opening
		}
		opening = previous
	}
	return always
}

// leapForward returns a later opening of the same run, as far ahead as is certain without looking at each.
func (r *repeat) leapForward(opening int64) int64 {
	if !r.block && !r.seamless {
		return opening
	}
	offset, end := r.zone.period(opening)
	switch {
	case r.seamless && end == forever:
		return forever
	case r.seamless:
		return r.previous(end - 1)
	case !r.cron.fires(opening + offset): // pushed here by a gap, perhaps from another day
		return opening
	default:
		midnight := (floorDiv(opening+offset, daySeconds)+1)*daySeconds - offset
		return r.previous(min(midnight, end) - 1)
	}
}

// leapBackward returns an earlier opening of the same run, as far back as is certain without looking at each.
func (r *repeat) leapBackward(opening int64) int64 {
	if !r.block && !r.seamless {
		return opening
	}
	offset, _ := r.zone.period(opening)
	start := r.zone.begin(opening)
	if r.seamless {
		if start == always {
			return always
		}
		return r.next(start - 1)
	}
	if !r.cron.fires(opening + offset) {
		return opening
	}
	midnight := floorDiv(opening+offset, daySeconds)*daySeconds - offset
	first := r.next(max(midnight, start) - 1)
	if !r.cron.fires(first + offset) {
		return r.next(first)
	}
	return first
}

// next returns the first opening strictly after the instant.
func (r *repeat) next(at int64) int64 {
	if r.hourly {
		return r.nextHourly(at)
	}
	reading, ok := r.cron.from(r.zone.high(at) + 1)
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
	reading, ok := r.cron.upTo(r.zone.high(at))
	if !ok {
		return always
	}
	opening, _ := r.zone.instant(reading)
	return opening
}

// nextHourly is next for a cron that fires again in a repeated hour: it looks for the reading in the period of one
// offset after the other. A reading skipped between two periods fires at the start of the second.
func (r *repeat) nextHourly(at int64) int64 {
	offset, end := r.zone.period(at)
	start, lowest := at+1, at+1+offset
	for {
		reading, ok := r.cron.from(lowest)
		if !ok {
			return forever
		}
		if opening := max(reading-offset, start); opening < end {
			return opening
		}
		before := offset
		start = end
		offset, end = r.zone.period(start)
		lowest = start + min(before, offset)
	}
}

// previousHourly is previous for a cron that fires again in a repeated hour.
func (r *repeat) previousHourly(at int64) int64 {
	offset, _ := r.zone.period(at)
	start, highest := r.zone.begin(at), at+offset
	for {
		reading, ok := r.cron.upTo(highest)
		if !ok {
			return always
		}
		if reading-offset >= start {
			return reading - offset
		}
		last := start - 1
		before, _ := r.zone.period(last)
		if reading > last+before { // skipped by the gap between the two periods
			return start
		}
		offset, start, highest = before, r.zone.begin(last), last+before
	}
}

// widestWithinDay returns the longest distance between two neighbouring firings of one day, in minutes.
func (c *cron) widestWithinDay() int64 {
	widest, last := 0, c.firstMinute()
	for {
		m, ok := c.minuteFrom(last + 1)
		if !ok {
			return int64(widest)
		}
		widest, last = max(widest, m-last), m
	}
}

// overnightWithin says whether the last firing of each day and the first of the next day that has one are always within
// the length, in seconds. The cycle walked is the whole of what there is to know.
func (c *cron) overnightWithin(length int64) bool {
	night := int64(c.lastMinute()-c.firstMinute()) * minuteSeconds
	apart := (length + night) / daySeconds // days
	if apart < 1 {
		return false
	}
	cycle := int64(gregorianSeconds / daySeconds)
	if days, ok := c.days.(*cronDays); ok && days.weekly() {
		cycle = 7
	}
	day, ok := dayFrom(c.days, 0)
	for first := day; ok && day < first+cycle; {
		next, found := dayFrom(c.days, day+1)
		if !found || next-day > apart {
			return false
		}
		day, ok = next, found
	}
	return ok
}
