package times_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
)

// TestFilesHaveTheirOccurrences reads each file of testdata and compares its occurrences, lost times and problems with the list
// beside it. The first line of a list is the zone of the calendar, and a line is an occurrence in UTC.
func TestFilesHaveTheirOccurrences(t *testing.T) {
	files, err := filepath.Glob("testdata/*.ics")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".ics"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			list, err := os.ReadFile(strings.TrimSuffix(file, ".ics") + ".want")
			if err != nil {
				t.Fatal(err)
			}
			zone, want, _ := strings.Cut(string(list), "\n")
			own, err := time.LoadLocation(zone)
			if err != nil {
				t.Fatal(err)
			}
			read, err := times.ParseICS(string(text), own)
			if err != nil {
				t.Fatal(err)
			}
			got := occurrences(t, "", read.Events, zone) + occurrences(t, "lost ", read.Lost, zone)
			for _, p := range read.Problems {
				got += p + "\n"
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func occurrences(t *testing.T, before string, events []timeline.Event, zone string) (all string) {
	line, errs := timeline.ParseCalendar("", timeline.CalendarSpec{TimeZone: zone, Events: events}, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	const form = "2006-01-02T15:04Z"
	to := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC); at.Before(to); {
		st := line.At(at)
		since, until := "ever", "ever"
		if !st.Since.IsZero() {
			since = st.Since.UTC().Format(form)
		}
		if !st.Until.IsZero() && st.Until.Before(to) {
			until = st.Until.UTC().Format(form)
		}
		if st.Active {
			all += before + since + " " + until + "\n"
		}
		if st.Until.IsZero() {
			break
		}
		at = st.Until
	}
	return all
}
