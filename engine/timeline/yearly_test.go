package timeline_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

// easters has the Easter Sundays of the tested years, and the earliest and the latest possible Easter Sunday.
var easters = map[int]string{1970: "03-29", 1981: "04-19", 2010: "04-04", 2011: "04-24", 2012: "04-08", 2025: "04-20", 2026: "04-05",
	2027: "03-28", 2038: "04-25",
	2049: "04-18", 2076: "04-19", 2103: "03-25", 2104: "04-13", 2105: "04-05", 2285: "03-22"}

// orthodoxEasters are from npm date-easter 1.0.3.
var orthodoxEasters = map[int]string{2010: "04-04", 2011: "04-24", 2012: "04-15", 2025: "04-20", 2026: "04-12", 2027: "05-02",
	2103: "04-29", 2104: "04-20", 2105: "04-05"}

func easterOf(t fataler, table map[int]string, year int) time.Time {
	t.Helper()
	date, err := time.Parse(time.DateOnly, fmt.Sprintf("%d-%s", year, table[year]))
	if err != nil {
		t.Fatalf("no Easter of %d", year)
	}
	return date
}

func TestEasterFallsOnItsKnownDates(t *testing.T) {
	zero := int32(0)
	c := mustCalendar(t, "c", timeline.CalendarSpec{Yearly: []v1alpha1.CalendarYearly{{Easter: &zero}}})
	for year := range easters {
		want := easterOf(t, easters, year)
		if next, _ := c.Next(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)); !next.Equal(want) {
			t.Errorf("Easter of %d is %s, want %s", year, next, want)
		}
	}
}

// movedTo returns the day to which a date at the weekend is moved.
func movedTo(date time.Time, in v1alpha1.InLieu) time.Time {
	switch {
	case in == v1alpha1.InLieuFridayOrMonday && date.Weekday() == time.Saturday:
		return date.AddDate(0, 0, -1)
	case in == v1alpha1.InLieuMondayOrTuesday && date.Weekday() == time.Sunday:
		return date.AddDate(0, 0, 2)
	}
	for date.Weekday() == time.Saturday || date.Weekday() == time.Sunday {
		date = date.AddDate(0, 0, 1)
	}
	return date
}

// yearlyOf returns the days of an entry in the years around a given year, found day by day.
func yearlyOf(t fataler, y v1alpha1.CalendarYearly, around int) map[time.Time]bool {
	days := map[time.Time]bool{}
	for year := around - 1; year <= around+1; year++ {
		at := func(month, day int) time.Time { return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC) }
		var all []time.Time
		switch {
		case y.Easter != nil:
			all = append(all, easterOf(t, easters, year).AddDate(0, 0, int(*y.Easter)))
		case y.OrthodoxEaster != nil:
			all = append(all, easterOf(t, orthodoxEasters, year).AddDate(0, 0, int(*y.OrthodoxEaster)))
		case y.Nth != nil:
			for d := at(int(y.Month), 1); int32(d.Month()) == y.Month; d = d.AddDate(0, 0, 1) {
				if d.Weekday().String()[:3] == string(y.Nth.Day) && (placeInMonth(d) == int(y.Nth.Week) || placeFromEnd(d) == -int(y.Nth.Week)) {
					all = append(all, d)
				}
			}
		case y.Until != nil:
			for d := at(int(y.Month), int(y.Day)); ; d = d.AddDate(0, 0, 1) {
				all = append(all, d)
				if int32(d.Month()) == y.Until.Month && int32(d.Day()) == y.Until.Day {
					break
				}
			}
		case int32(at(int(y.Month), int(y.Day)).Month()) == y.Month: // the month has the day: 29 February exists in leap years only
			all = append(all, at(int(y.Month), int(y.Day)))
		}
		for _, d := range all {
			if y.InLieu != "" {
				d = movedTo(d, y.InLieu)
			}
			days[d] = true
		}
	}
	return days
}

func TestYearlyAgainstAWalkOverEveryMinute(t *testing.T) {
	days := func(n int32) *int32 { return &n }
	entries := []v1alpha1.CalendarYearly{
		{Month: 5, Day: 1},
		{Month: 12, Day: 24, Until: &v1alpha1.CalendarDay{Month: 1, Day: 2}},
		{Month: 2, Day: 27, Until: &v1alpha1.CalendarDay{Month: 3, Day: 1}},
		{Month: 6, Day: 1, Until: &v1alpha1.CalendarDay{Month: 6, Day: 30}},
		{Easter: days(-2)}, {Easter: days(1)}, {Easter: days(39)}, {Easter: days(60)}, {Easter: days(-48)},
		{Month: 5, Nth: &v1alpha1.NthDay{Week: -1, Day: "Mon"}}, {Month: 11, Nth: &v1alpha1.NthDay{Week: 4, Day: "Thu"}},
		{Month: 1, Day: 1, InLieu: v1alpha1.InLieuMonday}, {Month: 12, Day: 31, InLieu: v1alpha1.InLieuMonday},
		{Month: 4, Day: 25, InLieu: v1alpha1.InLieuMonday},
		{Month: 5, Day: 31, InLieu: v1alpha1.InLieuMonday},
		{Month: 2, Day: 28, InLieu: v1alpha1.InLieuMonday}, {Month: 8, Day: 15, InLieu: v1alpha1.InLieuMonday},
		{Easter: days(0), InLieu: v1alpha1.InLieuMonday},
		{Month: 1, Day: 1, InLieu: v1alpha1.InLieuFridayOrMonday}, {Month: 5, Day: 31, InLieu: v1alpha1.InLieuFridayOrMonday},
		{Month: 12, Day: 25, InLieu: v1alpha1.InLieuMondayOrTuesday}, {Month: 12, Day: 26, InLieu: v1alpha1.InLieuMondayOrTuesday},
		{Month: 12, Day: 31, InLieu: v1alpha1.InLieuMondayOrTuesday}, {OrthodoxEaster: days(-2)}, {OrthodoxEaster: days(50)},
	}
	for i, place := range []worldKey{{"Europe/Skopje", 2026}, {"America/Santiago", 2026}, {"Africa/Cairo", 2026}, {"Pacific/Apia", 2011},
		{"Europe/Skopje", 2104}} {
		w := worldOf(t, place.zone, place.year)
		all := map[time.Time]bool{}
		for j, y := range entries {
			truth := yearlyOf(t, y, place.year)
			for d := range truth {
				all[d] = true
			}
			if !chosen(i, j) {
				continue
			}
			want := w.days(func(date time.Time) bool { return truth[date] }, 0, 24*60)
			compare(t, w, mustCalendar(t, fmt.Sprintf("entry %d", j),
				timeline.CalendarSpec{TimeZone: place.zone, Yearly: []v1alpha1.CalendarYearly{y}}), want,
				everyNth(1009, want))
		}
		want := w.days(func(date time.Time) bool { return all[date] }, 0, 24*60)
		compare(t, w, mustCalendar(t, "all", timeline.CalendarSpec{TimeZone: place.zone, Yearly: entries}), want, everyNth(1009, want))
	}
}

