package timeline

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func weekdayNames() []string { return []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"} }

// parseWeekdays returns the set of weekdays, Monday first. None named means all.
func parseWeekdays(names []string, path *field.Path) (days [7]bool, errs field.ErrorList) {
	for i, name := range names {
		day := slices.Index(weekdayNames(), name)
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

// weekdaysText writes a set of weekdays with runs of three or more shortened: "Mon-Fri", "Sat,Sun", "daily".
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

// durationText writes a duration without the zeros at its end: 4h, 1h30m.
func durationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
