package timeline

import (
	"math"
	"slices"

	"flyball.dev/flyball/engine/timeline/recur"
)

// occurrences is the rule of a recurring event by the rules of RFC 5545, which differ from those of windows: a start inside a
// spring-forward gap has the offset from before the gap (section 3.3.5), days of the length are days of the clock, and the rest is
// elapsed time (section 3.3.6).
type occurrences struct {
	zone *zone
	days recur.Set
	// left are the days that are left out of the days.
	left recur.Listed
	// first and last are the first and the last day that count.
	first, last int64
	// from is the time of the start in seconds after midnight. The length has nominal seconds, which are whole days, and elapsed ones.
	from, nominal, elapsed int64
	label                  string
}

// rfcInstant returns the first instant when the zone's clock shows the reading. A skipped reading has the offset from before the gap.
func (z *zone) rfcInstant(reading int64) int64 {
	at, exact := z.instant(reading)
	if exact {
		return at
	}
	before, _, _ := z.period(at - 1)
	return reading - before
}

func (n *occurrences) start(day int64) int64 { return n.zone.rfcInstant(day*daySeconds + n.from) }

func (n *occurrences) end(day int64) int64 {
	return n.zone.rfcInstant(day*daySeconds+n.from+n.nominal) + n.elapsed
}

// after returns the first occurrence after a day.
func (n *occurrences) after(day int64) (int64, bool) {
	next, ok := recur.From(n.days, max(day+1, n.first))
	return next, ok && next <= n.last
}

// before returns the last occurrence before a day.
func (n *occurrences) before(day int64) (int64, bool) {
	last, ok := recur.UpTo(n.days, min(day-1, n.last))
	return last, ok && last >= n.first
}

// latest returns the last occurrence with a start that is not after the instant. A later occurrence never ends earlier, so it is
// the only one of interest.
func (n *occurrences) latest(at int64) (day int64, ok bool) {
	for day, ok = n.before(recur.FloorDiv(at+maxOffset, daySeconds) + 1); ok && n.start(day) > at; {
		day, ok = n.before(day)
	}
	return day, ok
}

func (n *occurrences) state(at int64) (bool, string) {
	if day, ok := n.latest(at); ok && at < n.end(day) {
		return true, n.label
	}
	return false, ""
}

func (n *occurrences) transition(at int64, d direction) (bool, int64) {
	day, ok := n.latest(at)
	on := ok && at < n.end(day)
	switch {
	case on && d == forward:
		return true, n.runEnd(day)
	case on:
		return true, n.runStart(day)
	case d == backward:
		return false, orFarthest(n.end(day), ok, d)
	case !ok:
		day = math.MinInt64 / daySeconds
	}
	next, ok := n.after(day)
	return false, orFarthest(n.start(next), ok, d)
}

// runEnd returns the end of the run of occurrences, without a time between them, that contains an occurrence. After maxLooks
// occurrences, which cover all seasons, only a day that is left out can end the run.
func (n *occurrences) runEnd(day int64) int64 {
	for looks := 0; ; looks++ {
		next, ok := n.after(day)
		if end := n.end(day); !ok || n.start(next) > end {
			return end
		}
		if day = next; looks < maxLooks {
			continue
		}
		i, _ := slices.BinarySearch(n.left, day)
		switch {
		case i < len(n.left) && n.left[i] <= n.last:
			day, _ = n.before(n.left[i])
			looks = 0
		case n.last == noLast:
			return forever
		default:
			return n.end(n.last)
		}
	}
}

// runStart returns the start of the run that contains an occurrence.
func (n *occurrences) runStart(day int64) int64 {
	for looks := 0; ; looks++ {
		last, ok := n.before(day)
		if !ok || n.end(last) < n.start(day) {
			return n.start(day)
		}
		if day = last; looks < maxLooks {
			continue
		}
		i, _ := slices.BinarySearch(n.left, day)
		if i == 0 || n.left[i-1] < n.first {
			return n.start(n.first)
		}
		day, _ = n.after(n.left[i-1])
		looks = 0
	}
}
