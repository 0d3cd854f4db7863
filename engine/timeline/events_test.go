package timeline_test

import (
	"testing"
	"time"

	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/timeline/recur"
)

const (
	hour = int64(60 * 60)
	day  = 24 * hour
)

// reading returns the seconds of a date and time on the clock face.
func reading(t *testing.T, text string) int64 {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return at.Unix()
}

// recurring returns an event of some seconds that recurs by a rule.
func recurring(t *testing.T, start string, seconds int64, rule recur.Recurrence) timeline.Event {
	t.Helper()
	e := timeline.Event{Start: reading(t, start)}
	e.End = e.Start + seconds
	rule.Start = recur.FloorDiv(e.Start, day)
	days, err := rule.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	e.Days = days
	return e
}

func daysOf(t *testing.T, dates ...string) (days recur.Listed) {
	t.Helper()
	for _, d := range dates {
		days = append(days, reading(t, d+" 00:00")/day)
	}
	return recur.NewListed(days...)
}

// TestSingleEventsHaveTheirOwnZone: an event without a zone is in the zone of its calendar.
func TestSingleEventsHaveTheirOwnZone(t *testing.T) {
	single := func(name, from, to string, zone *time.Location) timeline.Event {
		return timeline.Event{Name: name, Start: reading(t, from), End: reading(t, to), Zone: zone}
	}
	c := mustCalendar(t, "c", timeline.CalendarSpec{TimeZone: "Europe/Berlin", Events: []timeline.Event{
		single("fair", "2026-06-01 08:00", "2026-06-01 12:00", nil),
		single("show", "2026-06-01 11:00", "2026-06-02 01:00", nil),
		single("call", "2026-06-03 09:00", "2026-06-03 10:00", mustZone(t, "America/New_York")),
	}})
	check(t, c, []moment{
		{"2026-06-01T05:59:59Z", false, "", "2026-06-01T06:00:00Z", ""},
		{"2026-06-01T06:00:00Z", true, "2026-06-01T06:00:00Z", "2026-06-01T23:00:00Z", "c: fair"},
		{"2026-06-01T20:00:00Z", true, "2026-06-01T06:00:00Z", "2026-06-01T23:00:00Z", "c: show"},
		{"2026-06-02T12:00:00Z", false, "2026-06-01T23:00:00Z", "2026-06-03T13:00:00Z", ""},
		{"2026-06-03T13:30:00Z", true, "2026-06-03T13:00:00Z", "2026-06-03T14:00:00Z", "c: call"},
		{"2026-06-03T14:00:00Z", false, "2026-06-03T14:00:00Z", "", ""},
	})
	check(t, mustCalendar(t, "all", timeline.CalendarSpec{Include: []timeline.Timeline{c}}), []moment{
		{"2026-06-01T20:00:00Z", true, "2026-06-01T06:00:00Z", "2026-06-01T23:00:00Z", "c: show"},
	})
}

