package times_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/engine/policy/times"
)

// TestFilesOverTheBudgetAreRefused gives files whose reading would take seconds of processor time.
func TestFilesOverTheBudgetAreRefused(t *testing.T) {
	within := func(lines ...string) string { return "BEGIN:VEVENT\n" + strings.Join(lines, "\n") + "\nEND:VEVENT\n" }
	rule := func(text string) string { return within("DTSTART;VALUE=DATE:20270101", "RRULE:"+text) }
	zones := ""
	for _, id := range strings.Fields("a b c d e f") {
		zones += "BEGIN:VTIMEZONE\nTZID:" + id + "\n" + strings.Repeat("BEGIN:STANDARD\nDTSTART:19720229T000000\n"+
			"RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;COUNT=100\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\nEND:STANDARD\n", 10) + "END:VTIMEZONE\n" +
			within("DTSTART;TZID="+id+":20270101T100000", "DURATION:PT1H")
	}
	calendars, manyZones := "", ""
	for i := range 3000 {
		event := within(fmt.Sprintf("DTSTART;TZID=x/%d:20270101T100000", i), "DURATION:PT1H")
		if calendars += event; i%10 == 9 {
			calendars += "END:VCALENDAR\nBEGIN:VCALENDAR\n"
		}
		if i < 32 {
			manyZones += event
		}
	}
	for name, content := range map[string]string{
		"rules":  strings.Repeat(rule("FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=100000"), 64),
		"no day": strings.Repeat(rule("FREQ=YEARLY;BYDAY=MO;BYSETPOS=200"), 64),
		"lines":  strings.Repeat("x\n", times.MaxICSBytes/2-100),
		"dates": within("DTSTART:20270101", "RDATE:20270101"+strings.Repeat(",20270102", 9999),
			"EXDATE:20280101"+strings.Repeat(",20280102", 9999)),
		"zones": zones,
		"moved": strings.Repeat(within("UID:a", "RECURRENCE-ID:20270101", "DTSTART:20270101"), 3000) +
			strings.Repeat(within("UID:a", "DTSTART:20270101", "RDATE:x"), 3000),
		"calendars with zones":  calendars,
		"descriptions of zones": manyZones + strings.Repeat("BEGIN:VTIMEZONE\nTZID:x\nEND:VTIMEZONE\n", 20_000),
	} {
		read, err := times.ParseICS("BEGIN:VCALENDAR\n"+content+"END:VCALENDAR\n", time.UTC)
		if err == nil || !strings.HasPrefix(err.Error(), "takes too long to read, up to line") || len(read.Events) > 0 {
			t.Errorf("%s: %d events, %v", name, len(read.Events), err)
		}
	}
}

func TestCountsBeyondTheHorizonAreEndless(t *testing.T) {
	for count, endless := range map[string]bool{"100": false, "1000": true} {
		events, problems, err := parse(event("DTSTART;VALUE=DATE:20270101", "RRULE:FREQ=YEARLY;COUNT="+count), time.UTC)
		if err != nil || len(problems) > 0 || len(events) != 1 {
			t.Fatal(events, problems, err)
		}
		if (events[0].Last == 0) != endless {
			t.Errorf("COUNT=%s: the last day is %d", count, events[0].Last)
		}
	}
}
