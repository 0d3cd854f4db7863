package timeline

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CalendarSpec is a set of days, in a zone of its own.
type CalendarSpec struct {
	// TimeZone is an IANA name. Empty: UTC.
	TimeZone string
	// Dates are single days and ranges of days.
	Dates []DateSpec
	// Yearly are days that come back every year.
	Yearly []YearlySpec
}

// DateSpec is one day (Date) or a range of days (Start to End, both included), written 2006-01-02.
type DateSpec struct {
	Date, Start, End string
	// Name says what the day is, for messages.
	Name string
}

// YearlySpec is a day of every year. 29 February comes in leap years only.
type YearlySpec struct {
	// Month is 1 to 12, Day 1 to 31.
	Month, Day int
	// Name says what the day is, for messages.
	Name string
}

// ParseCalendar returns the timeline that is on during the calendar's days, each from midnight to midnight of the
// calendar's own zone. A state's name is "name: entry", or the name alone where the entry has none. Errors name the
// fields timeZone, dates[i].date, dates[i].start, dates[i].end, yearly[i].month and yearly[i].day under fldPath.
func ParseCalendar(name string, spec CalendarSpec, fldPath *field.Path) (Timeline, field.ErrorList) {
	var errs field.ErrorList
	loc, err := LoadZone(spec.TimeZone)
	if err != nil {
		errs = append(errs, field.Invalid(fldPath.Child("timeZone"), spec.TimeZone, err.Error()))
	}
	c := &calendar{}
	for i, d := range spec.Dates {
		span, dateErrs := parseDate(d, fldPath.Child("dates").Index(i))
		errs = append(errs, dateErrs...)
		span.label = entryLabel(name, d.Name)
		c.named = append(c.named, span)
	}
	for i, y := range spec.Yearly {
		errs = append(errs, validateYearly(y, fldPath.Child("yearly").Index(i))...)
		if len(errs) == 0 {
			c.yearly[y.Month] |= 1 << y.Day
			c.anniversaries = append(c.anniversaries, anniversary{y.Month, y.Day, entryLabel(name, y.Name)})
		}
	}
	if len(errs) > 0 {
		return Timeline{}, errs
	}
	c.ranges = mergeDays(c.named)
	return Timeline{
		root: settle(&wall{zone: zone{loc}, set: c}), // every day of the year may be listed
		text: fmt.Sprintf("calendar %s %s", name, loc),
	}, nil
}

func entryLabel(calendar, entry string) string {
	switch {
	case entry == "":
		return calendar
	case calendar == "":
		return entry
	default:
		return calendar + ": " + entry
	}
}

func parseDate(d DateSpec, path *field.Path) (daySpan, field.ErrorList) {
	ranged := d.Start != "" || d.End != ""
	switch {
	case d.Date != "" && ranged:
		return daySpan{}, field.ErrorList{field.Forbidden(path.Child("date"), "may not be combined with start and end")}
	case d.Date == "" && !ranged:
		return daySpan{}, field.ErrorList{field.Required(path.Child("date"), "set date, or start and end")}
	case d.Date != "":
		day, errs := parseDay(d.Date, path.Child("date"))
		return daySpan{from: day, to: day + 1}, errs
	}
	first, errs := parseDay(d.Start, path.Child("start"))
	last, endErrs := parseDay(d.End, path.Child("end"))
	if errs = append(errs, endErrs...); len(errs) > 0 {
		return daySpan{}, errs
	}
	if last < first {
		return daySpan{}, field.ErrorList{field.Invalid(path.Child("end"), d.End, "must not be before start")}
	}
	return daySpan{from: first, to: last + 1}, nil
}

func parseDay(text string, path *field.Path) (int64, field.ErrorList) {
	if text == "" {
		return 0, field.ErrorList{field.Required(path, "a date such as 2026-12-24")}
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return 0, field.ErrorList{field.Invalid(path, text, "must be a date such as 2026-12-24")}
	}
	return floorDiv(t.Unix(), daySeconds), nil
}

func validateYearly(y YearlySpec, path *field.Path) field.ErrorList {
	if y.Month < 1 || y.Month > 12 {
		return field.ErrorList{field.Invalid(path.Child("month"), y.Month, "must be 1 to 12")}
	}
	const leapYear = 2000
	if length := monthLength(leapYear, y.Month); y.Day < 1 || y.Day > length {
		return field.ErrorList{field.Invalid(path.Child("day"), y.Day, fmt.Sprintf("must be 1 to %d in this month", length))}
	}
	return nil
}

