package times

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rickar/cal/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/timeline/recur"
	"flyball.dev/flyball/engine/workload"
)

func init() {
	cal.DefaultLoc = time.UTC // in the machine's zone a midnight may be skipped, which would give another day
}

// The known years. The library's rules are right for today's laws, not for the laws of later centuries.
const (
	FirstYear = 1970
	LastYear  = 2199
)

// Countries returns the codes of all countries, sorted.
func Countries() []string { return slices.Sorted(maps.Keys(countries)) }

// Subdivisions returns the codes of a country's subdivisions, sorted.
func Subdivisions(country string) []string {
	return slices.Sorted(maps.Keys(countries[country].subdivisions))
}

// ParseHolidays returns the public holidays of a country or of its subdivisions in the order of the library, which has their
// rules (github.com/rickar/cal), and of the corrections. If a holiday has a day in lieu, both days count.
func ParseHolidays(spec v1alpha1.CalendarHolidays, path *field.Path) ([]timeline.NamedDays, field.ErrorList) {
	all, errs := findHolidays(spec, path)
	if len(errs) > 0 {
		return nil, errs
	}
	days := map[string][]int64{}
	var names []string
	for _, h := range all {
		if _, known := days[h.Name]; !known {
			names = append(names, h.Name)
		}
		days[h.Name] = append(days[h.Name], daysOf(h.Holiday)...)
	}
	if len(spec.Only) > 0 && len(spec.Except) > 0 {
		errs = append(errs, field.Forbidden(path.Child("except"), "does not go with only: give the names that count, or those that do not"))
	}
	errs = append(errs, unknownHolidays(spec.Only, names, path.Child("only"))...)
	errs = append(errs, unknownHolidays(spec.Except, names, path.Child("except"))...)
	if len(errs) > 0 {
		return nil, errs
	}
	var taken []timeline.NamedDays
	for _, name := range names {
		if len(spec.Only) > 0 && !slices.Contains(spec.Only, name) || slices.Contains(spec.Except, name) {
			continue
		}
		taken = append(taken, timeline.NamedDays{Name: name, Days: recur.NewListed(days[name]...)})
	}
	if len(taken) == 0 {
		return nil, field.ErrorList{field.Invalid(path.Child("except"), strings.Join(spec.Except, ", "), "leaves no holiday")}
	}
	return taken, nil
}

// findHolidays returns the holidays of the country or its subdivisions.
func findHolidays(spec v1alpha1.CalendarHolidays, path *field.Path) (all []sourced, errs field.ErrorList) {
	at := path.Child("subdivisions")
	c, known := countries[spec.Country]
	switch {
	case !known:
		return nil, field.ErrorList{field.Invalid(path.Child("country"), spec.Country,
			"is no country of ISO 3166-1 whose holidays are known; there are "+strings.Join(Countries(), ", "))}
	case len(spec.Subdivisions) == 0 && c.national == nil:
		return nil, field.ErrorList{field.Required(at, fmt.Sprintf("the holidays of %s are known by subdivision: give some of %s", spec.Country,
			strings.Join(Subdivisions(spec.Country), ", ")))}
	case len(spec.Subdivisions) > 0 && len(c.subdivisions) == 0:
		return nil, field.ErrorList{field.Forbidden(at,
			fmt.Sprintf("the holidays of %s are known for the whole country only: leave subdivisions out, and list the others under yearly",
				spec.Country))}
	case len(spec.Subdivisions) == 0:
		return corrected(spec.Country, "", c.national), nil
	}
	for i, code := range spec.Subdivisions {
		holidays, known := c.subdivisions[code]
		if !known {
			errs = append(errs, field.Invalid(at.Index(i), code,
				fmt.Sprintf("is no subdivision of %s; there are %s", spec.Country, strings.Join(Subdivisions(spec.Country), ", "))))
		}
		all = append(all, corrected(spec.Country, code, holidays)...)
	}
	return all, errs
}

// unknownHolidays returns an error for each name without a holiday.
func unknownHolidays(given, names []string, path *field.Path) (errs field.ErrorList) {
	for i, name := range given {
		if !slices.Contains(names, name) {
			errs = append(errs, field.Invalid(path.Index(i), name, "no holiday there has this name"+workload.Hint(name, names)))
		}
	}
	return errs
}

// daysOf returns the days of a holiday and the days in lieu.
func daysOf(h *cal.Holiday) (days []int64) {
	for year := FirstYear; year <= LastYear; year++ {
		actual, observed := h.Calc(year)
		for _, at := range []time.Time{actual, observed} {
			if !at.IsZero() {
				y, m, d := at.Date()
				days = append(days, time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix()/recur.DaySeconds)
			}
		}
	}
	return days
}
