package timeline_test

import (
	"testing"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

func TestCalendarComposesWithWindows(t *testing.T) {
	holidays := mustCalendar(t, "holidays", timeline.CalendarSpec{
		TimeZone: "Europe/Berlin",
		Dates: []v1alpha1.CalendarDate{
			{Date: "2026-12-24"},
			{Start: "2026-12-27", End: "2026-12-31", Name: "between the years"},
			{Start: "2026-12-28", End: "2026-12-29", Name: "hidden behind the first"},
		},
		Yearly: []v1alpha1.CalendarYearly{
			{Month: 1, Day: 1, Name: "New Year"}, {Month: 2, Day: 29, Name: "leap day"},
			{Month: 12, Day: 25, Name: "Christmas"}, {Month: 12, Day: 26, Name: "Christmas"},
		},
	})
	check(t, holidays, []moment{
		{"2026-12-23T22:59:59Z", false, "2026-01-01T23:00:00Z", "2026-12-23T23:00:00Z", ""},
		{"2026-12-24T12:00:00Z", true, "2026-12-23T23:00:00Z", "2027-01-01T23:00:00Z", "holidays"},
		{"2026-12-25T12:00:00Z", true, "2026-12-23T23:00:00Z", "2027-01-01T23:00:00Z", "holidays: Christmas"},
		{"2026-12-28T12:00:00Z", true, "2026-12-23T23:00:00Z", "2027-01-01T23:00:00Z", "holidays: between the years"},
		{"2027-02-28T23:30:00Z", false, "2027-01-01T23:00:00Z", "2027-12-24T23:00:00Z", ""},
		{"2028-02-29T12:00:00Z", true, "2028-02-28T23:00:00Z", "2028-02-29T23:00:00Z", "holidays: leap day"},
	})

	var everyDay []v1alpha1.CalendarYearly
	for day := time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() == 2028; day = day.AddDate(0, 0, 1) {
		everyDay = append(everyDay, v1alpha1.CalendarYearly{Month: int32(day.Month()), Day: int32(day.Day())})
	}
	check(t, mustCalendar(t, "all", timeline.CalendarSpec{Yearly: everyDay}), []moment{
		{"2026-06-15T12:00:00Z", true, "", "", "all"},
	})
	check(t, mustCalendar(t, "none", timeline.CalendarSpec{}), []moment{{"2026-06-15T12:00:00Z", false, "", "", ""}})
	check(t, mustCalendar(t, "past", timeline.CalendarSpec{Dates: []v1alpha1.CalendarDate{{Date: "2020-05-01"}}}), []moment{
		{"2026-06-15T12:00:00Z", false, "2020-05-02T00:00:00Z", "", ""},
	})
}

// TestDatesThatHoldOthers: dates that contain or overlap others become one run of days, in any order of the dates.
func TestDatesThatHoldOthers(t *testing.T) {
	january, early := v1alpha1.CalendarDate{Start: "2026-01-01", End: "2026-01-31", Name: "january"},
		v1alpha1.CalendarDate{Date: "2026-01-05", Name: "early"}
	late := v1alpha1.CalendarDate{Start: "2026-01-20", End: "2026-02-10", Name: "late"}
	for _, dates := range [][]v1alpha1.CalendarDate{{january, early, late}, {late, early, january}} {
		check(t, mustCalendar(t, "", timeline.CalendarSpec{Dates: dates}), []moment{
			{"2025-12-31T12:00:00Z", false, "", "2026-01-01T00:00:00Z", ""},
			{"2026-01-15T12:00:00Z", true, "2026-01-01T00:00:00Z", "2026-02-11T00:00:00Z", "january"},
			{"2026-01-25T12:00:00Z", true, "2026-01-01T00:00:00Z", "2026-02-11T00:00:00Z", dates[0].Name},
			{"2026-02-05T12:00:00Z", true, "2026-01-01T00:00:00Z", "2026-02-11T00:00:00Z", "late"},
			{"2026-02-11T00:00:00Z", false, "2026-02-11T00:00:00Z", "", ""},
		})
	}
	check(t, mustCalendar(t, "", timeline.CalendarSpec{Dates: []v1alpha1.CalendarDate{january, early}}), []moment{
		{"2026-01-15T12:00:00Z", true, "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "january"},
	})
}

// TestAUnionOfOne: a union of one timeline equals the timeline.
func TestAUnionOfOne(t *testing.T) {
	day := mustWindow(t, v1alpha1.Window{Name: "day", From: "08:00", To: "20:00"}, "Europe/Berlin")
	check(t, timeline.Union(day), []moment{
		{"2026-06-15T12:00:00Z", true, "2026-06-15T06:00:00Z", "2026-06-15T18:00:00Z", "day"},
		{"2026-06-15T20:00:00Z", false, "2026-06-15T18:00:00Z", "2026-06-16T06:00:00Z", ""},
	})
	if got := timeline.Union(day).String(); got != day.String() {
		t.Errorf("in words it is %q", got)
	}
}

func TestWindowsThatTouchHaveNoTransitionBetween(t *testing.T) {
	day := v1alpha1.Window{Name: "day", From: "08:00", To: "20:00"}
	night := v1alpha1.Window{Name: "night", From: "20:00", To: "08:00"}
	lunch := v1alpha1.Window{Name: "lunch", Cron: "0 20 * * 1", Duration: lasting(2 * time.Hour)}
	alarm := v1alpha1.Window{Name: "long night", Cron: "0 20 * * *", Duration: lasting(13 * time.Hour)}
	short := v1alpha1.Window{Name: "short night", Cron: "0 20 * * *", Duration: lasting(12 * time.Hour)}
	range1 := v1alpha1.Window{Name: "first", Start: "2026-06-01", End: "2026-06-10"}
	range2 := v1alpha1.Window{Name: "second", Start: "2026-06-11T00:00:00Z", End: "2026-06-12T00:00:00Z"}
	tests := []struct {
		reason  string
		zone    string
		specs   []v1alpha1.Window
		moments []moment
	}{
		{"two windows that make up the day, in a zone with summer time", "Europe/Skopje", []v1alpha1.Window{day, night}, []moment{
			{"2026-06-15T12:00:00Z", true, "", "", "day"},
			{"2026-06-15T22:00:00Z", true, "", "", "night"},
		}},
		{"a hand-over from weekdays to a cron", "UTC", []v1alpha1.Window{day, lunch}, []moment{
			{"2026-06-15T20:00:00Z", true, "2026-06-15T08:00:00Z", "2026-06-15T22:00:00Z", "lunch"},
		}},
		{"a hand-over from dates to instants", "UTC", []v1alpha1.Window{range1, range2}, []moment{
			{"2026-06-11T12:00:00Z", true, "2026-06-01T00:00:00Z", "2026-06-12T00:00:00Z", "second"},
			{"2026-06-12T00:00:00Z", false, "2026-06-12T00:00:00Z", "", ""},
		}},
		{"elapsed hours that always reach the wall clock's morning", "Europe/Skopje", []v1alpha1.Window{day, alarm}, []moment{
			{"2026-10-25T06:30:00Z", true, "", "", "long night"},
		}},
		{"elapsed hours that the twenty-fifth hour leaves short", "Europe/Skopje", []v1alpha1.Window{day, short}, []moment{
			{"2026-10-25T06:30:00Z", false, "2026-10-25T06:00:00Z", "2026-10-25T07:00:00Z", ""},
			{"2026-10-25T07:00:00Z", true, "2026-10-25T07:00:00Z", "2027-10-31T06:00:00Z", "day"},
		}},
		{"the first window gives the name", "UTC", []v1alpha1.Window{night, lunch}, []moment{
			{"2026-06-15T20:30:00Z", true, "2026-06-15T20:00:00Z", "2026-06-16T08:00:00Z", "night"},
		}},
		{"a question beyond the years that are worked out beforehand", "UTC", []v1alpha1.Window{night, lunch}, []moment{
			{"2150-06-15T12:00:00Z", false, "2150-06-15T08:00:00Z", "2150-06-15T20:00:00Z", ""},
			{"2150-06-15T21:00:00Z", true, "2150-06-15T20:00:00Z", "2150-06-16T08:00:00Z", "night"},
		}},
		{"no window", "UTC", nil, []moment{{"2026-06-15T20:30:00Z", false, "", "", ""}}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) { check(t, mustWindows(t, tt.zone, tt.specs...), tt.moments) })
	}
}

func TestOverrideReplacesTheTimelineBelow(t *testing.T) {
	base := mustPair(t, "0 8 * * 1-5", "0 20 * * 1-5", "UTC")
	closed := mustCalendar(t, "closed", timeline.CalendarSpec{
		Dates: []v1alpha1.CalendarDate{{Date: "2026-06-16", Name: "outing"}, {Date: "2026-06-18"}},
	})
	release := mustCalendar(t, "release", timeline.CalendarSpec{Dates: []v1alpha1.CalendarDate{{Start: "2026-06-18", End: "2026-06-20"}}})
	monday := moment{"2026-06-15T12:00:00Z", true, "2026-06-15T08:00:00Z", "2026-06-15T20:00:00Z", "upscale"}
	outing := moment{"2026-06-16T12:00:00Z", false, "2026-06-15T20:00:00Z", "2026-06-17T08:00:00Z", "closed: outing"}
	rest := []moment{
		{"2026-06-17T21:00:00Z", false, "2026-06-17T20:00:00Z", "2026-06-18T00:00:00Z", "downscale"},
		{"2026-06-18T12:00:00Z", true, "2026-06-18T00:00:00Z", "2026-06-21T00:00:00Z", "release"},
		{"2026-06-21T12:00:00Z", false, "2026-06-21T00:00:00Z", "2026-06-22T08:00:00Z", "downscale"},
	}
	off, on := timeline.Effect{During: closed}, timeline.Effect{During: release, Active: true}
	for _, effects := range [][]timeline.Effect{{off, on}, {on, off}} {
		check(t, timeline.Override(base, effects...), append([]moment{monday, outing}, rest...))
	}
	check(t, timeline.Override(base), []moment{monday})
}

func TestNotInvertsATimeline(t *testing.T) {
	night := mustWindow(t, v1alpha1.Window{Name: "night", Days: []v1alpha1.Day{"Mon"}, From: "20:00", To: "08:00"}, "UTC")
	check(t, timeline.Not(night), []moment{
		{"2026-06-15T21:00:00Z", false, "2026-06-15T20:00:00Z", "2026-06-16T08:00:00Z", "night"},
		{"2026-06-16T08:00:00Z", true, "2026-06-16T08:00:00Z", "2026-06-22T20:00:00Z", ""},
	})
	check(t, timeline.Not(timeline.Timeline{}), []moment{{"2026-06-16T08:00:00Z", true, "", "", ""}})
	june := mustWindow(t, v1alpha1.Window{Name: "june", Start: "2026-06-01", End: "2026-06-30"}, "UTC")
	check(t, timeline.Union(timeline.Not(june), mustCalendar(t, "past", timeline.CalendarSpec{})), []moment{
		{"2026-05-15T12:00:00Z", true, "", "2026-06-01T00:00:00Z", ""},
		{"2026-06-15T12:00:00Z", false, "2026-06-01T00:00:00Z", "2026-07-01T00:00:00Z", "june"},
		{"2026-07-15T12:00:00Z", true, "2026-07-01T00:00:00Z", "", ""},
	})
	check(t, timeline.Union(), []moment{{"2026-06-16T08:00:00Z", false, "", "", ""}})
}

func TestStringDescribesATimeline(t *testing.T) {
	const zone = "Europe/Skopje"
	workdays := []v1alpha1.Day{"Fri", "Mon", "Tue", "Wed", "Thu"}
	nights := v1alpha1.Window{Name: "nights", Days: workdays, From: "20:00", To: "08:00"}
	tests := []struct {
		got  timeline.Timeline
		want string
	}{
		{timeline.Timeline{}, "never"},
		{mustPair(t, "0 8 * * 1-5", "0 20 * * 1-5", zone), "up 0 8 * * 1-5, down 0 20 * * 1-5 Europe/Skopje"},
		{mustWindow(t, nights, zone), "window nights: Mon-Fri 20:00-08:00 Europe/Skopje"},
		{mustWindow(t, v1alpha1.Window{From: "08:00", To: "24:00"}, ""), "window daily 08:00-24:00 UTC"},
		{mustWindow(t, v1alpha1.Window{Days: []v1alpha1.Day{"Sat", "Sun", "Tue"}, From: "08:00", To: "09:00"}, ""),
			"window Tue,Sat,Sun 08:00-09:00 UTC"},
		{mustWindow(t, v1alpha1.Window{Days: []v1alpha1.Day{"Mon", "Tue", "Wed", "Sat"}, From: "08:00", To: "09:00"}, ""),
			"window Mon-Wed,Sat 08:00-09:00 UTC"},
		{mustWindow(t, v1alpha1.Window{Name: "p", Cron: "0 2 * * 6", Duration: lasting(90 * time.Minute)}, ""),
			"window p: 0 2 * * 6 for 1h30m UTC"},
		{mustWindow(t, v1alpha1.Window{Cron: "0 2 * * 6", Duration: lasting(4 * time.Hour)}, ""), "window 0 2 * * 6 for 4h UTC"},
		{mustWindow(t, v1alpha1.Window{Name: "y", Start: "2026-12-24", End: "2027-01-02"}, zone),
			"window y: 2026-12-24 to 2027-01-02 Europe/Skopje"},
		{timeline.Override(mustWindow(t, nights, zone),
			timeline.Effect{During: mustCalendar(t, "holidays", timeline.CalendarSpec{})}),
			"window nights: Mon-Fri 20:00-08:00 Europe/Skopje; off during calendar holidays UTC"},
		{timeline.Not(timeline.Timeline{}), "not (never)"},
	}
	for _, tt := range tests {
		if got := tt.got.String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	saturday := utc(t, "2026-06-20T03:00:00Z")
	unnamed := mustWindow(t, v1alpha1.Window{Cron: "0 2 * * 6", Duration: lasting(4 * time.Hour)}, "").At(saturday).Name
	named := mustWindow(t, nights, zone).At(saturday).Name
	if unnamed != "0 2 * * 6 for 4h UTC" || named != "nights" {
		t.Errorf("names are %q and %q", unnamed, named)
	}
}

func TestTheEndsOfTime(t *testing.T) {
	thursday := v1alpha1.Window{Name: "first", Days: []v1alpha1.Day{"Thu"}, From: "00:00", To: "24:00"}
	check(t, mustWindow(t, thursday, "America/New_York"), []moment{
		{"1970-01-01T12:00:00Z", true, "", "1970-01-02T05:00:00Z", "first"},
	})
	all := v1alpha1.Window{Name: "all", Start: "1970-01-01T00:00:00Z", End: "9999-12-31T23:00:00-01:00"}
	check(t, mustWindow(t, all, "UTC"), []moment{{"2026-06-15T12:00:00Z", true, "", "", "all"}})
	friday := v1alpha1.Window{Name: "last", Days: []v1alpha1.Day{"Fri"}, From: "00:00", To: "24:00"}
	check(t, mustWindow(t, friday, "Europe/Skopje"), []moment{
		{"9999-12-31T12:00:00Z", true, "9999-12-30T23:00:00Z", "", "last"},
	})
	line := mustPair(t, "0 8 * * 1-5", "0 20 * * 1-5", "Europe/Skopje")
	if at, ok := line.Next(utc(t, "9999-12-31T23:00:00Z")); ok {
		t.Errorf("next at the end of the year 9999 is %s, want none", at)
	}
	for _, before := range []time.Time{{}, utc(t, "1969-12-31T12:00:00Z")} {
		if since := line.At(before).Since; !since.IsZero() {
			t.Errorf("at %s: since %s, want for ever", before, since)
		}
		if next, ok := line.Next(before); !ok || next.Year() != 1970 {
			t.Errorf("next at %s is %s, %v, want one in 1970", before, next, ok)
		}
	}
}

func TestAMissingBoundIsNoTransition(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		reason       string
		since, until time.Time
		want         timeline.Span
	}{
		{"both", noon.Add(-time.Hour), noon.Add(time.Hour),
			timeline.Span{Active: true, Since: noon.Add(-time.Hour), Until: noon.Add(time.Hour)}},
		{"no begin", time.Time{}, noon.Add(time.Hour), timeline.Span{Active: true, Until: noon.Add(time.Hour)}},
		{"no end", noon, time.Time{}, timeline.Span{Active: true, Since: noon}},
		{"no bound", time.Time{}, time.Time{}, timeline.Span{Active: true}},
		{"over", time.Time{}, noon, timeline.Span{Since: noon}},
		{"nothing", noon, noon, timeline.Span{}},
	} {
		if got := timeline.Between(test.since, test.until).At(noon); got != test.want {
			t.Errorf("%s: %+v", test.reason, got)
		}
	}
}
