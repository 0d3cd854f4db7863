package recur

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
)

// Filter selects some days of a window's weekdays, by its fields months, dayOfMonth, nth and weeks: the days that match all
// set fields.
type Filter v1alpha1.Window

// Fields returns the names of the fields that are set, each with a comma before it.
func (f Filter) Fields() string {
	text := ""
	for _, part := range []struct {
		name string
		set  bool
	}{
		{"months", len(f.Months) > 0}, {"weeks", f.Weeks != nil},
		{"dayOfMonth", len(f.DayOfMonth) > 0}, {"nth", len(f.Nth) > 0},
	} {
		if part.set {
			text += ", " + part.name
		}
	}
	return text
}

// Parse returns the days of the weekdays (Monday first) that pass the filter, in words and as a set. An empty filter
// gives no set.
func (f Filter) Parse(weekdays [7]bool, path *field.Path) (text string, days Set, errs field.ErrorList) {
	if f.Fields() == "" {
		return weekdaysText(weekdays), nil, nil
	}
	base := &cronDays{dom: allDates, months: allMonths, dow: weekdaysMask(weekdays)}
	errs = f.parseMonths(base, path.Child("months"))
	dates, datesErrs := f.parseDates(path.Child("dayOfMonth"))
	nth, nthErrs := f.parseNth(path.Child("nth"))
	weeks, weeksErrs := f.parseWeeks(path.Child("weeks"))
	if errs = slices.Concat(errs, datesErrs, nthErrs, weeksErrs); len(errs) > 0 {
		return "", nil, errs
	}
	days = base
	for _, set := range []Set{dates, nth, weeks} {
		if set != nil {
			days = bothDays{days, set}
		}
	}
	text = f.words(weekdays)
	if _, ok := From(days, 0); !ok {
		return "", nil, field.ErrorList{field.Invalid(path, text, "no day is like that, so the window never opens")}
	}
	return text, days, nil
}

func (f Filter) parseMonths(days *cronDays, path *field.Path) (errs field.ErrorList) {
	if len(f.Months) == 0 {
		return nil
	}
	days.months = 0
	for i, n := range f.Months {
		switch {
		case n < 1 || n > 12:
			errs = append(errs, field.Invalid(path.Index(i), n, "must be 1 to 12"))
		case days.months>>n&1 == 1:
			errs = append(errs, field.Duplicate(path.Index(i), n))
		default:
			days.months |= 1 << n
		}
	}
	return errs
}

func (f Filter) parseDates(path *field.Path) (Set, field.ErrorList) {
	if len(f.DayOfMonth) == 0 {
		return nil, nil
	}
	var errs field.ErrorList
	p := &monthPlaces{}
	days := &cronDays{months: allMonths, dow: allWeekdays, places: p}
	for i, n := range f.DayOfMonth {
		switch {
		case n == 0 || n < -31 || n > 31:
			errs = append(errs, field.Invalid(path.Index(i), n,
				"must be 1 to 31, or -1 to -31 counted from the end of the month: -1 is the last day"))
		case n > 0:
			days.dom |= 1 << n
		default:
			p.last |= 1 << -n
		}
	}
	return days, errs
}

func (f Filter) parseNth(path *field.Path) (Set, field.ErrorList) {
	if len(f.Nth) == 0 {
		return nil, nil
	}
	var errs field.ErrorList
	p := &monthPlaces{}
	for i, n := range f.Nth {
		errs = append(errs, p.addNth(n, path.Index(i))...)
	}
	return &cronDays{dom: allDates, months: allMonths, places: p}, errs
}

// addNth adds a weekday by its place in the month.
func (p *monthPlaces) addNth(n v1alpha1.NthDay, path *field.Path) field.ErrorList {
	day := slices.Index(weekdayNames(), string(n.Day))
	if day < 0 {
		return field.ErrorList{field.NotSupported(path.Child("day"), n.Day, weekdayNames())}
	}
	dow := uint8(1) << ((day + 1) % 7)
	switch {
	case n.Week >= 1 && int(n.Week) <= len(p.nth):
		p.nth[n.Week-1] |= dow
	case n.Week <= -1 && int(n.Week) >= -len(p.nthLast):
		p.nthLast[-n.Week-1] |= dow
	default:
		return field.ErrorList{field.Invalid(path.Child("week"), n.Week,
			"must be 1 to 5, or -1 to -5 counted from the end of the month: -1 is the last")}
	}
	return nil
}

