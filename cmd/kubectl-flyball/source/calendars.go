package source

import (
	"fmt"
	"slices"
	"strings"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// CalendarNamed parses KIND/NAME as a Calendar. It does not check whether the Calendar exists. The result ok is false if KIND is
// not calendar, calendars or fcal.
func CalendarNamed(text string) (name string, ok bool) {
	kind, name, _ := strings.Cut(text, "/")
	switch strings.TrimSuffix(strings.ToLower(kind), ".flyball.dev") {
	case "calendar", "calendars", "fcal":
		return name, name != ""
	}
	return "", false
}

// FindCalendar returns a Calendar of the world. A Calendar that does not exist is an error.
func (w *World) FindCalendar(name string) (*v1alpha1.Calendar, error) {
	for _, c := range w.Calendars {
		if c.Name == name {
			return c, nil
		}
	}
	if w.Unseen.lists(calendarsResource) {
		return nil, MissingRights{{Verb: "list", Resource: calendarsResource}}
	}
	return nil, fmt.Errorf("there is no Calendar %s%s", name, workload.Meant("calendar/"+name, CalendarNames(w)))
}

// CalendarNames returns the Calendars as KIND/NAME, in order.
func CalendarNames(w *World) (names []string) {
	for _, c := range w.Calendars {
		names = append(names, "calendar/"+c.Name)
	}
	slices.Sort(names)
	return names
}