// daySpan is a range of days, half-open.
type daySpan struct {
	from, to int64
	label    string
}

type anniversary struct {
	month, day int
	label      string
}

// calendar is the wall-clock set of a calendar's days.
type calendar struct {
	ranges        []daySpan // ascending, neither touching nor overlapping
	yearly        yearDays
	named         []daySpan // as written
	anniversaries []anniversary
}

// mergeDays returns the ranges in order, with those that touch or overlap made one.
func mergeDays(spans []daySpan) []daySpan {
	sorted := slices.Clone(spans)
	slices.SortFunc(sorted, func(a, b daySpan) int { return int(a.from - b.from) })
	var merged []daySpan
	for _, s := range sorted {
		if last := len(merged) - 1; last >= 0 && s.from <= merged[last].to {
			merged[last].to = max(merged[last].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

func (c *calendar) state(reading int64) (bool, string) {
	day := floorDiv(reading, daySeconds)
	for _, s := range c.named {
		if day >= s.from && day < s.to {
			return true, s.label
		}
	}
	if len(c.anniversaries) == 0 {
		return false, ""
	}
	m, dom := monthOf(day)
	for _, a := range c.anniversaries {
		if a.month == m.number && a.day == dom {
			return true, a.label
		}
	}
	return false, ""
}

func (c *calendar) look(reading int64, d direction) (bool, int64) {
	day := floorDiv(reading, daySeconds)
	on := c.has(day)
	var ok bool
	switch {
	case on && d == forward:
		day, ok = c.end(day)
	case on:
		day, ok = c.start(day)
	case d == forward:
		day, ok = c.nextStart(day)
	default:
		day, ok = c.previousEnd(day)
	}
	if !ok {
		return on, d.farthest()
	}
	return on, day * daySeconds
}

func (c *calendar) has(day int64) bool {
	if _, in := c.rangeOf(day); in {
		return true
	}
	next, ok := c.yearlyFrom(day)
	return ok && next == day
}

// yearlyFrom is dayFrom for the yearly days.
func (c *calendar) yearlyFrom(day int64) (int64, bool) {
	if len(c.anniversaries) == 0 {
		return 0, false
	}
	return dayFrom(&c.yearly, day)
}

// yearlyUpTo is dayUpTo for the yearly days.
func (c *calendar) yearlyUpTo(day int64) (int64, bool) {
	if len(c.anniversaries) == 0 {
		return 0, false
	}
	return dayUpTo(&c.yearly, day)
}

// rangeOf returns the index of the range that holds the day, or of the first after it.
func (c *calendar) rangeOf(day int64) (int, bool) {
	i, _ := slices.BinarySearchFunc(c.ranges, day, func(s daySpan, day int64) int {
		if s.to <= day {
			return -1
		}
		return 1
	})
	return i, i < len(c.ranges) && c.ranges[i].from <= day
}

// end returns the first day after the given one that is not in the calendar.
func (c *calendar) end(day int64) (int64, bool) {
	off := otherDays{&c.yearly}
	for {
		if i, in := c.rangeOf(day); in {
			day = c.ranges[i].to
		}
		free, ok := dayFrom(off, day)
		if !ok {
			return 0, false
		}
		if _, in := c.rangeOf(free); !in {
			return free, true
		}
		day = free
	}
}

// start returns the first day of the run of calendar days that holds the given one.
func (c *calendar) start(day int64) (int64, bool) {
	off := otherDays{&c.yearly}
	for {
		if i, in := c.rangeOf(day); in {
			day = c.ranges[i].from - 1
		}
		free, ok := dayUpTo(off, day)
		if !ok {
			return 0, false
		}
		if _, in := c.rangeOf(free); !in {
			return free + 1, true
		}
		day = free
	}
}

// nextStart returns the first calendar day after a day that is none.
func (c *calendar) nextStart(day int64) (int64, bool) {
	next, ok := c.yearlyFrom(day)
	if i, _ := c.rangeOf(day); i < len(c.ranges) && (!ok || c.ranges[i].from < next) {
		return c.ranges[i].from, true
	}
	return next, ok
}

// previousEnd returns the first day after the last calendar day before a day that is none.
func (c *calendar) previousEnd(day int64) (int64, bool) {
	last, ok := c.yearlyUpTo(day)
	end := last + 1
	if i, _ := c.rangeOf(day); i > 0 && (!ok || c.ranges[i-1].to > end) {
		return c.ranges[i-1].to, true
	}
	return end, ok
}