// maxWeeks is the largest distance of selected weeks. With it, each month of the year has a selected week within a
// few years, so a search for such a week is short. With 52 weeks, some months would have no selected week for 270
// years.
const maxWeeks = 12

func (f Filter) parseWeeks(path *field.Path) (Set, field.ErrorList) {
	if f.Weeks == nil {
		return nil, nil
	}
	var errs field.ErrorList
	if f.Weeks.Every < 2 || f.Weeks.Every > maxWeeks {
		errs = append(errs, field.Invalid(path.Child("every"), f.Weeks.Every, fmt.Sprintf("must be 2 to %d", maxWeeks)))
	}
	if len(f.DayOfMonth)+len(f.Nth) > 0 {
		errs = append(errs, field.Forbidden(path, "counts weeks, where dayOfMonth and nth count within a month: leave one of them out"))
	}
	starting, startErrs := ParseDay(f.Weeks.Starting, path.Child("starting"))
	if errs = append(errs, startErrs...); len(errs) > 0 {
		return nil, errs
	}
	return weeksDays{every: int64(f.Weeks.Every), phase: weekOf(starting / DaySeconds)}, nil
}

// weekOf returns the number of the week, from Monday to Sunday, of a day. The week of 1970-01-05 is week 0.
func weekOf(day int64) int64 {
	const firstMonday = 4
	return FloorDiv(day-firstMonday, 7)
}

// weekdaysMask returns a mask of weekdays (bit 0: Sunday).
func weekdaysMask(days [7]bool) (mask uint8) {
	for day, on := range days {
		if on {
			mask |= 1 << ((day + 1) % 7)
		}
	}
	return mask
}

// words returns the days in the order in which people say them: "Fri every 2 weeks from 2026-01-05", "last Fri in
// Jan,Feb", "day 1,-1".
func (f Filter) words(weekdays [7]bool) string {
	var parts []string
	if text := weekdaysText(weekdays); text != "daily" || len(f.Nth)+len(f.DayOfMonth) == 0 {
		parts = append(parts, text)
	}
	if len(f.Nth) > 0 {
		parts = append(parts, joined(f.Nth, func(n v1alpha1.NthDay) string { return placeText(int(n.Week)) + " " + string(n.Day) }))
	}
	if len(f.DayOfMonth) > 0 {
		parts = append(parts, "day "+joined(f.DayOfMonth, func(n v1alpha1.DayOfMonth) string { return strconv.Itoa(int(n)) }))
	}
	if f.Weeks != nil {
		parts = append(parts, fmt.Sprintf("every %d weeks from %s", f.Weeks.Every, f.Weeks.Starting))
	}
	if len(f.Months) > 0 {
		parts = append(parts, "in "+joined(f.Months, func(n int32) string { return time.Month(n).String()[:3] }))
	}
	return strings.Join(parts, " ")
}

func joined[T any](list []T, text func(T) string) string {
	parts := make([]string, len(list))
	for i, each := range list {
		parts[i] = text(each)
	}
	return strings.Join(parts, ",")
}

// placeText returns a place in the month as text: "1st", "last", "2nd last".
func placeText(n int) string {
	ordinals := []string{"1st", "2nd", "3rd", "4th", "5th"}
	switch {
	case n == -1:
		return "last"
	case n < 0 && -n <= len(ordinals):
		return ordinals[-n-1] + " last"
	case n > 0 && n <= len(ordinals):
		return ordinals[n-1]
	default:
		return strconv.Itoa(n)
	}
}

// ParseDay returns the reading of the day's midnight.
func ParseDay(text string, path *field.Path) (int64, field.ErrorList) {
	if text == "" {
		return 0, field.ErrorList{field.Required(path, "a date such as 2026-12-24")}
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return 0, field.ErrorList{field.Invalid(path, text, "must be a date such as 2026-12-24")}
	}
	return t.Unix(), nil
}
