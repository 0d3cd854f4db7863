package times_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
)

// calendarOf returns a calendar file with events. In the text of an event, a semicolon stands for the end of a line.
func calendarOf(zones string, events ...string) string {
	text := "BEGIN:VCALENDAR\r\n" + zones
	for _, e := range events {
		text += "BEGIN:VEVENT\r\n" + strings.ReplaceAll(e, " | ", "\r\n") + "\r\nEND:VEVENT\r\n"
	}
	return text + "END:VCALENDAR\r\n"
}

func parse(text string, own *time.Location) (events []timeline.Event, problems []string, err error) {
	read, err := times.ParseICS(text, own)
	return read.Events, read.Problems, err
}

// runsOf returns the times in 2037 at which the events are on, in Berlin's zone.
func runsOf(t *testing.T, text string, from, to time.Time) (runs, problems []string) {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	events, problems, err := parse(text, berlin)
	if err != nil {
		t.Fatal(err)
	}
	line, errs := timeline.ParseCalendar("", timeline.CalendarSpec{TimeZone: "Europe/Berlin", Events: events}, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for at := from; at.Before(to); {
		st := line.At(at)
		if st.Active {
			runs = append(runs, st.Since.In(berlin).Format("0102 15:04")+"-"+st.Until.In(berlin).Format("0102 15:04")+" "+st.Name)
		}
		if st.Until.IsZero() {
			break
		}
		at = st.Until
	}
	return runs, problems
}

func TestEachFormOfAnEventIsRead(t *testing.T) {
	outlook := "BEGIN:VTIMEZONE\r\nTZID:W. Europe Standard Time\r\nBEGIN:STANDARD\r\n" +
		"DTSTART:16010101T030000\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\nRRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10\r\nEND:STANDARD\r\n" +
		"BEGIN:DAYLIGHT\r\nDTSTART:16010101T020000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nRRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3\r\n" +
		"END:DAYLIGHT\r\nEND:VTIMEZONE\r\n"
	for _, tc := range []struct {
		reason string
		events []string
		want   []string
	}{
		{"all day", []string{"SUMMARY:a | DTSTART;VALUE=DATE:20370511"}, []string{"0511 00:00-0512 00:00 a"}},
		{"days, the end excluded", []string{"SUMMARY:a | DTSTART;VALUE=DATE:20370511 | DTEND;VALUE=DATE:20370513"},
			[]string{"0511 00:00-0513 00:00 a"}},
		{"UTC", []string{"SUMMARY:a | DTSTART:20370511T100000Z | DTEND:20370511T110000Z"}, []string{"0511 12:00-0511 13:00 a"}},
		{"floating, with a duration", []string{"SUMMARY:a | DTSTART:20370511T100000 | DURATION:P1DT2H"}, []string{"0511 10:00-0512 12:00 a"}},
		{"another zone", []string{"SUMMARY:a | DTSTART;TZID=America/New_York:20370511T100000 | DTEND;TZID=Europe/Berlin:20370511T170000"},
			[]string{"0511 16:00-0511 17:00 a"}},
		{"a zone that the file describes, on both sides of a change of the clock", []string{
			"SUMMARY:a | DTSTART;TZID=W. Europe Standard Time:20370328T100000 | DURATION:PT1H",
			"SUMMARY:b | DTSTART;TZID=W. Europe Standard Time:20370330T100000 | DURATION:PT1H"},
			[]string{"0328 10:00-0328 11:00 a", "0330 10:00-0330 11:00 b"}},
		{"a week, one left out, one moved, one cancelled", []string{
			"UID:1 | SUMMARY:a | DTSTART;TZID=Europe/Berlin:20370511T100000 | DURATION:PT1H | RRULE:FREQ=DAILY;COUNT=5 | " +
				"EXDATE;TZID=Europe/Berlin:20370512T100000",
			"UID:1 | SUMMARY:moved | RECURRENCE-ID;TZID=Europe/Berlin:20370513T100000 | DTSTART;TZID=Europe/Berlin:20370513T150000 | DURATION:PT1H",
			"UID:1 | RECURRENCE-ID:20370514T080000Z | DTSTART:20370514T080000Z | DURATION:PT1H | STATUS:CANCELLED"},
			[]string{"0511 10:00-0511 11:00 a", "0513 15:00-0513 16:00 moved", "0515 10:00-0515 11:00 a"}},
		{"further dates", []string{"SUMMARY:a | DTSTART:20370511T100000 | DURATION:PT1H | RDATE:20370513T120000,20370514T120000"},
			[]string{"0511 10:00-0511 11:00 a", "0513 12:00-0513 13:00 a", "0514 12:00-0514 13:00 a"}},
		{"cancelled", []string{"SUMMARY:a | DTSTART:20370511T100000 | DURATION:PT1H | STATUS:CANCELLED"}, nil},
		{"a long line, and a parameter in quotes", []string{"SUMMARY;X=\"a:b;c\":a\\, b |   and c | DTSTART:20370511T1000 | 00 | DURATION:PT1H"},
			[]string{"0511 10:00-0511 11:00 a, b and c"}},
		{"until the last Friday of May, weekends from Friday to Monday", []string{
			"SUMMARY:a | DTSTART;TZID=Europe/Berlin:20370515T180000 | DTEND;TZID=Europe/Berlin:20370518T060000 | " +
				"RRULE:FREQ=WEEKLY;UNTIL=20370529T160000Z"},
			[]string{"0515 18:00-0518 06:00 a", "0522 18:00-0525 06:00 a", "0529 18:00-0601 06:00 a"}},
	} {
		text := calendarOf(outlook, tc.events...)
		text = strings.ReplaceAll(text, "T1000\r\n00", "T1000\r\n 00")
		got, problems := runsOf(t, text, time.Date(2037, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2038, 1, 1, 0, 0, 0, 0, time.UTC))
		if !slices.Equal(got, tc.want) || len(problems) > 0 {
			t.Errorf("%s: %q, problems %q", tc.reason, got, problems)
		}
	}
}

// An unreadable event is reported with its line, and the other events are still used.
func TestUnreadableEventIsReportedWithItsLine(t *testing.T) {
	fine := "SUMMARY:fine | DTSTART;VALUE=DATE:20370511"
	timed := "SUMMARY:bad | DTSTART:20370601T100000 | DURATION:PT1H | "
	for _, tc := range []struct{ event, want string }{
		{"SUMMARY:bad", `"bad", line 6: the event has no DTSTART`},
		{"SUMMARY:bad | DTSTART:tomorrow", `"bad", line 8: DTSTART is "tomorrow"`},
		{"SUMMARY:bad | DTSTART:20370230", `"bad", line 8: DTSTART is "20370230"`},
		{"SUMMARY:bad | DTSTART:20370601T100000 | DTEND:20370601T090000", `"bad", line 6: the event ends before it begins`},
		{"SUMMARY:bad | DTSTART:20370601T100000 | DURATION:1h", `"bad", line 9: DURATION is "1h"`},
		{"SUMMARY:bad | DTSTART;TZID=Mars/Olympus:20370601T100000",
			`"bad", line 8: DTSTART: the time zone "Mars/Olympus" is no IANA name, and the file has no VTIMEZONE of that name`},
		{"nonsense | SUMMARY:bad", `"bad", line 7: "nonsense" is no property`},
		{"SUMMARY:bad | URL;A=\"b:c", `"bad", line 8: a quoted parameter has no end`},
		{timed + "RRULE:FREQ=SECONDLY", `"bad", line 10: RRULE: FREQ=SECONDLY is not read: an event begins once a day at most`},
		{timed + "RRULE:FREQ=DAILY;BYHOUR=1,2,3", `"bad", line 10: RRULE: BYHOUR, BYMINUTE and BYSECOND are not read`},
		{timed + "RRULE:FREQ=YEARLY;BYWEEKNO=3", `"bad", line 10: RRULE: BYYEARDAY, BYWEEKNO and BYEASTER are not read`},
		{timed + "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", `"bad", line 10: RRULE: no day is like that`},
		{timed + "RRULE:FREQ=YEARLY;BYMONTH=13", `"bad", line 10: RRULE: bymonth must be between 1 and 12`},
		{timed + "RRULE:FREQ=WEEKLY;BYDAY=1MO", `"bad", line 10: RRULE: BYDAY has a number only with FREQ=MONTHLY or YEARLY`},
		{timed + "RRULE:FREQ=DAILY;COUNT=2;UNTIL=20370701", `"bad", line 10: RRULE: give COUNT or UNTIL, and not both`},
		{timed + "RRULE:FREQ=DAILY;COUNT=9;COUNT=2", `"bad", line 10: RRULE: COUNT comes twice`},
		{timed + "RRULE:nonsense", `"bad", line 10: RRULE: wrong format`},
		{timed + "RRULE:FREQ=DAILY | RRULE:FREQ=WEEKLY", `"bad", line 10: RRULE: there are several, where one is read`},
	} {
		got, problems := runsOf(t, calendarOf("", fine, tc.event), time.Date(2037, 5, 1, 0, 0, 0, 0, time.UTC),
			time.Date(2037, 12, 1, 0, 0, 0, 0, time.UTC))
		if len(got) != 1 || len(problems) != 1 || !strings.HasPrefix(problems[0], tc.want) {
			t.Errorf("%s: %q, problems %q", tc.event, got, problems)
		}
	}
	for _, text := range []string{"", "hello", "BEGIN:VEVENT\nEND:VEVENT",
		strings.Repeat("BEGIN:VCALENDAR\n", 20), strings.Repeat("a", times.MaxICSBytes+1)} {
		if _, err := times.ParseICS(text, time.UTC); err == nil {
			t.Errorf("%.40q is taken for a calendar", text)
		}
	}
}

// The number of events of a file is bounded, and so are the number of recurring events and the number of reported
// problems.
func TestNumberOfEventsIsBounded(t *testing.T) {
	var many []string
	for i := range times.MaxEvents + 50 {
		many = append(many, fmt.Sprintf("SUMMARY:%d | DTSTART;VALUE=DATE:20370511", i))
	}
	events, problems, err := parse(calendarOf("", many...), time.UTC)
	if err != nil || len(events) != times.MaxEvents || len(problems) != 21 || problems[20] != "and 30 more events" {
		t.Errorf("%d events, %d problems, %v", len(events), len(problems), err)
	}
	for i := range many {
		many[i] += " | RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;INTERVAL=3"
	}
	events, _, _ = parse(calendarOf("", many...), time.UTC)
	recur := 0
	for _, e := range events {
		if e.Days != nil {
			recur++
		}
	}
	if recur != times.MaxRecurring {
		t.Errorf("%d events recur", recur)
	}
}

// The number of time zones of a file is bounded, and a long name is cut between characters.
func TestZonesAndNamesAreBounded(t *testing.T) {
	zones, events := "", []string{}
	for i := range 40 {
		id := fmt.Sprintf("zone %d", i)
		zones += fmt.Sprintf(
			"BEGIN:VTIMEZONE\r\nTZID:%s\r\nBEGIN:STANDARD\r\nDTSTART:16010101T000000\r\nTZOFFSETFROM:+0100\r\n"+
				"TZOFFSETTO:+01%02d\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n", id, i)
		events = append(events, "SUMMARY:"+strings.Repeat("ö", 40)+" | DTSTART;TZID="+id+":20370511T100000 | DURATION:PT1H")
	}
	got, problems, err := parse(calendarOf(zones, events...), time.UTC)
	if err != nil || len(got) != 32 || len(problems) != 8 || !strings.Contains(problems[0], "more than 32 time zones") {
		t.Errorf("%d events, %q, %v", len(got), problems, err)
	}
	if want := strings.Repeat("ö", 30) + "…"; got[0].Name != want {
		t.Errorf("the name is %q", got[0].Name)
	}
}

// FuzzParse: for any file, Parse returns events or an error and does not panic.
func FuzzParse(f *testing.F) {
	f.Add(calendarOf("", "SUMMARY;A=\"b\":a | DTSTART;VALUE=DATE:20370511 | RRULE:FREQ=MONTHLY;BYDAY=-1FR;BYSETPOS=1 | EXDATE:20370512",
		"DTSTART;TZID=x:20370511T000000"))
	f.Add(
		"BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:x\nBEGIN:STANDARD\nTZOFFSETTO:+01\nEND:STANDARD\nEND:VTIMEZONE\n" +
			"BEGIN:VEVENT\nDTSTART;TZID=x:20370511T000000\nEND:VEVENT\nEND:VCALENDAR")
	f.Fuzz(func(t *testing.T, text string) {
		events, _, err := parse(text, time.UTC)
		if err != nil {
			return
		}
		line, errs := timeline.ParseCalendar("c", timeline.CalendarSpec{Events: events}, nil)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		line.At(time.Date(2037, 5, 11, 0, 0, 0, 0, time.UTC))
	})
}
