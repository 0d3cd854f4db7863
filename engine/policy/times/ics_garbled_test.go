package times_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
)

// TestAGarbledLineOpensNothing garbles a line of a random file. At each instant, an event of the good file is an event or a lost one of
// the garbled file, so a frozen day stays shut. An event of the garbled file is one of the good file, so an open day is not made.
func TestAGarbledLineOpensNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := drawFile(t)
		good, _, _ := activeIn(t, strings.Join(lines, "\n"))
		garbled, how := garble(t, lines)
		on, lost, ok := activeIn(t, garbled)
		if !ok {
			return // the whole file is refused
		}
		for at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2028; at = at.Add(time.Hour) {
			if at.Hour() < 7 || at.Hour() > 14 { // every event lies in these hours
				continue
			}
			was, is := good.At(at).Active, on.At(at).Active
			if was && !is && !lost.At(at).Active || is && !was {
				t.Fatalf("%s: %s was %t and is %t\n%s\nbecomes\n%s", how, at, was, is, strings.Join(lines, "\n"), garbled)
			}
		}
	})
}

// activeIn returns the times of the events and of the lost events of a file; false: it is refused.
func activeIn(t *rapid.T, text string) (on, lost timeline.Timeline, ok bool) {
	read, err := times.ParseICS(text, time.UTC)
	if err != nil {
		return on, lost, false
	}
	compiled := func(events []timeline.Event) timeline.Timeline {
		line, errs := timeline.ParseCalendar("", timeline.CalendarSpec{Events: events}, nil)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return line
	}
	return compiled(read.Events), compiled(read.Lost), true
}

// valued matches the properties whose values a garbled file changes.
var valued = regexp.MustCompile(`^(DTSTART|DTEND|RDATE|EXDATE|RECURRENCE-ID|RRULE|TZOFFSETTO)\b`)

// garble makes a line or two lines or a value unreadable, leaves out a line that ends a component, or cuts the file.
func garble(t *rapid.T, lines []string) (text, how string) {
	at := rapid.IntRange(1, len(lines)-2).Draw(t, "line")
	before, line, next, after := lines[:at:at], lines[at], lines[at+1], lines[at+2:]
	name, value, _ := strings.Cut(line, ":")
	isValue := valued.MatchString(name)
	switch how = rapid.SampledFrom([]string{"colon", "space", "quote", "end", "cut", "value", "zone", "colons"}).Draw(t, "how"); {
	case how == "cut":
		return strings.Join(before, "\n"), how
	case how == "end" && name == "END":
		return strings.Join(append(append(before, next), after...), "\n"), how
	case how == "space":
		line = strings.Replace(line, ":", " :", 1)
	case how == "quote":
		short, _, _ := strings.Cut(name, ";")
		line = short + `;X="` + line
	case how == "value" && isValue:
		line = name + ":soon"
	case how == "zone" && isValue && strings.Contains(name, ";"):
		line = strings.Replace(name, "TZID=", "TZID=Nowhere/", 1) + ":" + value
	case how == "colons":
		line, next = strings.ReplaceAll(line, ":", " "), strings.ReplaceAll(next, ":", " ")
	default:
		line = strings.ReplaceAll(line, ":", " ")
	}
	return strings.Join(append(append(before, line, next), after...), "\n"), how + " of line " + fmt.Sprint(at+1)
}

// drawFile draws a file with a time zone, series, changes of occurrences, and single events.
func drawFile(t *rapid.T) []string {
	lines := strings.Split("BEGIN:VCALENDAR\nVERSION:2.0\nX-WR-CALNAME:company\nBEGIN:VTIMEZONE\nTZID:Office\nBEGIN:STANDARD\n"+
		"DTSTART:19701025T030000\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100\nRRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\nEND:STANDARD\n"+
		"BEGIN:DAYLIGHT\nDTSTART:19700329T020000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\n"+
		"END:DAYLIGHT\nEND:VTIMEZONE", "\n")
	add := func(text string) { lines = append(lines, strings.Split(text, "\n")...) }
	for uid := range rapid.IntRange(1, 3).Draw(t, "events") {
		zone := rapid.SampledFrom([]string{";TZID=Office:", ";TZID=Europe/Berlin:", ":"}).Draw(t, "zone")
		start := time.Date(2027, 1, 1, 10, 0, 0, 0, time.UTC).AddDate(0, 0, rapid.IntRange(0, 200).Draw(t, "start"))
		form := func(days int) string { return start.AddDate(0, 0, days).Format("20060102T150405") }
		event := func(start int, more string) {
			text := rapid.SampledFrom([]string{"", "\nDESCRIPTION:one\ntwo: three", "\nSUMMARY:x"}).Draw(t, "text")
			add(fmt.Sprintf("BEGIN:VEVENT\nUID:%d%s\nDTSTART%s%s\nDTEND%s%s%s", uid, text, zone, form(start), zone,
				strings.Replace(form(start), "T10", "T14", 1), more))
			if rapid.Bool().Draw(t, "alarm") {
				add("BEGIN:VALARM\nTRIGGER:-PT5M\nDESCRIPTION:x\nEND:VALARM")
			}
			add("END:VEVENT")
		}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			event(0, "")
			continue
		case 1:
			event(0, "\nRDATE"+zone+form(3)+"\nEXDATE"+zone+form(0))
		case 2:
			event(0, "\nRRULE:FREQ=DAILY;COUNT=9\nEXDATE"+zone+form(2))
		default:
			event(0, "\nSTATUS:CONFIRMED\nRRULE:FREQ=WEEKLY;UNTIL=20271201")
		}
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			of := rapid.SampledFrom([]int{0, 3, 7}).Draw(t, "of")
			event(of+rapid.IntRange(-20, 20).Draw(t, "to"), "\nRECURRENCE-ID"+zone+form(of)+
				rapid.SampledFrom([]string{"", "\nSTATUS:CANCELLED"}).Draw(t, "status"))
		}
	}
	return append(lines, "END:VCALENDAR")
}