func TestYearlyNamesTheFirstEntry(t *testing.T) {
	good := int32(-2)
	c := mustCalendar(t, "c", timeline.CalendarSpec{Yearly: []v1alpha1.CalendarYearly{
		{Month: 12, Day: 24, Until: &v1alpha1.CalendarDay{Month: 12, Day: 31}, Name: "Holidays"}, {Month: 12, Day: 25, Name: "Christmas"},
		{Easter: &good, Name: "Good Friday"},
	}})
	for at, want := range map[string]string{"2026-12-25T12:00:00Z": "c: Holidays", "2026-04-03T12:00:00Z": "c: Good Friday",
		"2026-04-04T12:00:00Z": ""} {
		if got := c.At(utc(t, at)).Name; got != want {
			t.Errorf("%s is %q, want %q", at, got, want)
		}
	}
}

func TestParseYearlyRefuses(t *testing.T) {
	far, one := int32(61), int32(1)
	friday := &v1alpha1.NthDay{Week: 1, Day: "Fri"}
	tests := []struct {
		entry v1alpha1.CalendarYearly
		want  string
	}{
		{v1alpha1.CalendarYearly{}, "y.month: Invalid value: 0: must be 1 to 12"},
		{v1alpha1.CalendarYearly{Month: 4, Day: 31}, "y.day: Invalid value: 31: must be 1 to 30 in this month"},
		{v1alpha1.CalendarYearly{Month: 4}, "y.day: Invalid value: 0: must be 1 to 30 in this month"},
		{v1alpha1.CalendarYearly{Month: 4, Day: 1, Until: &v1alpha1.CalendarDay{Month: 13, Day: 1}}, "y.until.month: Invalid value: 13"},
		{v1alpha1.CalendarYearly{Month: 4, Day: 1, Until: &v1alpha1.CalendarDay{Month: 2, Day: 30}}, "y.until.day: Invalid value: 30"},
		{v1alpha1.CalendarYearly{Month: 4, Day: 1, Until: &v1alpha1.CalendarDay{Month: 4, Day: 2}, InLieu: v1alpha1.InLieuMonday},
			"y.inLieu: Forbidden: moves a single day"},
		{v1alpha1.CalendarYearly{Easter: &far}, "y.easter: Invalid value: 61: must be -60 to 60 days from Easter Sunday"},
		{v1alpha1.CalendarYearly{Easter: &one, Month: 4}, "y.easter: Forbidden: does not go with month, day, until and nth"},
		{v1alpha1.CalendarYearly{OrthodoxEaster: &far}, "y.orthodoxEaster: Invalid value: 61: must be -60 to 60 days from Easter Sunday"},
		{v1alpha1.CalendarYearly{OrthodoxEaster: &one, Month: 4}, "y.orthodoxEaster: Forbidden: does not go with month, day, until and nth"},
		{v1alpha1.CalendarYearly{OrthodoxEaster: &one, Easter: &one}, "y.orthodoxEaster: Forbidden: does not go with easter"},
		{v1alpha1.CalendarYearly{Month: 4, Day: 1, InLieu: "Friday"}, "y.inLieu: Unsupported value"},
		{v1alpha1.CalendarYearly{Month: 4, Nth: friday, Day: 1}, "y.nth: Forbidden: does not go with day and until"},
		{v1alpha1.CalendarYearly{Month: 4, Nth: friday, InLieu: v1alpha1.InLieuMonday}, "y.inLieu: Forbidden: moves a date"},
		{v1alpha1.CalendarYearly{Month: 4, Nth: &v1alpha1.NthDay{Week: 6, Day: "Fri"}}, "y.nth.week: Invalid value: 6"},
		{v1alpha1.CalendarYearly{Month: 4, Nth: &v1alpha1.NthDay{Week: 1, Day: "Freitag"}}, "y.nth.day: Unsupported value"},
	}
	for _, tt := range tests {
		_, errs := timeline.ParseCalendar("c", timeline.CalendarSpec{Yearly: []v1alpha1.CalendarYearly{tt.entry}}, field.NewPath("spec"))
		if want := strings.Replace(tt.want, "y.", "spec.yearly[0].", 1); len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), want) {
			t.Errorf("%+v: %v, want %s", tt.entry, errs, want)
		}
	}
}
