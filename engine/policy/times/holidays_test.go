package times_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline/recur"
)

// of2037 returns the holidays of 2037 in the form "01-06 Heilige Drei Könige".
func of2037(t *testing.T, spec v1alpha1.CalendarHolidays) (days []string) {
	t.Helper()
	all, errs := times.ParseHolidays(spec, field.NewPath("h"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for d := time.Date(2037, 1, 1, 0, 0, 0, 0, time.UTC); d.Year() == 2037; d = d.AddDate(0, 0, 1) {
		for _, h := range all {
			if recur.Has(h.Days, d.Unix()/recur.DaySeconds) {
				days = append(days, d.Format("01-02 ")+h.Name)
			}
		}
	}
	return days
}

// The dates are those of Bavaria's law on holidays, article 1, without Assumption Day, which is a holiday in some
// places of Bavaria only.
func TestBavarianHolidaysFollowTheLaw(t *testing.T) {
	want := []string{"01-01 Neujahrstag", "01-06 Heilige Drei Könige", "04-03 Karfreitag", "04-06 Ostermontag", "05-01 Tag der Arbeit",
		"05-14 Christi Himmelfahrt",
		"05-25 Pfingstmontag", "06-04 Fronleichnam", "10-03 Tag der Deutschen Einheit", "11-01 Allerheiligen", "12-25 Weihnachtstag",
		"12-26 Zweiter Weihnachtsfeiertag"}
	if got := of2037(t, v1alpha1.CalendarHolidays{Country: "DE", Subdivisions: []string{"BY"}}); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := of2037(t, v1alpha1.CalendarHolidays{Country: "DE", Subdivisions: []string{"BY", "BE"}}); len(got) != len(want)+1 ||
		!slices.Contains(got, "03-08 Frauentag") {
		t.Errorf("of Bavaria and Berlin: %q", got)
	}
	if got := of2037(t, v1alpha1.CalendarHolidays{Country: "DE", Only: []string{"Karfreitag"}}); !slices.Equal(got, []string{"04-03 Karfreitag"}) {
		t.Errorf("only Good Friday: %q", got)
	}
	if got := of2037(t, v1alpha1.CalendarHolidays{Country: "DE", Except: []string{"Karfreitag"}}); len(got) != 8 {
		t.Errorf("of the whole country, except Good Friday: %q", got)
	}
}

// A holiday at the weekend counts, and so does its day in lieu: the 4th of July 2037 is a Saturday.
func TestDaysInLieu(t *testing.T) {
	got := of2037(t, v1alpha1.CalendarHolidays{Country: "US", Only: []string{"Independence Day"}})
	if want := []string{"07-03 Independence Day", "07-04 Independence Day"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Each country and each subdivision has at least one holiday in each of these years, and every holiday has a name.
func TestEveryCountry(t *testing.T) {
	for _, country := range times.Countries() {
		for _, sub := range append(times.Subdivisions(country), "") {
			spec := v1alpha1.CalendarHolidays{Country: country, Subdivisions: []string{sub}}
			if sub == "" {
				spec.Subdivisions = nil
			}
			all, errs := times.ParseHolidays(spec, nil)
			if len(errs) > 0 && country != "AU" {
				t.Errorf("%s %s: %v", country, sub, errs)
			}
			for _, h := range all {
				if h.Name == "" {
					t.Errorf("%s %s has a holiday without a name", country, sub)
				}
			}
			if n := len(all); n > 0 && (n < 4 || n > 40) {
				t.Errorf("%s %s has %d holidays", country, sub, n)
			}
		}
	}
}

func TestUnknownCountriesAndSubdivisionsAreRefused(t *testing.T) {
	for want, spec := range map[string]v1alpha1.CalendarHolidays{
		`h.country: Invalid value: "Germany": is no country of ISO 3166-1 whose holidays are known; there are AR, AT,`: {Country: "Germany"},
		`h.subdivisions[0]: Invalid value: "Bayern": is no subdivision of DE; there are BB, BE,`: {Country: "DE",
			Subdivisions: []string{"Bayern"}},
		`h.subdivisions: Forbidden: the holidays of NL are known for the whole country only`: {Country: "NL",
			Subdivisions: []string{"NH"}},
		`h.subdivisions: Required value: the holidays of AU are known by subdivision: give some of ACT, NSW,`: {Country: "AU"},
		`h.only[0]: Invalid value: "Karfreitg": no holiday there has this name; did you mean Karfreitag?`: {Country: "DE",
			Only: []string{"Karfreitg"}},
		`h.except[0]: Invalid value: "Good Friday": no holiday there has this name; there are Neujahrstag,`: {Country: "DE",
			Except: []string{"Good Friday"}},
		`h.except: Forbidden: does not go with only`: {Country: "DE",
			Only: []string{"Karfreitag"}, Except: []string{"Ostermontag"}},
	} {
		_, errs := times.ParseHolidays(spec, field.NewPath("h"))
		if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), want) {
			t.Errorf("%v, want %s", errs, want)
		}
	}
}
