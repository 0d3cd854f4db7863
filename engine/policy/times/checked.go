package times

import (
	"fmt"
	"strings"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
)

// checkedUntil has the last year whose holidays were compared with the law or an official list, by country. The lists are in
// testdata/holidays, where the source is named. A country without an entry was not checked.
var checkedUntil = map[string]int{
	"AR": 2026, "AT": 2028, "BE": 2028, "BG": 2028, "BR": 2028, "CA": 2028, "CH": 2028, "CZ": 2028, "DE": 2028, "EE": 2028,
	"ES": 2026, "FR": 2028, "GB": 2028, "GR": 2026, "HR": 2028, "IE": 2028, "IT": 2028, "JP": 2027, "LT": 2028, "LU": 2028,
	"LV": 2027, "MX": 2028, "NL": 2028, "NO": 2028, "NZ": 2028, "PL": 2028, "PT": 2028, "RO": 2028, "RU": 2026, "SE": 2028,
	"SI": 2026, "SK": 2026, "UA": 2028, "US": 2028, "ZA": 2028,
}

// checkedSubdivisions has the last year of subdivisions that differs from the country's. 0: not checked.
var checkedSubdivisions = map[string]int{
	"AU-NSW": 2027, "AU-QLD": 2028, "BR-AC": 2026, "BR-AL": 2026, "BR-AM": 2026, "BR-AP": 0, "BR-BA": 0, "BR-GO": 0, "BR-MG": 0,
	"BR-MS": 2026, "BR-MT": 2026, "BR-PA": 0, "BR-PI": 2026, "BR-RN": 2026, "BR-RO": 0, "BR-RR": 0, "BR-RS": 2026, "BR-SC": 0,
	"BR-SE": 2026, "BR-TO": 2026, "CA-MB": 0, "CA-NT": 0, "CA-PE": 0, "CH-AG": 0, "CH-AI": 0, "CH-AR": 0, "CH-BE": 0, "CH-BL": 0,
	"CH-BS": 0, "CH-FR": 0, "CH-GE": 0, "CH-GL": 0, "CH-GR": 0, "CH-JU": 0, "CH-LU": 0, "CH-NW": 0, "CH-OW": 0,
	"CH-SG": 0, "CH-SH": 0, "CH-SZ": 0, "CH-TG": 0, "CH-TI": 0, "CH-UR": 0, "CH-VD": 0, "CH-VS": 0, "CH-ZG": 0,
	"ES-IB": 2027, "GB-NIR": 2026,
}

// CheckedUntil returns the last year whose holidays were compared with the law or an official list; 0: none was. An empty
// subdivision is the whole country.
func CheckedUntil(country, subdivision string) int {
	if year, differs := checkedSubdivisions[country+"-"+subdivision]; differs {
		return year
	}
	return checkedUntil[country]
}

// ComingDays is the number of days that a calendar's status lists. Unchecked holidays in this time are worth a warning.
const ComingDays = 400

// Unchecked returns a warning if holidays of a calendar in the coming days were not checked. Empty: they were, or the calendar
// has no holidays.
func Unchecked(spec *v1alpha1.CalendarHolidays, now time.Time) string {
	if spec == nil {
		return ""
	}
	upTo := now.AddDate(0, 0, ComingDays).Year()
	places, until := map[int][]string{}, []int{}
	subdivisions := spec.Subdivisions
	if len(subdivisions) == 0 {
		subdivisions = []string{""}
	}
	for _, s := range subdivisions {
		if year := CheckedUntil(spec.Country, s); year < upTo {
			if len(places[year]) == 0 {
				until = append(until, year)
			}
			places[year] = append(places[year], strings.TrimSuffix(spec.Country+"-"+s, "-"))
		}
	}
	var parts []string
	for _, year := range until {
		names := strings.Join(places[year], ", ")
		if year == 0 {
			parts = append(parts, fmt.Sprintf("the holidays of %s were not checked against an official list: compare status.coming with one", names))
		} else {
			parts = append(parts, fmt.Sprintf("the holidays of %s were checked until %d: compare later years with an official list", names, year))
		}
	}
	return strings.Join(parts, "; ")
}
