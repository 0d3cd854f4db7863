package times_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
)

const file = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:move\n" +
	"DTSTART;TZID=Europe/Berlin:20370512T220000\nDTEND;TZID=Europe/Berlin:20370513T040000\nEND:VEVENT\nEND:VCALENDAR\n"

// A calendar is on whenever one of its parts is: dates, the holidays of a country, a file, or other calendars.
func TestPartsOfACalendar(t *testing.T) {
	others, _ := times.Calendar("other", v1alpha1.CalendarSpec{TimeZone: "Europe/Berlin",
		Dates: []v1alpha1.CalendarDate{{Date: "2037-07-01", Name: "day off"}}}, times.Sources{}, at)
	sources := times.Sources{
		Calendars: func(name string) (timeline.Timeline, bool) { return others.Days, name == "other" },
		Text: func(key v1alpha1.ConfigMapKey) (string, error) {
			if key.Name != "calendar" {
				return "", errors.New("there is no ConfigMap")
			}
			return file, nil
		},
	}
	key := &v1alpha1.ConfigMapKey{Namespace: "ops", Name: "calendar", Key: "calendar.ics"}
	spec := v1alpha1.CalendarSpec{TimeZone: "Europe/Berlin", Include: []string{"other"}, ICS: &v1alpha1.CalendarICS{ConfigMap: key},
		Holidays: &v1alpha1.CalendarHolidays{Country: "DE", Subdivisions: []string{"BY"}, Only: []string{"Fronleichnam"}}}
	c, errs := times.Calendar("c", spec, sources, at)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var got []string
	for _, r := range c.Days.Coming(time.Date(2037, 5, 1, 0, 0, 0, 0, berlin(t)), 100, 9) {
		got = append(got, r.First.Format("01-02")+" "+r.Last.Format("01-02")+" "+r.Name)
	}
	if want := []string{"05-12 05-13 c: move", "06-04 06-04 c: Fronleichnam", "07-01 07-01 other: day off"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for want, change := range map[string]func(*v1alpha1.CalendarSpec){
		`spec.windows.include[0]: Invalid value: "nowhere": there is no valid Calendar of this name`: func(s *v1alpha1.CalendarSpec) { s.Include = []string{"nowhere"} },
		`spec.windows.ics.configMap: Invalid value: "ops/none calendar.ics": there is no ConfigMap`: func(s *v1alpha1.CalendarSpec) {
			s.ICS = &v1alpha1.CalendarICS{ConfigMap: &v1alpha1.ConfigMapKey{Namespace: "ops", Name: "none", Key: "calendar.ics"}}
		},
		`spec.windows.ics.inline: Invalid value: "the file": is no calendar file of RFC 5545`: func(s *v1alpha1.CalendarSpec) { s.ICS = &v1alpha1.CalendarICS{Inline: "hello"} },
		`spec.windows.ics: Required value: give inline or configMap, and not both`:            func(s *v1alpha1.CalendarSpec) { s.ICS = &v1alpha1.CalendarICS{Inline: "hello", ConfigMap: key} },
		`spec.windows.holidays.country: Invalid value: "XX"`:                                  func(s *v1alpha1.CalendarSpec) { s.Holidays = &v1alpha1.CalendarHolidays{Country: "XX"} },
	} {
		bad := spec
		change(&bad)
		if _, errs := times.Calendar("c", bad, sources, at); len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), want) {
			t.Errorf("%v, want %s", errs, want)
		}
	}
	spec.Include = []string{"nowhere"}
	if _, errs := times.Calendar("c", spec, times.Sources{}, at); len(errs) > 0 {
		t.Errorf("at apply, what is not there may come: %v", errs)
	}
}

func TestCycleNamesTheLoopOfCalendars(t *testing.T) {
	includes := map[string][]string{"a": {"b", "c"}, "b": {"d"}, "c": {"d", "e"}, "e": {"c"}, "f": {"f"}}
	for name, want := range map[string]string{"a": "", "b": "", "c": "c e c", "e": "e c e", "f": "f f"} {
		if got := strings.Join(times.Cycle(name, func(n string) []string { return includes[n] }), " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
