package times_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teambition/rrule-go"
	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/timeline"
)

const day = 24 * time.Hour

// world has every quarter of an hour of some months in a zone, and the first instant of each reading of the zone's clock, for two
// more months.
type world struct {
	at    []time.Time
	first map[time.Time]time.Time // by readings, written as times in UTC
}

func worldOf(t *testing.T, zone string) world {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	w := world{first: map[time.Time]time.Time{}}
	var last time.Time
	for at := time.Date(2025, 12, 1, 0, 0, 0, 0, time.UTC).Add(-day); at.Year() < 2027 || at.Month() < 5; at = at.Add(15 * time.Minute) {
		l := at.In(loc)
		shown := time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)
		for skipped := last.Add(15 * time.Minute); !last.IsZero() && skipped.Before(shown); skipped = skipped.Add(15 * time.Minute) {
			w.first[skipped] = w.first[last].Add(skipped.Sub(last)) // the offset from before the gap
		}
		if _, again := w.first[shown]; !again {
			w.first[shown] = at
		}
		if last = shown; at.Year() < 2027 || at.Month() < 3 {
			w.at = append(w.at, at)
		}
	}
	return w
}

// on reports for each instant whether it lies in an occurrence. The length has days of the clock and elapsed time.
func (w world) on(starts []time.Time, days int, elapsed time.Duration) []bool {
	on := make([]bool, len(w.at))
	for _, s := range starts {
		end := w.first[s.AddDate(0, 0, days)].Add(elapsed)
		i, _ := slices.BinarySearchFunc(w.at, w.first[s], time.Time.Compare)
		for ; i < len(on) && w.at[i].Before(end); i++ {
			on[i] = true
		}
	}
	return on
}

// TestRulesAgainstAnotherLibrary draws rules and compares the timeline of the event, over both clock changes of a year,
// with the occurrences that rrule-go lists.
func TestRulesAgainstAnotherLibrary(t *testing.T) {
	zones := []string{"Europe/Berlin", "America/Santiago", "Africa/Cairo", "UTC"}
	worlds := map[string]world{}
	for _, z := range zones {
		worlds[z] = worldOf(t, z)
	}
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		start := time.Date(2025, 12, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 300*96).Draw(t, "start")) * 15 * time.Minute)
		days, elapsed := rapid.IntRange(0, 2).Draw(t, "days"), time.Duration(rapid.IntRange(1, 2*96).Draw(t, "elapsed"))*15*time.Minute
		length := fmt.Sprintf("DURATION:P%dDT%dM", days, int(elapsed.Minutes()))
		rule := drawRule(t, start)
		opt, err := rrule.StrToROption(rule)
		if err != nil {
			t.Fatal(err)
		}
		opt.Dtstart = start
		all, err := rrule.NewRRule(*opt)
		if err != nil {
			t.Fatal(err)
		}
		found := all.Between(start, time.Date(2027, 4, 1, 0, 0, 0, 0, time.UTC), true)
		starts := withStart(found, start)
		var left []string
		for len(starts) > 1 && rapid.IntRange(0, 2).Draw(t, "leave out") == 0 {
			i := rapid.IntRange(0, len(starts)-1).Draw(t, "which")
			left, starts = append(left, starts[i].Format("20060102T150405")), slices.Delete(slices.Clone(starts), i, i+1)
		}
		lines := []string{"DTSTART;TZID=" + zone + ":" + start.Format("20060102T150405"), length, "RRULE:" + rule}
		if len(left) > 0 {
			lines = append(lines, "EXDATE;TZID="+zone+":"+strings.Join(left, ","))
		}
		text := event(lines...)
		events, problems, err := parse(text, time.UTC)
		if err != nil || len(problems) > 0 {
			if len(found) == 0 { // the rule may have no day at all
				return
			}
			t.Fatal(rule, problems, err)
		}
		line, errs := timeline.ParseCalendar("c", timeline.CalendarSpec{Events: events}, nil)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		w := worlds[zone]
		want := w.on(starts, days, elapsed)
		for i, at := range w.at {
			transition := i > 0 && want[i] != want[i-1] || i+1 < len(want) && want[i] != want[i+1]
			if !transition && i%397 != 0 {
				continue
			}
			if line.At(at).Active != want[i] {
				t.Fatalf("%s from %s for %s without %v: at %s is %v", rule, start, length, left, at, !want[i])
			}
			if i%5 != 0 {
				continue
			}
			next := i + slices.Index(want[i:], !want[i])
			if until, _ := line.Next(at); next >= i && !until.Equal(w.at[next]) {
				t.Fatalf("%s from %s for %s without %v: at %s, the next change is %s, want %s", rule, start, length, left, at, until, w.at[next])
			}
		}
	})
}

// withStart returns the starts with that of the event, which rrule-go leaves out if the rule has another day.
func withStart(found []time.Time, start time.Time) []time.Time {
	if len(found) > 0 && found[0].Equal(start) {
		return found
	}
	return append([]time.Time{start}, found...)
}

// drawRule draws a rule of a common form. It avoids BYDAY with numbered and unnumbered days together, and weeks of the
// year, because rrule-go differs from RFC 5545 there.
func drawRule(t *rapid.T, start time.Time) string {
	numbers := func(low, high int) string {
		var parts []string
		for range rapid.IntRange(1, 3).Draw(t, "how many") {
			parts = append(parts, fmt.Sprint(rapid.IntRange(low, high).Filter(func(n int) bool { return n != 0 }).Draw(t, "number")))
		}
		return strings.Join(parts, ",")
	}
	days := func(places []string) string {
		var parts []string
		for range rapid.IntRange(1, 3).Draw(t, "days") {
			parts = append(parts, rapid.SampledFrom(places).Draw(t, "place")+
				rapid.SampledFrom([]string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}).Draw(t, "day"))
		}
		return strings.Join(parts, ",")
	}
	freq := rapid.SampledFrom([]string{"DAILY", "WEEKLY", "MONTHLY", "YEARLY"}).Draw(t, "freq")
	rule := fmt.Sprintf("FREQ=%s;INTERVAL=%d;WKST=%s", freq, rapid.IntRange(1, 4).Draw(t, "interval"),
		rapid.SampledFrom([]string{"MO", "SU", "WE"}).Draw(t, "wkst"))
	maybe := func() bool { return rapid.IntRange(0, 2).Draw(t, "maybe") == 0 }
	if maybe() {
		rule += ";BYMONTH=" + numbers(1, 12)
	}
	form := rapid.IntRange(0, 3).Draw(t, "form")
	switch {
	case form == 0:
	case freq == "WEEKLY" || freq == "DAILY":
		rule += ";BYDAY=" + days([]string{""})
	case form == 1:
		rule += ";BYMONTHDAY=" + numbers(-31, 31)
	case form == 2:
		rule += ";BYDAY=" + days([]string{"1", "2", "-1", "-2", "5"})
	default:
		rule += ";BYDAY=" + days([]string{""})
		if freq == "MONTHLY" {
			rule += ";BYSETPOS=" + numbers(-4, 4)
		}
	}
	switch rapid.IntRange(0, 3).Draw(t, "ends") {
	case 0:
		rule += fmt.Sprintf(";COUNT=%d", rapid.IntRange(1, 40).Draw(t, "count"))
	case 1:
		rule += ";UNTIL=" + start.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "until"))*day).Format("20060102T150405")
	}
	return rule
}

func event(lines ...string) string {
	return "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:a\r\n" + strings.Join(lines, "\r\n") + "\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
}
