package migrate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

// Days are the days of the week, in Flyball's order.
var Days = []v1alpha1.Day{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

// AllDay returns a window that is always open.
func AllDay() v1alpha1.Window { return v1alpha1.Window{From: "00:00", To: "24:00"} }

// UnlessAll returns the days, or nil if they are all days of the week.
func UnlessAll(days []v1alpha1.Day) []v1alpha1.Day {
	if len(days) == len(Days) {
		return nil
	}
	return days
}

// Range returns the days from the day from to the day to, both included. The range may go over the end of the week.
// Only the first three letters of a day's name count.
func Range(from, to string) ([]v1alpha1.Day, bool) {
	index := func(name string) int {
		return slices.IndexFunc(Days, func(d v1alpha1.Day) bool { return strings.EqualFold(string(d), name) })
	}
	i, j := index(from), index(to)
	if i < 0 || j < 0 {
		return nil, false
	}
	var days []v1alpha1.Day
	for k := i; ; k = (k + 1) % len(Days) {
		days = append(days, Days[k])
		if k == j {
			break
		}
	}
	slices.SortFunc(days, func(a, b v1alpha1.Day) int { return slices.Index(Days, a) - slices.Index(Days, b) })
	return days, true
}

// Clock parses a time of day: H:MM or HH:MM, up to 24:00.
func Clock(text string) (string, bool) {
	var h, m int
	if n, err := fmt.Sscanf(text+" ", "%d:%d ", &h, &m); n != 2 || err != nil || h < 0 || m < 0 || m > 59 || h > 24 || h == 24 && m > 0 {
		return "", false
	}
	return fmt.Sprintf("%02d:%02d", h, m), true
}

// monday is the start of a week in which no clock changes. weekLength is the length of the week.
var monday = time.Date(2037, 5, 11, 0, 0, 0, 0, time.UTC)

const weekLength = 7 * 24 * time.Hour

// MaxWindows is the largest number of windows that a policy may have.
const MaxWindows = 64

// Pair returns the windows that open at a cron of starts and close at a cron of ends. It returns false if one of the
// crons does not repeat every week, or if there are too many windows.
func Pair(start, end string) ([]v1alpha1.Window, bool) {
	if !repeatsWeekly(start) || !repeatsWeekly(end) {
		return nil, false
	}
	awake, errs := timeline.Pair(start, end, time.UTC, field.NewPath("cron"))
	if len(errs) > 0 {
		return nil, false
	}
	var windows []v1alpha1.Window
	at := monday.Add(-time.Second)
	for range 2 * MaxWindows {
		st := awake.At(at)
		if st.Until.IsZero() || !st.Until.Before(monday.Add(weekLength)) {
			return windows, len(windows) > 0 && len(windows) <= MaxWindows
		}
		at = st.Until
		if next := awake.At(at); next.Active && !next.Until.IsZero() {
			windows = addWindow(windows, at, next.Until)
		}
	}
	return nil, false
}

// Between returns the windows that open at a start and close at the next end. Starts and ends are minutes of a week,
// counted from Monday 00:00. An end at the same minute as a start does not count. If no other end is left, there are no
// windows.
func Between(starts, ends []int) (windows []v1alpha1.Window) {
	const length = int(weekLength / time.Minute)
	ends = slices.DeleteFunc(slices.Clone(ends), func(e int) bool { return slices.Contains(starts, e) })
	if len(ends) == 0 {
		return nil
	}
	starts = slices.Compact(slices.Sorted(slices.Values(starts)))
	nearest := func(from []int, distance func(int) int) int {
		least := length
		for _, x := range from {
			if d := (distance(x) + length) % length; d > 0 {
				least = min(least, d)
			}
		}
		return least
	}
	for _, s := range starts {
		since := func(x int) int { return s - x }
		if nearest(starts, since) <= nearest(ends, since) {
			continue // the window of an earlier start is still open
		}
		at := monday.Add(time.Duration(s) * time.Minute)
		lasts := nearest(ends, func(x int) int { return x - s })
		windows = addWindow(windows, at, at.Add(time.Duration(lasts)*time.Minute))
	}
	return windows
}

// repeatsWeekly reports whether a cron does not restrict the days of the month and the months.
func repeatsWeekly(cron string) bool {
	fields := strings.Fields(cron)
	return len(fields) == 5 && fields[2] == "*" && fields[3] == "*"
}

// InZone returns windows of a time zone for a policy with the time zone policy. If the time zones differ, each window
// gets its own time zone.
func InZone(all []v1alpha1.Window, zone, policy string) []v1alpha1.Window {
	if zone == policy {
		return all
	}
	out := slices.Clone(all)
	for i := range out {
		out[i].TimeZone = zone
	}
	return out
}

// cronOf returns a cron for the minute, the hour and the weekday of an instant.
func cronOf(at time.Time) string {
	return fmt.Sprintf("%d %d * * %d", at.Minute(), at.Hour(), at.Weekday())
}

// addWindow adds a span of time. If a window has the same times, it adds the day to this window. A span that is longer
// than a day, or that ends at the time of day of its beginning, becomes a window with two crons.
func addWindow(all []v1alpha1.Window, from, to time.Time) []v1alpha1.Window {
	w := v1alpha1.Window{From: from.Format("15:04"), To: to.Format("15:04")}
	if w.To == "00:00" {
		w.To = "24:00"
	}
	if lasts := to.Sub(from); lasts > 24*time.Hour || w.From == w.To {
		return append(all, v1alpha1.Window{Cron: cronOf(from), Until: cronOf(to)})
	}
	day := Days[(int(from.Weekday())+6)%7]
	for i := range all {
		if all[i].Cron == "" && all[i].From == w.From && all[i].To == w.To {
			all[i].Days = append(all[i].Days, day)
			return all
		}
	}
	w.Days = []v1alpha1.Day{day}
	return append(all, w)
}
