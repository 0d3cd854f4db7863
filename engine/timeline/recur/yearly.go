package recur

import (
	"fmt"
	"maps"
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
	switch {
	case y.Easter != nil && y.OrthodoxEaster != nil:
		return nil, field.ErrorList{field.Forbidden(path.Child("orthodoxEaster"), "does not go with easter: make two entries")}
	case y.Easter != nil:
		return parseEaster(y, int(*y.Easter), easterDays{int(*y.Easter)}, path.Child("easter"))
	case y.OrthodoxEaster != nil:
		return parseEaster(y, int(*y.OrthodoxEaster), orthodoxDays{int(*y.OrthodoxEaster)}, path.Child("orthodoxEaster"))
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
		return movedDays{days, y.InLieu}, nil
	}
	return days, nil
}

// moves are the numbers of days by which days in lieu come after a Saturday and a Sunday.
var moves = map[v1alpha1.InLieu][2]int{
	v1alpha1.InLieuMonday:          {2, 1},
	v1alpha1.InLieuFridayOrMonday:  {-1, 1},
	v1alpha1.InLieuMondayOrTuesday: {2, 2},
}

func validateInLieu(in v1alpha1.InLieu, path *field.Path) field.ErrorList {
	if _, known := moves[in]; known || in == "" {
		return nil
	}
	return field.ErrorList{field.NotSupported(path.Child("inLieu"), in, slices.Sorted(maps.Keys(moves)))}
}

// parseEaster returns a day at a distance from Easter Sunday. at is the field of the distance.
func parseEaster(y v1alpha1.CalendarYearly, offset int, days Set, at *field.Path) (Set, field.ErrorList) {
	const most = 60
	switch {
	case y.Month != 0 || y.Day != 0 || y.Until != nil || y.Nth != nil:
		return nil, field.ErrorList{field.Forbidden(at, "does not go with month, day, until and nth: make two entries")}
	case offset < -most || offset > most:
		return nil, field.ErrorList{field.Invalid(at, offset, fmt.Sprintf("must be -%d to %d days from Easter Sunday", most, most))}
	case y.InLieu != "":
		return movedDays{days, y.InLieu}, nil
	default:
		return days, nil
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

func (e easterDays) mask(m month) uint32 { return around(easter(m.year), e, m) }

// orthodoxDays are days by their distance from Easter Sunday of the Orthodox churches.
type orthodoxDays []int

func (e orthodoxDays) mask(m month) uint32 { return around(orthodoxEaster(m.year), e, m) }

// around returns the days of a month that have the given distances from a day.
func around(day int64, offsets []int, m month) (mask uint32) {
	sunday := day - m.first + 1
	for _, offset := range offsets {
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

// orthodoxEaster returns the day number of Easter Sunday by the Julian reckoning (Meeus, Astronomical Algorithms, chapter 8), which
// the Orthodox churches but that of Finland have.
func orthodoxEaster(year int) int64 {
	a, b, c := year%4, year%7, year%19
	d := (19*c + 15) % 30
	e := (2*a + 4*b - d + 34) % 7
	number, dom := (d+e+114)/31, (d+e+114)%31+1
	julian := time.Date(year, time.Month(number), dom, 0, 0, 0, 0, time.UTC).Unix() / DaySeconds
	return julian + int64(year/100-year/400-2) // the days by which the Julian calendar is behind
}

// movedDays are the days of a set, with days on a Saturday or Sunday moved to their day in lieu.
type movedDays struct {
	set Set
	in  v1alpha1.InLieu
}

func (d movedDays) mask(m month) uint32 {
	const saturday, sunday = 1 << 6, 1 << 0
	all := d.set.mask(m)
	days := all &^ m.weekdays(saturday|sunday)
	before, after := m.previous(), m.next()
	for i, weekday := range []uint8{saturday, sunday} {
		by := moves[d.in][i]
		if by < 0 {
			days |= all & m.weekdays(weekday) >> -by
			days |= uint32(uint64(d.set.mask(after)&after.weekdays(weekday)) << m.length >> -by)
			continue
		}
		days |= all & m.weekdays(weekday) << by
		days |= uint32(uint64(d.set.mask(before)&before.weekdays(weekday)) << by >> before.length)
	}
	return days & m.all()
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
	dates, nth, easters, orthodox, listed := &yearDays{}, &nthDays{}, easterDays{}, orthodoxDays{}, Listed{}
	var all anyDays
	moved := map[v1alpha1.InLieu][]Set{}
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
		case orthodoxDays:
			orthodox = append(orthodox, s...)
		case movedDays:
			moved[s.in] = append(moved[s.in], s.set)
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
	if len(orthodox) > 0 {
		slices.Sort(orthodox)
		all = append(all, slices.Compact(orthodox))
	}
	if *nth != (nthDays{}) {
		all = append(all, nth)
	}
	for in, sets := range moved {
		all = append(all, movedDays{Any(sets...), in})
	}
	if len(all) == 0 {
		return dates
	}
	return append(all, dates)
}
