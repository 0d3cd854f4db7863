package times_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline/recur"
)

// The laws are named in corrections.go. Those of Romania and Italy are right in the library since v2.1.31.
func TestHolidaysAreThoseOfTheLawWhereTheLibraryIsWrong(t *testing.T) {
	for _, c := range []struct {
		country, subdivision string
		on, off              []string
	}{
		{"AR", "", []string{"2026-04-03", "2026-06-15", "2026-06-20", "2026-11-23", "2027-08-16", "2028-10-16"},
			[]string{"2026-06-17", "2026-06-19", "2026-11-20", "2027-03-25", "2027-08-17", "2028-10-12"}},
		{"AU", "NSW", []string{"2026-04-27", "2027-04-26"}, []string{"2028-04-26"}},
		{"BG", "", []string{"2026-04-11", "2026-04-12", "2027-05-01", "2027-05-04"}, nil},
		{"BR", "", []string{"2026-11-20"}, []string{"2026-02-17", "2026-06-04"}},
		{"CA", "", []string{"2026-09-30"}, []string{"2026-04-06", "2026-08-03"}},
		{"CH", "", []string{"2026-08-01"}, []string{"2026-01-02", "2026-03-19", "2026-12-08"}},
		{"CH", "AI", []string{"2025-12-26", "2027-12-26"}, []string{"2026-12-26", "2028-12-26"}},
		{"CH", "AR", []string{"2025-12-26", "2027-12-26"}, []string{"2026-12-26", "2028-12-26"}},
		{"CH", "LU", []string{"2026-06-04"}, []string{"2026-03-19"}},
		{"CH", "NE", []string{"2022-12-26", "2023-01-02"}, []string{"2023-12-26", "2024-01-02", "2026-06-04"}},
		{"CH", "SO", []string{"2026-06-04"}, []string{"2026-04-06", "2026-05-01", "2026-05-25", "2026-12-26"}},
		{"DE", "BE", []string{"2028-06-17"}, []string{"2027-06-17"}},
		{"DE", "BB", []string{"2026-04-05", "2026-05-24"}, nil},
		{"DE", "MV", []string{"2026-03-08"}, []string{"2022-03-08"}},
		{"DK", "", nil, []string{"2026-06-05"}},
		{"FR", "68", []string{"2026-04-03", "2026-12-26"}, nil},
		{"FR", "", nil, []string{"2026-04-03", "2026-12-26"}},
		{"GB", "SCT", []string{"2026-01-02", "2028-01-04", "2026-06-15", "2026-08-03", "2026-11-30"},
			[]string{"2026-04-06", "2026-08-31", "2027-06-15"}},
		{"GB", "NIR", []string{"2026-03-17", "2026-07-13", "2026-08-31"}, nil},
		{"GB", "ENG", []string{"2026-04-06", "2026-08-31"}, []string{"2026-03-17", "2026-11-30"}},
		{"HU", "", []string{"2026-01-02", "2026-12-24"}, []string{"2027-12-24"}},
		{"IS", "", []string{"2026-12-25"}, []string{"2026-12-24", "2026-12-31"}},
		{"LU", "", []string{"2026-05-09"}, []string{"2018-05-09"}},
		{"MX", "", []string{"2026-02-02", "2026-03-16", "2027-11-15"}, []string{"2026-02-05", "2026-03-21", "2027-04-30", "2027-12-24"}},
		{"RS", "", []string{"2026-02-15", "2026-02-16", "2026-02-17", "2028-01-03", "2016-05-03", "2021-05-04", "2027-05-03", "2027-05-04"},
			[]string{"2027-02-17", "2026-05-04"}},
		{"IT", "", []string{"2026-10-04"}, []string{"2025-10-04"}},
		{"NL", "", []string{"2026-05-05"}, []string{"2026-04-03"}},
		{"NZ", "", []string{"2026-07-10", "2027-06-25", "2028-07-14"}, nil},
		{"RO", "", []string{"2026-01-06", "2026-01-07"}, nil},
		{"RU", "", []string{"2026-01-02", "2026-01-09", "2026-12-31", "2027-01-08"}, []string{"2027-12-31"}},
		{"SK", "", []string{"2025-05-08", "2027-05-08", "2027-09-15", "2024-11-17"},
			[]string{"2026-05-08", "2026-09-15", "2025-11-17", "2027-11-17"}},
		{"UA", "", []string{"2026-05-08", "2026-06-01", "2026-07-15", "2026-10-01", "2027-05-04", "2027-12-27", "2023-10-14"},
			[]string{"2026-01-07", "2026-05-09", "2026-10-14"}},
	} {
		spec := v1alpha1.CalendarHolidays{Country: c.country}
		if c.subdivision != "" {
			spec.Subdivisions = []string{c.subdivision}
		}
		all, errs := times.ParseHolidays(spec, field.NewPath("h"))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		for want, days := range map[bool][]string{true: c.on, false: c.off} {
			for _, day := range days {
				at, err := time.Parse(time.DateOnly, day)
				if err != nil {
					t.Fatal(err)
				}
				got := false
				for _, h := range all {
					got = got || recur.Has(h.Days, at.Unix()/recur.DaySeconds)
				}
				if got != want {
					t.Errorf("%s %s %s is a holiday: %v, want %v", c.country, c.subdivision, day, got, want)
				}
			}
		}
	}
}
