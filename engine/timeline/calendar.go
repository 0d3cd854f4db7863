package timeline

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline/recur"
)

// CalendarSpec describes a calendar: a set of days in the calendar's own zone, and events, which may have other zones
// and times.
type CalendarSpec struct {
	// TimeZone is an IANA name. Empty: UTC.
	TimeZone string
	// Dates are single days and ranges of days.
	Dates []v1alpha1.CalendarDate
	// Yearly are days that come back every year.
	Yearly []v1alpha1.CalendarYearly
	// Days are days that the caller has computed, such as the holidays of a country.
	Days []NamedDays
	// Events are the events of a calendar file.
	Events []Event
	// Include are other calendars. The calendar is on while one of them is on.
	Include []Timeline
}

// NamedDays are days with a name for messages.
type NamedDays struct {
	Days recur.Set
	Name string
}

// ParseCalendar returns the timeline that is on during the calendar's days, each from midnight to midnight of the
// calendar's own zone, and during its events. A state's name is "name: entry", or "name" if the entry has no name.
// Errors name the fields of CalendarSpec in lower case under fldPath.
func ParseCalendar(name string, spec CalendarSpec, fldPath *field.Path) (Timeline, field.ErrorList) {
	var errs field.ErrorList
	loc, err := LoadZone(spec.TimeZone)
	if err != nil {
		errs = append(errs, field.Invalid(fldPath.Child("timeZone"), spec.TimeZone, err.Error()))
	}
	var dates []span
	for i, d := range spec.Dates {
		s, dateErrs := parseDate(d, fldPath.Child("dates").Index(i))
		errs = append(errs, dateErrs...)
		s.label = entryLabel(name, d.Name)
		dates = append(dates, s)
	}
	var named []NamedDays
	for i, y := range spec.Yearly {
		days, yearlyErrs := recur.ParseYearly(y, fldPath.Child("yearly").Index(i))
		errs = append(errs, yearlyErrs...)
		named = append(named, NamedDays{days, y.Name})
	}
	if len(errs) > 0 {
		return Timeline{}, errs
	}
	days := []node{&stretches{merged: mergeSpans(dates), named: dates}, newYearlyDays(name, append(named, spec.Days...))}
	parts := []node{&wall{zone: zoneOf(loc), set: settle(newUnion(days, days))}}
	parts = append(parts, eventNodes(name, spec.Events, loc)...)
	for _, other := range spec.Include {
		parts = append(parts, other.node())
	}
	root := parts[0]
	if len(parts) > 1 {
		root = settle(newUnion(parts, parts))
	}
	return Timeline{root: root, text: fmt.Sprintf("calendar %s %s", name, loc)}, nil
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

func parseDate(d v1alpha1.CalendarDate, path *field.Path) (span, field.ErrorList) {
	ranged := d.Start != "" || d.End != ""
	switch {
	case d.Date != "" && ranged:
		return span{}, field.ErrorList{field.Forbidden(path.Child("date"), "may not be combined with start and end")}
	case d.Date == "" && !ranged:
		return span{}, field.ErrorList{field.Required(path.Child("date"), "set date, or start and end")}
	case d.Date != "":
		day, errs := recur.ParseDay(d.Date, path.Child("date"))
		return span{from: day, to: day + daySeconds}, errs
	}
	first, errs := recur.ParseDay(d.Start, path.Child("start"))
	last, endErrs := recur.ParseDay(d.End, path.Child("end"))
	if errs = append(errs, endErrs...); len(errs) > 0 {
		return span{}, errs
	}
	if last < first {
		return span{}, field.ErrorList{field.Invalid(path.Child("end"), d.End, "must not be before start")}
	}
	return span{from: first, to: last + daySeconds}, nil
}

// span is one half-open range of time or of the wall clock.
type span struct {
	from, to int64
	label    string
}

// mergeSpans returns the ranges in order. Ranges that touch or overlap become one range.
func mergeSpans(spans []span) []span {
	sorted := slices.Clone(spans)
	slices.SortFunc(sorted, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var merged []span
	for _, s := range sorted {
		if last := len(merged) - 1; last >= 0 && s.from <= merged[last].to {
			merged[last].to = max(merged[last].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// stretches is a rule that is on during some ranges of time or of the wall clock, such as a calendar's dates.
type stretches struct {
	merged []span // ascending, neither touching nor overlapping
	named  []span // as written; empty if the ranges of several windows were joined
}

func (r *stretches) state(at int64) (bool, string) {
	if on, _ := r.transition(at, forward); !on {
		return false, ""
	}
	for _, s := range r.named {
		if at >= s.from && at < s.to {
			return true, s.label
		}
	}
	return true, ""
}

func (r *stretches) transition(at int64, d direction) (bool, int64) {
	// The first range that ends after the instant contains the instant or follows it.
	i, _ := slices.BinarySearchFunc(r.merged, at+1, func(s span, end int64) int { return cmp.Compare(s.to, end) })
	on := i < len(r.merged) && r.merged[i].from <= at
	switch {
	case on && d == forward:
		return true, r.merged[i].to
	case on:
		return true, r.merged[i].from
	case d == forward && i < len(r.merged):
		return false, r.merged[i].from
	case d == backward && i > 0:
		return false, r.merged[i-1].to
	default:
		return false, d.farthest()
	}
}

// yearlyDays is the clock-face rule of days that repeat every year.
type yearlyDays struct {
	// set holds the days of all entries. others holds all other days.
	set, others recur.Set
	named       []NamedDays // as written, with the names of states
}

func newYearlyDays(calendar string, named []NamedDays) *yearlyDays {
	y := &yearlyDays{}
	var sets []recur.Set
	for _, n := range named {
		y.named = append(y.named, NamedDays{n.Days, entryLabel(calendar, n.Name)})
		sets = append(sets, n.Days)
	}
	y.set = recur.Any(sets...)
	y.others = recur.Others(y.set)
	return y
}

func (y *yearlyDays) state(reading int64) (bool, string) {
	day := recur.FloorDiv(reading, daySeconds)
	if len(y.named) == 0 || !recur.Has(y.set, day) {
		return false, ""
	}
	for _, n := range y.named {
		if recur.Has(n.Days, day) {
			return true, n.Name
		}
	}
	return false, ""
}

func (y *yearlyDays) transition(reading int64, d direction) (bool, int64) {
	if len(y.named) == 0 {
		return false, d.farthest()
	}
	on, _ := y.state(reading)
	turns := y.set // turns are the days in the other state
	if on {
		turns = y.others
	}
	day := recur.FloorDiv(reading, daySeconds)
	var ok bool
	if d == forward {
		day, ok = recur.From(turns, day)
	} else {
		day, ok = recur.UpTo(turns, day)
		day++ // the run begins on the day after the last day in the other state
	}
	if !ok {
		return on, d.farthest()
	}
	return on, day * daySeconds
}
