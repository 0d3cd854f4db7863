package recur

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
)

func weekdayNames() []string { return []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"} }

// ParseWeekdays returns the set of weekdays, Monday first. An empty list means all days.
func ParseWeekdays(names []v1alpha1.Day, path *field.Path) (days [7]bool, errs field.ErrorList) {
	for i, name := range names {
		day := slices.Index(weekdayNames(), string(name))
		switch {
		case day < 0:
			errs = append(errs, field.NotSupported(path.Index(i), name, weekdayNames()))
		case days[day]:
			errs = append(errs, field.Duplicate(path.Index(i), name))
		default:
			days[day] = true
		}
	}
	if len(names) == 0 {
		days = [7]bool{true, true, true, true, true, true, true}
	}
	return days, errs
}

// weekdaysText returns a set of weekdays as text, with runs of three or more days shortened: "Mon-Fri", "Sat,Sun",
// "daily".
func weekdaysText(days [7]bool) string {
	names := weekdayNames()
	var parts []string
	for i := 0; i < len(days); {
		end := i
		for end < len(days) && days[end] {
			end++
		}
		switch length := end - i; {
		case length == len(days):
			return "daily"
		case length >= 3:
			parts = append(parts, names[i]+"-"+names[end-1])
		default:
			parts = append(parts, names[i:end]...)
		}
		i = end + 1
	}
	return strings.Join(parts, ",")
}