// TestRecurringEventsFollowTheirZone: in Berlin the clock skips 02:00 to 03:00 on 2026-03-29 and repeats it on 2026-10-25. By RFC
// 5545 a skipped start has the offset from before the gap, days of the length are days of the clock, and the rest is elapsed time.
func TestRecurringEventsFollowTheirZone(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		event   func() timeline.Event
		moments []moment
	}{
		{"a weekly evening from its start to its last day, without a day", func() timeline.Event {
			e := recurring(t, "2026-06-01 22:00", 4*hour, recur.Recurrence{Frequency: recur.Weekly})
			e.Elapsed, e.Left, e.Last = 4*hour, daysOf(t, "2026-06-08"), daysOf(t, "2026-06-15")[0]
			return e
		}, []moment{
			{"2026-05-25T21:00:00Z", false, "", "2026-06-01T20:00:00Z", ""},
			{"2026-06-01T23:59:59Z", true, "2026-06-01T20:00:00Z", "2026-06-02T00:00:00Z", "c: e"},
			{"2026-06-08T21:00:00Z", false, "2026-06-02T00:00:00Z", "2026-06-15T20:00:00Z", ""},
			{"2026-06-22T21:00:00Z", false, "2026-06-16T00:00:00Z", "", ""},
		}},
		{"a start that the clock skips", func() timeline.Event {
			e := recurring(t, "2026-03-28 02:30", hour, recur.Recurrence{})
			e.Elapsed = hour
			return e
		}, []moment{
			{"2026-03-28T02:00:00Z", true, "2026-03-28T01:30:00Z", "2026-03-28T02:30:00Z", "c: e"},
			{"2026-03-29T02:00:00Z", true, "2026-03-29T01:30:00Z", "2026-03-29T02:30:00Z", "c: e"},
			{"2026-03-29T12:00:00Z", false, "2026-03-29T02:30:00Z", "2026-03-30T00:30:00Z", ""},
		}},
		{"a day of the clock", func() timeline.Event {
			return recurring(t, "2026-03-28 12:00", day, recur.Recurrence{Frequency: recur.Monthly})
		}, []moment{{"2026-03-28T12:00:00Z", true, "2026-03-28T11:00:00Z", "2026-03-29T10:00:00Z", "c: e"}}},
		{"a day of elapsed time", func() timeline.Event {
			e := recurring(t, "2026-03-28 12:00", day, recur.Recurrence{Frequency: recur.Monthly})
			e.Elapsed = day
			return e
		}, []moment{{"2026-03-28T12:00:00Z", true, "2026-03-28T11:00:00Z", "2026-03-29T11:00:00Z", "c: e"}}},
		{"whole days join, from the start to the last day", func() timeline.Event {
			e := recurring(t, "2026-06-06 00:00", 2*day, recur.Recurrence{Interval: 2})
			e.Left, e.Last = daysOf(t, "2026-06-10"), daysOf(t, "2026-06-14")[0]
			return e
		}, []moment{
			{"2026-06-04T12:00:00Z", false, "", "2026-06-05T22:00:00Z", ""},
			{"2026-06-06T12:00:00Z", true, "2026-06-05T22:00:00Z", "2026-06-09T22:00:00Z", "c: e"},
			{"2026-06-10T12:00:00Z", false, "2026-06-09T22:00:00Z", "2026-06-11T22:00:00Z", ""},
			{"2026-06-15T12:00:00Z", true, "2026-06-11T22:00:00Z", "2026-06-15T22:00:00Z", "c: e"},
			{"2026-06-17T12:00:00Z", false, "2026-06-15T22:00:00Z", "", ""},
		}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			e := tc.event()
			e.Name = "e"
			check(t, mustCalendar(t, "c", timeline.CalendarSpec{TimeZone: "Europe/Berlin", Events: []timeline.Event{e}}), tc.moments)
		})
	}
}

// TestOccurrencesWithoutATimeBetweenAreOneRun: an event of a day on every day is on without an end, or until its last day or a day
// that is left out, however far away they are.
func TestOccurrencesWithoutATimeBetweenAreOneRun(t *testing.T) {
	daily := func(last string, left ...string) timeline.Timeline {
		e := recurring(t, "2000-01-01 06:00", day, recur.Recurrence{})
		e.Left = daysOf(t, left...)
		if last != "" {
			e.Last = daysOf(t, last)[0]
		}
		return mustCalendar(t, "", timeline.CalendarSpec{Events: []timeline.Event{e}})
	}
	const at, start = "2026-06-15T12:00:00Z", "2000-01-01T06:00:00Z"
	check(t, daily(""), []moment{{at, true, start, "", ""}, {"1999-06-15T12:00:00Z", false, "", start, ""}})
	check(t, daily("2060-03-01"), []moment{{at, true, start, "2060-03-02T06:00:00Z", ""}})
	check(t, daily("2026-06-20"), []moment{{at, true, start, "2026-06-21T06:00:00Z", ""}})
	check(t, daily("", "2010-05-01", "2050-05-01"), []moment{
		{at, true, "2010-05-02T06:00:00Z", "2050-05-01T06:00:00Z", ""},
		{"2050-05-01T12:00:00Z", false, "2050-05-01T06:00:00Z", "2050-05-02T06:00:00Z", ""},
	})
}

// TestFiringsBeforeAndAfterAnInstant: a firing at the instant itself is the last one.
func TestFiringsBeforeAndAfterAnInstant(t *testing.T) {
	berlin := mustZone(t, "Europe/Berlin")
	for _, tc := range []struct{ cron, at, last, next string }{
		{"0 20 * * 1-5", "2026-06-15T17:59:59Z", "2026-06-12T18:00:00Z", "2026-06-15T18:00:00Z"},
		{"0 20 * * 1-5", "2026-06-15T18:00:00Z", "2026-06-15T18:00:00Z", "2026-06-16T18:00:00Z"},
		{"@monthly", "2026-12-15T12:00:00Z", "2026-11-30T23:00:00Z", "2026-12-31T23:00:00Z"},
	} {
		firings, errs := timeline.ParseFirings(tc.cron, berlin, nil)
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		if last, next := firings.Around(utc(t, tc.at)); !last.Equal(utc(t, tc.last)) || !next.Equal(utc(t, tc.next)) {
			t.Errorf("%s around %s: %s and %s", tc.cron, tc.at, last, next)
		}
	}
	if _, errs := timeline.ParseFirings("at night", berlin, nil); len(errs) != 1 {
		t.Errorf("a cron that cannot be read has the errors %v", errs)
	}
}
