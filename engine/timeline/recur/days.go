// Package recur has the rules of the clock face: the wall-clock readings at which crons fire, and the days of the
// Gregorian calendar. Sets of days and crons are searched by bits of their fields, so the distance to the next day or
// firing does not matter. The package knows neither zones nor instants: a reading is the number of seconds that UTC
// would need to show the same date and time.
package recur

import (
	"math/bits"
	"time"
)

// Days are numbered from 1970-01-01, which is day 0 and a Thursday.

// month is one month of the proleptic Gregorian calendar.
type month struct {
	year   int
	number int   // 1 to 12
	first  int64 // the number of its first day
	length int   // in days
}

// gregorianMonths is the length of the Gregorian cycle of 400 years, after which dates and weekdays repeat. If a search
// over a whole cycle finds no day, no such day exists.
const (
	gregorianMonths = 400 * 12
	gregorianDays   = 146097
)

// monthOf returns the month of a day and the day of the month, 1 to 31.
func monthOf(day int64) (month, int) {
	year, number, dom := time.Unix(day*DaySeconds, 0).UTC().Date()
	return month{year: year, number: int(number), first: day - int64(dom) + 1, length: monthLength(year, int(number))}, dom
}

func (m month) next() month {
	n := month{year: m.year, number: m.number + 1, first: m.first + int64(m.length)}
	if n.number > 12 {
		n.year, n.number = n.year+1, 1
	}
	n.length = monthLength(n.year, n.number)
	return n
}

func (m month) previous() month {
	p := month{year: m.year, number: m.number - 1}
	if p.number < 1 {
		p.year, p.number = p.year-1, 12
	}
	p.length = monthLength(p.year, p.number)
	p.first = m.first - int64(p.length)
	return p
}

// weekday returns the weekday of the first day of the month, 0 for Sunday.
func (m month) weekday() int {
	const thursday = 4
	return int(FloorMod(m.first+thursday, 7))
}

// all returns the mask of every day of the month.
func (m month) all() uint32 { return (1<<m.length - 1) << 1 }

func monthLength(year, number int) int {
	switch number {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	default:
		return 31
	}
}

// Set is a set of calendar days that repeats with the Gregorian cycle.
type Set interface {
	// mask returns the days of the month that are in the set: bit 1 for the first, and so on.
	mask(month) uint32
}

// Has reports whether a day is in the set.
func Has(s Set, day int64) bool {
	m, dom := monthOf(day)
	return s.mask(m)>>dom&1 == 1
}

// From returns the first day of the set that is not before the given day.
func From(s Set, day int64) (int64, bool) { return (*Budget)(nil).From(s, day) }

// UpTo returns the last day of the set that is not after the given day.
func UpTo(s Set, day int64) (int64, bool) { return (*Budget)(nil).UpTo(s, day) }

// widestGap returns the longest distance between two neighbouring days of a set that is not empty. It looks at each
// month of the Gregorian cycle once, because everything repeats after the cycle.
func widestGap(s Set) (widest int64) {
	m, _ := monthOf(0)
	first, last := int64(-1), int64(0)
	for range gregorianMonths {
		for mask := s.mask(m); mask != 0; mask &= mask - 1 {
			day := m.first + int64(bits.TrailingZeros32(mask)) - 1
			if first < 0 {
				first, last = day, day
			}
			widest, last = max(widest, day-last), day
		}
		m = m.next()
	}
	return max(widest, first+gregorianDays-last)
}

// weeksDays are the days of one week in every so many weeks. Weeks begin on Monday.
type weeksDays struct {
	// every is the distance in weeks between two counted weeks. phase is the number of the first counted week; the week
	// of day 4, 1970-01-05, is week 0.
	every, phase int64
}

func (w weeksDays) mask(m month) (mask uint32) {
	const firstMonday = 4
	for week := FloorDiv(m.first-firstMonday, 7); week*7+firstMonday < m.first+int64(m.length); week++ {
		if FloorMod(week-w.phase, w.every) != 0 {
			continue
		}
		// The week may have begun in the previous month. So its days are shifted left by one more than the distance of
		// its Monday from the first of the month, plus 7, and then right by 7.
		mask |= uint32(uint64(allWeekdays) << (week*7 + firstMonday - m.first + 8) >> 7)
	}
	return mask & m.all()
}

// bothDays are the days that are in each of two sets.
type bothDays struct{ one, other Set }

func (b bothDays) mask(m month) uint32 { return b.one.mask(m) & b.other.mask(m) }

// Others returns the days that are not in the set.
func Others(s Set) Set { return otherDays{s} }

// otherDays are the days that are not in the set.
type otherDays struct{ set Set }

func (o otherDays) mask(m month) uint32 { return m.all() &^ o.set.mask(m) }

// daysWithout are the days of one set that are not in the other.
type daysWithout struct{ set, other Set }

func (d daysWithout) mask(m month) uint32 { return d.set.mask(m) &^ d.other.mask(m) }

func (d daysWithout) steps() int { return stepsOf(d.set) + stepsOf(d.other) }

// Lengths in seconds.
const (
	MinuteSeconds = 60
	DaySeconds    = 24 * 60 * MinuteSeconds
)

// FloorDiv returns the quotient rounded down.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// FloorMod returns the remainder of FloorDiv.
func FloorMod(a, b int64) int64 { return a - FloorDiv(a, b)*b }
