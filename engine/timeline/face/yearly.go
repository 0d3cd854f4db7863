package face

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
)

// ParseYearly returns the days of an entry of a calendar. 29 February exists in leap years only. Errors name the fields
// under path.
func ParseYearly(y v1alpha1.CalendarYearly, path *field.Path) (Set, field.ErrorList) {
	if errs := validateInLieu(y.InLieu, path); len(errs) > 0 {
		return nil, errs
	}
	if y.Easter != nil {
		return parseEaster(y, path)
	}
	if y.Month < 1 || y.Month > 12 {
		return nil, field.ErrorList{field.Invalid(path.Child("month"), y.Month, "must be 1 to 12")}
	}
	if y.Nth != nil {
		return parseNthOfYear(y, path)
	}
	errs := validateDay(v1alpha1.CalendarDay{Month: y.Month, Day: y.Day}, path)
	days := &yearDays{}
	switch {
	case y.Until == nil:
	case y.InLieu != "":
		errs = append(errs, field.Forbidden(path.Child("inLieu"), "moves a single day: leave it out of a range"))
	default:
		errs = append(errs, validateDay(*y.Until, path.Child("until"))...)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	days[y.Month] |= 1 << y.Day
	if y.Until != nil {
		days.addRange(v1alpha1.CalendarDay{Month: y.Month, Day: y.Day}, *y.Until)
	}
	if y.InLieu != "" {
		return movedDays{days}, nil
	}
	return days, nil
}

func validateInLieu(in v1alpha1.InLieu, path *field.Path) field.ErrorList {
	if in == "" || in == v1alpha1.InLieuMonday {
		return nil
	}
	return field.ErrorList{field.NotSupported(path.Child("inLieu"), in, []v1alpha1.InLieu{v1alpha1.InLieuMonday})}
}

func parseEaster(y v1alpha1.CalendarYearly, path *field.Path) (Set, field.ErrorList) {
	const most = 60
	switch offset := int(*y.Easter); {
	case y.Month != 0 || y.Day != 0 || y.Until != nil || y.Nth != nil:
		return nil, field.ErrorList{field.Forbidden(path.Child("easter"), "does not go with month, day, until and nth: make two entries")}
	case offset < -most || offset > most:
		return nil, field.ErrorList{field.Invalid(path.Child("easter"), offset,
			fmt.Sprintf("must be -%d to %d days from Easter Sunday", most, most))}
	case y.InLieu != "":
		return movedDays{easterDays{offset}}, nil
	default:
		return easterDays{offset}, nil
	}
}

func parseNthOfYear(y v1alpha1.CalendarYearly, path *field.Path) (Set, field.ErrorList) {
	switch {
	case y.Day != 0 || y.Until != nil:
		return nil, field.ErrorList{field.Forbidden(path.Child("nth"), "does not go with day and until: make two entries")}
	case y.InLieu != "":
		return nil, field.ErrorList{field.Forbidden(path.Child("inLieu"), "moves a date: leave it out where the weekday is given")}
	}
	p := &monthPlaces{}
	if errs := p.addNth(*y.Nth, path.Child("nth")); len(errs) > 0 {
		return nil, errs
	}
	days := &nthDays{}
	days[y.Month] = *p
	return days, nil
}

func validateDay(d v1alpha1.CalendarDay, path *field.Path) field.ErrorList {
	const leapYear = 2000
	if d.Month < 1 || d.Month > 12 {
		return field.ErrorList{field.Invalid(path.Child("month"), d.Month, "must be 1 to 12")}
	}
	if length := monthLength(leapYear, int(d.Month)); d.Day < 1 || int(d.Day) > length {
		return field.ErrorList{field.Invalid(path.Child("day"), d.Day, fmt.Sprintf("must be 1 to %d in this month", length))}
	}
	return nil
}

// yearDays are days of the year, by month and day of the month. 29 February exists in leap years only.
type yearDays [13]uint32

func (y *yearDays) mask(m month) uint32 { return y[m.number] & m.all() }

func (y *yearDays) add(other *yearDays) {
	for i := range y {
		y[i] |= other[i]
	}
}

// addRange adds the days from one day to another. If to comes before from, the range goes over the end of the year.
func (y *yearDays) addRange(from, to v1alpha1.CalendarDay) {
	for d := from; d != to; {
		if d.Day++; d.Day > 31 {
			d = v1alpha1.CalendarDay{Month: d.Month%12 + 1, Day: 1}
		}
		y[d.Month] |= 1 << d.Day // mask drops days that the month does not have
	}
}

// nthDays are weekdays by their place in the month, by month.
type nthDays [13]monthPlaces

func (n *nthDays) mask(m month) uint32 { return n[m.number].weekdays(m) & m.all() }

func (n *nthDays) add(other *nthDays) {
	for i := range n {
		for place := range n[i].nth {
			n[i].nth[place] |= other[i].nth[place]
			n[i].nthLast[place] |= other[i].nthLast[place]
		}
	}
}

// easterDays are days by their distance from Easter Sunday.
type easterDays []int

func (e easterDays) mask(m month) (mask uint32) {
	sunday := easter(m.year) - m.first + 1
	for _, offset := range e {
		if dom := sunday + int64(offset); dom >= 1 && dom <= int64(m.length) {
			mask |= 1 << dom
		}
	}
	return mask
}

// easter returns the day number of Easter Sunday by the Gregorian reckoning ("anonymous", Meeus, Astronomical Algorithms, chapter 8).
func easter(year int) int64 {
	a, b, c := year%19, year/100, year%100
	d, e := b/4, b%4
	g := (8*b + 13) / 25
	h := (19*a + b - d - g + 15) % 30
	i, k := c/4, c%4
	l := (32 + 2*e + 2*i - h - k) % 7
	m := (a + 11*h + 19*l) / 433
	number := (h + l - 7*m + 90) / 25
	dom := (h + l - 7*m + 33*number + 19) % 32
	return time.Date(year, time.Month(number), dom, 0, 0, 0, 0, time.UTC).Unix() / DaySeconds
}

// movedDays are the days of a set, with days on a Saturday or Sunday moved to the next Monday.
type movedDays struct{ set Set }

func (d movedDays) mask(m month) uint32 {
	const monday, weekend = 1 << 1, 1<<0 | 1<<6
	before := m.previous()
	all := d.set.mask(m)
	atWeekend := all & m.weekdays(weekend)
	// Bits 0 and 1 of moving are the last two days of the month before; from bit 2 on, the bits are the days of this
	// month. A Sunday is one day before its Monday, and a Saturday two days.
	moving := uint64(atWeekend)<<1 | uint64(d.set.mask(before)&before.weekdays(weekend))>>(before.length-1)
	moved := (moving<<1 | moving<<2) & (uint64(m.weekdays(monday)) << 1)
	return (all&^atWeekend | uint32(moved>>1)) & m.all()
}

// anyDays are the days of any of several sets.
type anyDays []Set

func (a anyDays) mask(m month) (mask uint32) {
	for _, s := range a {
		mask |= s.mask(m)
	}
	return mask
}

// Any returns the days of any of several sets. Sets of the same form are joined, so a large number of sets costs no
// more than a few.
func Any(sets ...Set) Set {
	dates, nth, easters, listed := &yearDays{}, &nthDays{}, easterDays{}, Listed{}
	var all anyDays
	var moved []Set
	for _, s := range sets {
		switch s := s.(type) {
		case *yearDays:
			dates.add(s)
		case Listed:
			listed = append(listed, s...)
		case *nthDays:
			nth.add(s)
		case easterDays:
			easters = append(easters, s...)
		case movedDays:
			moved = append(moved, s.set)
		default:
			all = append(all, s)
		}
	}
	if len(listed) > 0 {
		all = append(all, NewListed(listed...))
	}
	if len(easters) > 0 {
		slices.Sort(easters)
		all = append(all, slices.Compact(easters))
	}
	if *nth != (nthDays{}) {
		all = append(all, nth)
	}
	if len(moved) > 0 {
		all = append(all, movedDays{Any(moved...)})
	}
	if len(all) == 0 {
		return dates
	}
	return append(all, dates)
}
