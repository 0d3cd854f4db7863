package timeline

import (
	"math/bits"
	"time"
)

// Days are numbered from 1970-01-01, which is day 0 and a Thursday.

// month is one month of the proleptic Gregorian calendar.
type month struct {
	year   int
	number int   // 1 to 12
	first  int64 // the day number of its first day
	length int   // in days
}

// gregorianMonths is the length of the Gregorian cycle of 400 years, after which dates and weekdays repeat. A search
// over a whole cycle that finds nothing has proved that there is nothing.
const gregorianMonths = 400 * 12

// monthOf returns the month of a day and the day of the month, 1 to 31.
func monthOf(day int64) (month, int) {
	year, number, dom := time.Unix(day*daySeconds, 0).UTC().Date()
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
	return int(floorMod(m.first+thursday, 7))
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

// daySet is a set of calendar days that repeats with the Gregorian cycle.
type daySet interface {
	// mask returns the days of the month that are in the set: bit 1 for the first, and so on.
	mask(month) uint32
}

// dayFrom returns the first day of the set that is not before the given one.
func dayFrom(s daySet, day int64) (int64, bool) {
	m, dom := monthOf(day)
	mask := s.mask(m) >> dom << dom
	for range gregorianMonths + 1 {
		if mask != 0 {
			return m.first + int64(bits.TrailingZeros32(mask)) - 1, true
		}
		m = m.next()
		mask = s.mask(m)
	}
	return 0, false
}

// dayUpTo returns the last day of the set that is not after the given one.
func dayUpTo(s daySet, day int64) (int64, bool) {
	m, dom := monthOf(day)
	mask := s.mask(m) & (1<<(dom+1) - 1)
	for range gregorianMonths + 1 {
		if mask != 0 {
			return m.first + int64(bits.Len32(mask)) - 2, true
		}
		m = m.previous()
		mask = s.mask(m)
	}
	return 0, false
}

// cronDays are the day fields of a cron expression.
type cronDays struct {
	dom    uint32 // bits 1 to 31
	months uint16 // bits 1 to 12
	dow    uint8  // bits 0 (Sunday) to 6
	either bool   // both day fields are restricted: a day in either of them counts
}

// widestGap returns the longest distance between two neighbouring days of a set that has some. It looks at each month of the Gregorian cycle
// once, after which everything repeats.
func widestGap(s daySet) (widest int64) {
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
	return max(widest, first+gregorianSeconds/daySeconds-last)
}

const allWeekdays = 1<<7 - 1

func (c *cronDays) mask(m month) uint32 {
	if c.months>>m.number&1 == 0 {
		return 0
	}
	first := m.weekday()
	week := (uint64(c.dow)>>first | uint64(c.dow)<<(7-first)) & allWeekdays
	// The week of the first day, repeated over 35 days and moved to bit 1.
	weekdays := uint32((week * (1 | 1<<7 | 1<<14 | 1<<21 | 1<<28)) << 1)
	if c.either {
		return (c.dom | weekdays) & m.all()
	}
	return c.dom & weekdays & m.all()
}

// yearDays are days of the year, by month and day of the month. 29 February exists in leap years only.
type yearDays [13]uint32

func (y *yearDays) mask(m month) uint32 { return y[m.number] & m.all() }

// otherDays are the days that are not in the set.
type otherDays struct{ set daySet }

func (o otherDays) mask(m month) uint32 { return m.all() &^ o.set.mask(m) }

// daysWithout are the days of one set that are not in the other.
type daysWithout struct{ set, other daySet }

func (d daysWithout) mask(m month) uint32 { return d.set.mask(m) &^ d.other.mask(m) }

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }
