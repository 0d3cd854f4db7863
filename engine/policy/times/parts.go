package times

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/timeline/recur"
)

// Library is the module with the rules of holidays, and its version.
const Library = "github.com/rickar/cal/v2 v2.1.31"

// Part is a part of a calendar with one source.
type Part struct {
	// Source is the field of the spec, the line of the file, or the rule of holidays behind the days.
	Source string
	// Days is on during the days and events of the part.
	Days timeline.Timeline
}

// Parts returns the parts of a calendar without its includes. Together they are on during the calendar's own days and events.
func Parts(name string, spec v1alpha1.CalendarSpec, from Sources) (parts []Part, errs field.ErrorList) {
	at := field.NewPath("spec")
	add := func(source string, in timeline.CalendarSpec) {
		in.TimeZone = spec.TimeZone
		days, es := timeline.ParseCalendar(name, in, at)
		parts, errs = append(parts, Part{source, days}), append(errs, es...)
	}
	for i, date := range spec.Dates {
		add(at.Child("dates").Index(i).String(), timeline.CalendarSpec{Dates: []v1alpha1.CalendarDate{date}})
	}
	for i, day := range spec.Yearly {
		add(at.Child("yearly").Index(i).String(), timeline.CalendarSpec{Yearly: []v1alpha1.CalendarYearly{day}})
	}
	if h := spec.Holidays; h != nil {
		sources, es := holidaySources(*h, at.Child("holidays"))
		errs = append(errs, es...)
		for _, s := range sources {
			add(s.source, timeline.CalendarSpec{Days: s.days})
		}
	}
	file, es := readFile(spec, from, at.Child("ics"))
	errs = append(errs, es...)
	for first := 0; first < len(file.Events); {
		next := first + 1
		for next < len(file.Events) && file.Lines[next] == file.Lines[first] {
			next++
		}
		add(fmt.Sprintf("line %d of %s", file.Lines[first], fileOf(spec)), timeline.CalendarSpec{Events: file.Events[first:next]})
		first = next
	}
	return parts, errs
}

// fileOf returns the place of the calendar's file in words.
func fileOf(spec v1alpha1.CalendarSpec) string {
	if key := spec.ICS.ConfigMap; key != nil {
		return fmt.Sprintf("%s in the ConfigMap %s/%s", key.Key, key.Namespace, key.Name)
	}
	return "spec.ics.inline"
}

// holidaySource has the holidays of one source.
type holidaySource struct {
	source string
	days   []timeline.NamedDays
}

// holidaySources returns the holidays by source: the library, and each law of a correction.
func holidaySources(spec v1alpha1.CalendarHolidays, at *field.Path) (all []holidaySource, errs field.ErrorList) {
	if _, errs = ParseHolidays(spec, at); len(errs) > 0 {
		return nil, errs
	}
	found, _ := findHolidays(spec, at)
	for _, h := range found {
		if len(spec.Only) > 0 && !slices.Contains(spec.Only, h.Name) || slices.Contains(spec.Except, h.Name) {
			continue
		}
		source := at.String() + ", by " + h.source
		i := slices.IndexFunc(all, func(s holidaySource) bool { return s.source == source })
		if i < 0 {
			i, all = len(all), append(all, holidaySource{source: source})
		}
		all[i].days = append(all[i].days, timeline.NamedDays{Name: h.Name, Days: recur.NewListed(daysOf(h.Holiday)...)})
	}
	return all, nil
}
