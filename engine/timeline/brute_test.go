package timeline_test

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A world has the true readings of one zone's clock over some months: one reading for every real minute. Everything is
// found by walking minutes, nothing by calculating with offsets.
type world struct {
	loc   *time.Location
	start time.Time // the first minute
	// clock has the civil minute that each real minute shows. Civil minutes are counted as if all days had 24 hours.
	clock []int64
	// shown has, for each civil minute from civil on, the first real minute that shows it; -1: no real minute shows it.
	shown []int
	civil int64
}

func newWorld(loc *time.Location, start, end time.Time) *world {
	w := &world{loc: loc, start: start}
	for at := start; at.Before(end); at = at.Add(time.Minute) {
		local := at.In(loc)
		y, m, d := local.Date()
		w.clock = append(w.clock, civilMinute(y, m, d, local.Hour(), local.Minute()))
	}
	w.civil = slices.Min(w.clock)
	w.shown = make([]int, slices.Max(w.clock)-w.civil+1)
	for i := range w.shown {
		w.shown[i] = -1
	}
	for i, c := range w.clock {
		if w.shown[c-w.civil] < 0 {
			w.shown[c-w.civil] = i
		}
	}
	return w
}

func civilMinute(y int, m time.Month, d, hour, minute int) int64 {
	return time.Date(y, m, d, hour, minute, 0, 0, time.UTC).Unix() / 60
}

// when returns the real minute of the transition at a civil minute. This is the first real minute that shows the civil
// minute. If a gap skips the civil minute, it is the first real minute that shows the next civil minute outside the
// gap.
func (w *world) when(civil int64) int {
	for c := max(civil-w.civil, 0); c < int64(len(w.shown)); c++ {
		if w.shown[c] >= 0 {
			return w.shown[c]
		}
	}
	return len(w.clock)
}

func (w *world) at(minute int) time.Time { return w.start.Add(time.Duration(minute) * time.Minute) }

// track is the state of a timeline at every real minute of a world. valid is the first minute at which the state is
// known.
type track struct {
	on    []bool
	valid int
}

// cron opens a window for length minutes at every firing.
func (w *world) cron(expr string, length int) track {
	matches := cronMatcher(expr)
	fires := make([]bool, len(w.clock)+1)
	for c := range w.shown {
		if matches(w.civil + int64(c)) {
			fires[w.when(w.civil+int64(c))] = true
		}
	}
	if everyHourMatches(expr) { // such a cron fires again in a repeated hour
		for i, c := range w.clock {
			fires[i] = fires[i] || matches(c)
		}
	}
	t := track{on: make([]bool, len(w.clock)), valid: length}
	open := 0
	for i := range t.on {
		if fires[i] {
			open = i + length
		}
		t.on[i] = i < open
	}
	return t
}

// pair turns on at each firing of up and off at each firing of down. If both fire in the same civil minute, the state
// is off.
func (w *world) pair(up, down string) track {
	ups, downs := cronMatcher(up), cronMatcher(down)
	turn := make([]int, len(w.clock)+1) // 0 nothing, 1 on, 2 off
	for i := range w.shown {
		c := w.civil + int64(i)
		if ups(c) {
			turn[w.when(c)] = 1
		}
		if downs(c) {
			turn[w.when(c)] = 2
		}
	}
	t := track{on: make([]bool, len(w.clock)), valid: len(w.clock)} // unknown before the first firing
	state := 0
	for i := range t.on {
		if turn[i] != 0 {
			state = turn[i]
		}
		if state != 0 && t.valid == len(w.clock) {
			t.valid = i + 1
		}
		t.on[i] = state == 1
	}
	return t
}

// days opens a window from one minute of the day to another, on each civil day for which holds returns true.
func (w *world) days(holds func(time.Time) bool, from, to int) track {
	t := track{on: make([]bool, len(w.clock)), valid: 2 * 24 * 60}
	if to <= from {
		to += 24 * 60
	}
	first := w.civil/(24*60) + 1
	for day := first; day*24*60 < w.civil+int64(len(w.shown)); day++ {
		if !holds(time.Unix(day*24*3600, 0).UTC()) {
			continue
		}
		for i := w.when(day*24*60 + int64(from)); i < w.when(day*24*60+int64(to)); i++ {
			t.on[i] = true
		}
	}
	return t
}

func union(a, b track) track {
	t := track{on: make([]bool, len(a.on)), valid: max(a.valid, b.valid)}
	for i := range t.on {
		t.on[i] = a.on[i] || b.on[i]
	}
	return t
}

func invert(a track) track {
	t := track{on: make([]bool, len(a.on)), valid: a.valid}
	for i := range t.on {
		t.on[i] = !a.on[i]
	}
	return t
}

// changes lists the real minutes after valid at which the state differs from the minute before.
func (t track) changes() []int {
	var list []int
	for i := t.valid + 1; i < len(t.on); i++ {
		if t.on[i] != t.on[i-1] {
			list = append(list, i)
		}
	}
	return list
}

// cronMatcher reads a cron expression value by value. If both day fields are restricted, a day needs to match only one
// of them. A field is restricted unless it is "*".
func cronMatcher(expr string) func(civil int64) bool {
	f := strings.Fields(expr)
	minute, hour := fieldValues(f[0], 0, 59), fieldValues(f[1], 0, 23)
	mon := fieldValues(f[3], 1, 12)
	either := f[2] != "*" && f[4] != "*"
	day, dayMatches := int64(-1), false
	return func(civil int64) bool {
		if !minute[civil%60] || !hour[civil/60%24] {
			return false
		}
		if civil/1440 != day {
			day = civil / 1440
			date := time.Unix(day*86400, 0).UTC()
			byDate, byWeekday := dateMatches(f[2], date), weekdayMatches(f[4], date)
			dayMatches = mon[int(date.Month())] && (either && (byDate || byWeekday) || !either && byDate && byWeekday)
		}
		return dayMatches
	}
}

// dateMatches reads a day-of-month field, part by part.
func dateMatches(field string, date time.Time) bool {
	end := lastOfMonth(date)
	for _, part := range strings.Split(field, ",") {
		switch {
		case strings.HasSuffix(part, "W"):
			to := end.Day()
			if part != "LW" {
				to, _ = strconv.Atoi(strings.TrimSuffix(part, "W"))
			}
			if to <= end.Day() && date.Equal(nearestWorkday(time.Date(date.Year(), date.Month(), to, 0, 0, 0, 0, time.UTC))) {
				return true
			}
		case strings.HasPrefix(part, "L"):
			before, _ := strconv.Atoi(strings.TrimPrefix(part, "L"))
			if date.Equal(end.AddDate(0, 0, before)) {
				return true
			}
		case fieldValues(part, 1, 31)[date.Day()]:
			return true
		}
	}
	return false
}

// nearestWorkday returns the nearest day from Monday to Friday. Of two equally near days, it returns the earlier one.
func nearestWorkday(to time.Time) time.Time {
	for _, by := range []int{0, -1, 1, -2, 2} {
		near := to.AddDate(0, 0, by)
		if near.Month() == to.Month() && near.Weekday() != time.Saturday && near.Weekday() != time.Sunday {
			return near
		}
	}
	panic("no day from Monday to Friday is near")
}

func lastOfMonth(date time.Time) time.Time {
	return time.Date(date.Year(), date.Month()+1, 0, 0, 0, 0, 0, time.UTC)
}

// weekdayMatches reads a weekday field, part by part.
func weekdayMatches(field string, date time.Time) bool {
	for _, part := range strings.Split(field, ",") {
		day, place, isNth := strings.Cut(part, "#")
		day, isLast := strings.CutSuffix(day, "L")
		n, _ := strconv.Atoi(place)
		switch {
		case !fieldValues(day, 0, 6)[int(date.Weekday())]:
		case isNth && placeInMonth(date) != n, isLast && placeFromEnd(date) != 1:
		default:
			return true
		}
	}
	return false
}

// placeInMonth counts the same weekdays of the month up to the date. placeFromEnd counts them from the date on.
func placeInMonth(date time.Time) int {
	n := 0
	for d := date; d.Month() == date.Month(); d = d.AddDate(0, 0, -7) {
		n++
	}
	return n
}

func placeFromEnd(date time.Time) int {
	n := 0
	for d := date; d.Month() == date.Month(); d = d.AddDate(0, 0, 7) {
		n++
	}
	return n
}

func everyHourMatches(expr string) bool {
	for _, on := range fieldValues(strings.Fields(expr)[1], 0, 23) {
		if !on {
			return false
		}
	}
	return true
}

func fieldValues(field string, low, high int) []bool {
	values := make([]bool, high+1)
	for _, part := range strings.Split(field, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			step, _ = strconv.Atoi(stepText)
		}
		from, to := low, high
		if span != "*" {
			a, b, isRange := strings.Cut(span, "-")
			from, _ = strconv.Atoi(a)
			if to = from; isRange {
				to, _ = strconv.Atoi(b)
			}
		}
		for v := from; v <= to; v += step {
			values[v] = true
		}
	}
	return values
}
