package when_test

import (
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/when"
)

// The codes are those of ISO 3166-2, without the outer territories of Australia.
func TestAllRegionsAreOffered(t *testing.T) {
	for country, want := range map[string]string{
		"AU": "ACT NSW NT QLD SA TAS VIC WA",
		"BR": "AC AL AM AP BA CE DF ES GO MA MG MS MT PA PB PE PI PR RJ RN RO RR RS SC SE SP TO",
		"CA": "AB BC MB NB NL NS NT NU ON PE QC SK YT",
		"CH": "AG AI AR BE BL BS FR GE GL GR JU LU NE NW OW SG SH SO SZ TG TI UR VD VS ZG ZH",
		"DE": "BB BE BW BY HB HE HH MV NI NW RP SH SL SN ST TH",
		"ES": "AN AR AS CB CE CL CM CN CT EX GA IB MC MD ML NC PV RI VC",
	} {
		if got := strings.Join(when.Subdivisions(country), " "); got != want {
			t.Errorf("%s: %s, want %s", country, got, want)
		}
	}
}

// Regions share holidays such as Maundy Thursday; each leads to the law of its own region.
func TestHolidayOfARegionLeadsToItsLaw(t *testing.T) {
	for region, want := range map[string]string{
		"CN": "spec.holidays, by Decreto 61/2025 (Canarias)",
		"MD": "spec.holidays, by Decreto 75/2025 (Comunidad de Madrid)",
	} {
		spec := v1alpha1.CalendarSpec{TimeZone: "Europe/Madrid",
			Holidays: &v1alpha1.CalendarHolidays{Country: "ES", Subdivisions: []string{region}, Only: []string{"Jueves Santo"}}}
		parts, errs := when.Parts("c", spec, when.Sources{})
		if len(errs) > 0 || len(parts) != 1 {
			t.Fatalf("%s: %d parts, %v", region, len(parts), errs)
		}
		if at := time.Date(2027, 3, 25, 12, 0, 0, 0, time.UTC); !parts[0].Days.At(at).Active || parts[0].Source != want {
			t.Errorf("%s: %q, want %q, on %s", region, parts[0].Source, want, at.Format(time.DateOnly))
		}
	}
}
