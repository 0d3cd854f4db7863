package times_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/times"
)

// TestPartsAreTheCalendar checks that the parts of a calendar are on exactly when the calendar is on, and that each day has its
// source.
func TestPartsAreTheCalendar(t *testing.T) {
	ics := strings.Join([]string{"BEGIN:VCALENDAR", "BEGIN:VEVENT", "UID:a", "DTSTART;VALUE=DATE:20280301",
		"RDATE;VALUE=DATE:20280302,20280401", "END:VEVENT", "BEGIN:VEVENT", "UID:b", "SUMMARY:planning",
		"DTSTART;TZID=Europe/Berlin:20280105T090000", "DURATION:PT2H",
		"RRULE:FREQ=MONTHLY;BYDAY=1WE", "END:VEVENT", "END:VCALENDAR"}, "\r\n")
	key := v1alpha1.ConfigMapKey{Namespace: "ops", Name: "company", Key: "calendar.ics"}
	spec := v1alpha1.CalendarSpec{
		TimeZone: "Europe/Berlin",
		Dates:    []v1alpha1.CalendarDate{{Date: "2028-02-10"}, {Start: "2028-12-20", End: "2028-12-31"}},
		Yearly:   []v1alpha1.CalendarYearly{{Month: 7, Day: 1}},
		Holidays: &v1alpha1.CalendarHolidays{Country: "DE", Subdivisions: []string{"BE"}, Except: []string{"Karfreitag"}},
		ICS:      &v1alpha1.CalendarICS{ConfigMap: &key},
	}
	from := times.Sources{Text: func(v1alpha1.ConfigMapKey) (string, error) { return ics, nil }}
	whole, errs := times.Calendar("company", spec, from, nil)
	parts, more := times.Parts("company", spec, from)
	if errs = append(errs, more...); len(errs) > 0 {
		t.Fatal(errs)
	}
	sources := map[string]string{}
	for at := time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() == 2028; at = at.Add(30 * time.Minute) {
		on := false
		for _, part := range parts {
			if part.Days.At(at).Active {
				sources[at.Format(time.DateTime)] += part.Source + ";"
				on = true
			}
		}
		if want := whole.Days.At(at).Active; on != want {
			t.Fatalf("%s: a part is on: %t, the calendar: %t", at, on, want)
		}
	}
	const file = " of calendar.ics in the ConfigMap ops/company;"
	for at, want := range map[string]string{
		"2028-02-10 12:00:00": "spec.dates[0];",
		"2028-07-01 12:00:00": "spec.yearly[0];",
		"2028-06-17 12:00:00": "spec.holidays, by Gesetz über die Sonn- und Feiertage (Berlin), § 1;",
		"2028-12-25 12:00:00": "spec.dates[1];spec.holidays, by " + times.Library + " with corrections;",
		"2028-04-14 12:00:00": "",
		"2028-03-02 12:00:00": "line 2" + file,
		"2028-03-01 08:00:00": "line 2" + file + "line 7" + file,
		"2028-04-05 07:30:00": "line 7" + file,
	} {
		if sources[at] != want {
			t.Errorf("%s: %q, want %q", at, sources[at], want)
		}
	}
}

// TestHolidaysHaveTheSourceOfTheirSubdivision compares the sources of Easter Sunday 2028, which several laws make a holiday.
func TestHolidaysHaveTheSourceOfTheirSubdivision(t *testing.T) {
	easter := time.Date(2028, 4, 16, 12, 0, 0, 0, time.UTC)
	for subdivision, want := range map[string]string{
		"ACT": times.Library + " with corrections",
		"NT":  "Public Holidays Act 1981 (NT), as date-holidays has it",
		"SA":  "Public Holidays Act 2023 (SA)",
		"WA":  "Public and Bank Holidays Act 1972 (WA), as date-holidays has it",
	} {
		spec := v1alpha1.CalendarSpec{Holidays: &v1alpha1.CalendarHolidays{Country: "AU", Subdivisions: []string{subdivision}}}
		parts, errs := times.Parts("c", spec, times.Sources{})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		got := ""
		for _, part := range parts {
			if part.Days.At(easter).Active {
				got += part.Source
			}
		}
		if want = "spec.holidays, by " + want; got != want {
			t.Errorf("%s: %q, want %q", subdivision, got, want)
		}
	}
}

// TestLibraryIsThatOfTheModule checks that the version in messages is the version of the build.
func TestLibraryIsThatOfTheModule(t *testing.T) {
	text, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), times.Library+"\n") {
		t.Errorf("go.mod does not have %s", times.Library)
	}
}
