package recur

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
)

// Frequency is the period of a Recurrence.
type Frequency uint8

// These are the periods of at least a day.
const (
	Daily Frequency = iota
	Weekly
	Monthly
	Annual
)

// Place is a weekday (0 for Sunday). If Nth is not 0, it is the weekday's place in the month or the year, counted from
// the end if negative.
type Place struct{ Weekday, Nth int }

// Recurrence is a recurrence rule of RFC 5545, section 3.3.10: the days on which an event begins. The caller handles
// UNTIL and COUNT.
type Recurrence struct {
	Frequency Frequency
	// Interval is the distance between two counted periods; 0: 1.
	Interval int
	// Start is the day, by number, of the first period.
	Start int64
	// WeekStart is the weekday on which weeks begin; 0 is Sunday.
	WeekStart int
	// Months, MonthDays and Weekdays select some of the days of a period. Negative MonthDays count from the end of the
	// month. If all are empty, the days follow from the day of Start.
	Months, MonthDays []int
	Weekdays          []Place
	// Positions select some of the remaining days of a month or a year by their number, counted from the end if negative.
	Positions []int
}

// Parse returns the days of the rule, including the days before its start. If the budget ends, it returns no error, and the budget is over.
func (r Recurrence) Parse(budget *Budget) (Set, error) {
	r.Interval = max(r.Interval, 1)
	placed := slices.ContainsFunc(r.Weekdays, func(p Place) bool { return p.Nth != 0 })
	switch {
	case r.Interval > maxInterval:
		return nil, fmt.Errorf("INTERVAL may be at most %d", maxInterval)
	case r.Interval > maxWeeks && r.Frequency <= Weekly && len(r.Months)+len(r.MonthDays) > 0:
		return nil, fmt.Errorf("INTERVAL may be at most %d with BYMONTH or BYMONTHDAY: the next day would be decades away", maxWeeks)
	case placed && (r.Frequency == Daily || r.Frequency == Weekly):
		return nil, errors.New("BYDAY has a number only with FREQ=MONTHLY or YEARLY")
	case len(r.Positions) > 0 && r.Frequency != Monthly && r.Frequency != Annual:
		return nil, errors.New("BYSETPOS is read with FREQ=MONTHLY or YEARLY only")
	}
	m, dom := monthOf(r.Start)
	if len(r.MonthDays)+len(r.Weekdays) == 0 {
		switch r.Frequency {
		case Annual:
			if len(r.Months) == 0 {
				r.Months = []int{m.number}
			}
			r.MonthDays = []int{dom}
		case Monthly:
			r.MonthDays = []int{dom}
		case Weekly:
			r.Weekdays = []Place{{Weekday: weekdayOf(r.Start)}}
		}
	}
	days := newRecurringDays(r, m)
	if _, ok := budget.From(days, r.Start); !ok && !budget.IsOver() {
		return nil, errors.New("no day is like that")
	}
	return days, nil
}

// maxInterval bounds Interval, so that searches for the next day of a rule stay short.
const maxInterval = 366

// recurringDays are the days of a Recurrence. Its lists are bits, so the length of a list does not matter for a search.
type recurringDays struct {
	rule                Recurrence
	start               month
	byMonth             uint32
	dates, datesFromEnd uint32
	// weekdays has a bit for each weekday without a number. nth and nthLast have for each weekday the bits of its numbers.
	weekdays     uint8
	nth, nthLast [7]uint64
	// positions and lastPositions have the bits of Positions.
	positions, lastPositions [6]uint64
	// last has the days of the last year that was asked for, if the rule selects positions in years.
	last atomic.Pointer[yearDates]
}

func newRecurringDays(r Recurrence, start month) *recurringDays {
	days := &recurringDays{rule: r, start: start, byMonth: maskOf(r.Months)}
	for _, n := range r.MonthDays {
		if n > 0 {
			days.dates |= 1 << n
		} else {
			days.datesFromEnd |= 1 << -n
		}
	}
	for _, p := range r.Weekdays {
		switch {
		case p.Nth == 0:
			days.weekdays |= 1 << p.Weekday
		case p.Nth > 0:
			days.nth[p.Weekday] |= 1 << p.Nth
		default:
			days.nthLast[p.Weekday] |= 1 << -p.Nth
		}
	}
	for _, n := range r.Positions {
		if n > 0 {
			days.positions[n/64] |= 1 << (n % 64)
		} else {
			days.lastPositions[-n/64] |= 1 << (-n % 64)
		}
	}
	return days
}

