package timeline_test

import (
	"testing"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

// skips are days without a midnight, and days with two. The clock of Santiago goes to 01:00 at midnight on the first
// Sunday from 2 September, that of the Azores on the last Sunday of March; package time reads the skipped midnight as
// 23:00 of one zone, and as 01:00 of the other. The clocks of Havana, and of Amman until 2021, go from 01:00 back to
// 00:00. Samoa had no 30 December 2011.
var skips = map[string]string{"America/Santiago": "2027-09-05", "Atlantic/Azores": "2027-03-28", "America/Havana": "2027-11-07",
	"Asia/Amman": "2021-10-29", "Pacific/Apia": "2011-12-30", "Europe/Berlin": "2027-03-28"}

// TestComingDaysAreTheDaysOfTheCalendar lists a single day and two days in a row, before, on and after a change of the
// clocks, from each day before.
func TestComingDaysAreTheDaysOfTheCalendar(t *testing.T) {
	for name, text := range skips {
		change, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		loc := mustZone(t, name)
		date := func(day int) string { return change.AddDate(0, 0, day).Format(time.DateOnly) }
		for day := -2; day <= 3; day++ {
			if name == "Pacific/Apia" && day >= -1 && day <= 0 {
				continue // the single day, or the first of two, does not exist
			}
			for last := day; last <= day+1; last++ {
				line := mustCalendar(t, "c", timeline.CalendarSpec{TimeZone: name, Dates: []v1alpha1.CalendarDate{{Start: date(day), End: date(last)}}})
				for from := -4; from <= day; from++ {
					if name == "Pacific/Apia" && (from == 0 || last == 0) {
						continue
					}
					y, m, d := change.AddDate(0, 0, from).Date()
					runs := line.Coming(time.Date(y, m, d, 12, 0, 0, 0, loc), 20, 9)
					if len(runs) != 1 || runs[0].First.Format(time.DateOnly) != date(day) || runs[0].Last.Format(time.DateOnly) != date(last) {
						t.Errorf("%s, %s to %s, from %s: %v", name, date(day), date(last), date(from), runs)
					}
				}
			}
		}
	}
}

// TestMidnightIsTheFirstInstantOfItsDay compares the begin of each day around a change of the clocks with a walk over
// the minutes.
func TestMidnightIsTheFirstInstantOfItsDay(t *testing.T) {
	for name, text := range skips {
		change, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		loc := mustZone(t, name)
		from := change.AddDate(0, 0, -5).In(loc)
		begins := map[string]time.Time{}
		for at := from; at.Before(from.AddDate(0, 0, 12)); at = at.Add(time.Minute) {
			if day := at.Format(time.DateOnly); begins[day].IsZero() {
				begins[day] = at
			}
		}
		for n := 1; n <= 10; n++ {
			y, m, d := from.Date()
			day := time.Date(y, m, d+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
			want, exists := begins[day]
			if got := timeline.Midnight(from, n, loc); exists && (!got.Equal(want) || got.Location() != loc) {
				t.Errorf("%s: %s begins at %s, want %s", name, day, got, want)
			}
			if got := timeline.Midnight(want.Add(90*time.Minute), 0, loc); exists && !got.Equal(want) {
				t.Errorf("%s: the day of 90 minutes after the begin of %s begins at %s", name, day, got)
			}
		}
	}
}
