package times_test

import (
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/times"
)

// The codes are those of ISO 3166-2, without the outer territories of Australia and, in France, regions without holidays of their own.
func TestAllRegionsAreOffered(t *testing.T) {
	for country, want := range map[string]string{
		"AU": "ACT NSW NT QLD SA TAS VIC WA",
		"BR": "AC AL AM AP BA CE DF ES GO MA MG MS MT PA PB PE PI PR RJ RN RO RR RS SC SE SP TO",
		"CA": "AB BC MB NB NL NS NT NU ON PE QC SK YT",
		"CH": "AG AI AR BE BL BS FR GE GL GR JU LU NE NW OW SG SH SO SZ TG TI UR VD VS ZG ZH",
		"DE": "BB BE BW BY HB HE HH MV NI NW RP SH SL SN ST TH",
		"FR": "57 67 68 6AE",
		"GB": "ENG NIR SCT WLS",
		"ES": "AN AR AS CB CE CL CM CN CT EX GA IB MC MD ML NC PV RI VC",
	} {
		if got := strings.Join(times.Subdivisions(country), " "); got != want {
			t.Errorf("%s: %s, want %s", country, got, want)
		}
	}
}

// Regions share holidays such as Maundy Thursday; each leads to the law of its own region.
func TestHolidayOfARegionLeadsToItsLaw(t *testing.T) {
	for place, c := range map[string]struct{ name, day, law string }{
		"ES-CN": {"Jueves Santo", "2027-03-25", "Decreto 61/2025 (Canarias)"},
		"ES-MD": {"Jueves Santo", "2027-03-25", "Decreto 75/2025 (Comunidad de Madrid)"},
		"FR-67": {"Vendredi saint", "2027-03-26", "Code du travail, art. L3134-13"},
		"GB-NIR": {"St Patrick's Day", "2027-03-17",
			"Banking and Financial Dealings Act 1971, Schedule 1; proclamation of 12 July"},
	} {
		country, region, _ := strings.Cut(place, "-")
		spec := v1alpha1.CalendarSpec{TimeZone: "Europe/Madrid",
			Holidays: &v1alpha1.CalendarHolidays{Country: country, Subdivisions: []string{region}, Only: []string{c.name}}}
		parts, errs := times.Parts("c", spec, times.Sources{})
		if len(errs) > 0 || len(parts) != 1 {
			t.Fatalf("%s: %d parts, %v", place, len(parts), errs)
		}
		at, err := time.Parse(time.DateTime, c.day+" 12:00:00")
		if want := "spec.holidays, by " + c.law; err != nil || !parts[0].Days.At(at).Active || parts[0].Source != want {
			t.Errorf("%s: %q, want %q on %s, %v", place, parts[0].Source, want, c.day, err)
		}
	}
}