func maskOf(list []int) (mask uint32) {
	for _, n := range list {
		mask |= 1 << n
	}
	return mask
}

func weekdayOf(day int64) int {
	const thursday = 4
	return int(FloorMod(day+thursday, 7))
}

func (d *recurringDays) mask(m month) uint32 {
	switch {
	case len(d.rule.Positions) == 0:
		return d.all(m)
	case d.rule.Frequency == Monthly:
		mask := d.all(m)
		return d.placed(mask, 0, bits.OnesCount32(mask))
	default:
		return d.yearOf(m).days[m.number-1]
	}
}

// yearDates are the days of a rule in a year.
type yearDates struct {
	year int
	days [12]uint32
}

// yearOf returns the days in the year of a month. The last year is kept, because a search asks for its months one after the other.
func (d *recurringDays) yearOf(m month) *yearDates {
	if known := d.last.Load(); known != nil && known.year == m.year {
		return known
	}
	y, count, before := &yearDates{year: m.year}, 0, 0
	each, _ := monthOf(m.first - int64(dayOfYear(m, 1)) + 1)
	for i := range y.days {
		y.days[i] = d.all(each)
		count += bits.OnesCount32(y.days[i])
		each = each.next()
	}
	for i, mask := range y.days {
		y.days[i] = d.placed(mask, before, count)
		before += bits.OnesCount32(mask)
	}
	d.last.Store(y)
	return y
}

// all returns the days of a month before positions are selected.
func (d *recurringDays) all(m month) (mask uint32) {
	r := &d.rule
	switch {
	case d.byMonth != 0 && d.byMonth>>m.number&1 == 0:
		return 0
	case r.Frequency == Annual && (m.year-d.start.year)%r.Interval != 0:
		return 0
	case r.Frequency == Monthly && ((m.year-d.start.year)*12+m.number-d.start.number)%r.Interval != 0:
		return 0
	}
	weekday := m.weekday()
	before, length := 0, m.length // the days before the month and all days, of the period in which weekdays have a number
	if r.Frequency == Annual && len(r.Months) == 0 {
		before, length = dayOfYear(m, 1)-1, 365+monthLength(m.year, 2)-28
	}
	for dom := 1; dom <= m.length; dom++ {
		if d.inPeriod(m.first+int64(dom)-1) && d.isDate(m, dom) && d.isWeekday((weekday+dom-1)%7, before+dom, length) {
			mask |= 1 << dom
		}
	}
	return mask
}

func (d *recurringDays) inPeriod(day int64) bool {
	r := &d.rule
	switch r.Frequency {
	case Daily:
		return (day-r.Start)%int64(r.Interval) == 0
	case Weekly:
		return (d.week(day)-d.week(r.Start))%int64(r.Interval) == 0
	default:
		return true
	}
}

// week returns the number of the week of a day. Day 0 is a Thursday.
func (d *recurringDays) week(day int64) int64 {
	const thursday = 4
	return FloorDiv(day+thursday-int64(d.rule.WeekStart), 7)
}

func (d *recurringDays) isDate(m month, dom int) bool {
	return len(d.rule.MonthDays) == 0 || d.dates>>dom&1 == 1 || d.datesFromEnd>>(m.length+1-dom)&1 == 1
}

// isWeekday reports whether the weekday of a day is selected. The day is day n of a period of some days.
func (d *recurringDays) isWeekday(weekday, n, days int) bool {
	place, fromEnd := (n+6)/7, (days-n)/7+1
	return len(d.rule.Weekdays) == 0 || d.weekdays>>weekday&1 == 1 || d.nth[weekday]>>place&1 == 1 || d.nthLast[weekday]>>fromEnd&1 == 1
}

func dayOfYear(m month, dom int) int {
	for number := 1; number < m.number; number++ {
		dom += monthLength(m.year, number)
	}
	return dom
}

// placed returns the days of a mask that are at the rule's positions. before days of the period come before the mask, and the
// period has count days.
func (d *recurringDays) placed(mask uint32, before, count int) (taken uint32) {
	for i := before + 1; mask != 0; i++ {
		day := mask & -mask
		mask &^= day
		fromEnd := count + 1 - i
		if d.positions[i/64]>>(i%64)&1 == 1 || d.lastPositions[fromEnd/64]>>(fromEnd%64)&1 == 1 {
			taken |= day
		}
	}
	return taken
}

// steps are two for a rule with positions, which are selected from the days of the month.
func (d *recurringDays) steps() int { return 1 + min(len(d.rule.Positions), 1) }
