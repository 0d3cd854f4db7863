package times_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/timeline/recur"
)

// The lists of testdata/holidays are for these years.
const firstListed, lastListed = 2026, 2028

// list has the days of a place by year, and the last year that was checked; 0: none.
type list struct {
	days    map[string]string
	checked int
}

// lists reads the lists of all places, such as AT and DE-BE. A section begins with its source.
func lists(t *testing.T) map[string]list {
	t.Helper()
	files, err := filepath.Glob("testdata/holidays/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	all := map[string]list{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head := map[string]string{}
		for line := range strings.Lines(string(raw)) {
			key, value, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "#")), ": ")
			place, year, isList := strings.Cut(key, " ")
			switch {
			case strings.HasPrefix(line, "#"):
				head[key] = value
			case isList:
				if head["source"] == "" || head["read"] == "" {
					t.Errorf("%s: the list of %s has no source or no day on which the source was read", file, place)
				}
				checked, _ := strconv.Atoi(head["checked until"]) // none is 0
				if all[place].days == nil {
					all[place] = list{map[string]string{}, checked}
				}
				all[place].days[year] = value
			}
		}
	}
	return all
}

// Each offered country and subdivision has a list for each year, whose source is named in the file.
func TestHolidaysAreThoseOfTheLists(t *testing.T) {
	listed := lists(t)
	for _, country := range times.Countries() {
		for _, sub := range append(times.Subdivisions(country), "") {
			spec := v1alpha1.CalendarHolidays{Country: country}
			if sub != "" {
				spec.Subdivisions = []string{sub}
			}
			all, errs := times.ParseHolidays(spec, nil)
			if len(errs) > 0 {
				continue // only subdivisions are known
			}
			place := strings.TrimSuffix(country+"-"+sub, "-")
			got := map[string]string{}
			for d := time.Date(firstListed, 1, 1, 0, 0, 0, 0, time.UTC); d.Year() <= lastListed; d = d.AddDate(0, 0, 1) {
				if slices.ContainsFunc(all, func(h timeline.NamedDays) bool { return recur.Has(h.Days, d.Unix()/recur.DaySeconds) }) {
					got[d.Format("2006")] = strings.TrimSpace(got[d.Format("2006")] + d.Format(" 01-02"))
				}
			}
			if diff := cmp.Diff(listed[place].days, got); diff != "" {
				t.Errorf("%s: the list (-) and the product (+) differ:\n%s", place, diff)
			}
			if until := times.CheckedUntil(country, sub); until != listed[place].checked {
				t.Errorf("%s is checked until %d by checked.go and until %d by the list", place, until, listed[place].checked)
			}
			delete(listed, place)
		}
	}
	for place := range listed {
		t.Errorf("%s has a list and is not offered", place)
	}
}

func TestUncheckedYearsAreNamed(t *testing.T) {
	for want, tc := range map[string]struct {
		spec *v1alpha1.CalendarHolidays
		now  string
	}{
		"": {&v1alpha1.CalendarHolidays{Country: "DE", Subdivisions: []string{"BE"}}, "2027-11-01"},
		"the holidays of DE-BE, DE-BB were checked until 2028: compare later years with an official list": {
			&v1alpha1.CalendarHolidays{Country: "DE", Subdivisions: []string{"BE", "BB"}}, "2027-12-01"},
		"the holidays of MW were not checked against an official list: compare status.coming with one": {
			&v1alpha1.CalendarHolidays{Country: "MW"}, "2026-01-01"},
		"the holidays of AU-NSW were checked until 2027: compare later years with an official list; " +
			"the holidays of AU-VIC were not checked against an official list: compare status.coming with one": {
			&v1alpha1.CalendarHolidays{Country: "AU", Subdivisions: []string{"NSW", "VIC"}}, "2026-11-29"},
	} {
		now, err := time.Parse(time.DateOnly, tc.now)
		if err != nil {
			t.Fatal(err)
		}
		if got := times.Unchecked(tc.spec, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := times.Unchecked(nil, time.Date(2199, 1, 1, 0, 0, 0, 0, time.UTC)); got != "" {
		t.Errorf("a calendar without holidays: %q", got)
	}
}
