package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// WindowSpec describes a window in exactly one of three forms: From and To (with Days), Cron and Duration, or Start and
// End.
type WindowSpec struct {
	// Name is for messages; it may be empty.
	Name string
	// Days are the weekdays on which the window starts: Mon, Tue, Wed, Thu, Fri, Sat, Sun. Empty: every day.
	Days []string
	// From and To are wall-clock times, 15:04 or 15:04:05. A To that is not after From is a time of the next day.
	// To may be 24:00.
	From, To string
	// Cron opens the window at each firing: five fields or a descriptor.
	Cron string
	// Duration is how long a firing keeps the window open, in elapsed time: whole seconds.
	Duration time.Duration
	// Start and End are two dates (2006-01-02, End included) or two RFC 3339 instants (End excluded).
	Start, End string
}

// ParseWindow returns the timeline that is on while the window is open. Without a name, a short description is the name of its
// states. Errors name the fields days[i], from, to, cron, duration, start and end
// under fldPath.
func ParseWindow(spec WindowSpec, loc *time.Location, fldPath *field.Path) (Timeline, field.ErrorList) {
	forms, parse := spec.forms()
	if len(forms) == 0 {
		return Timeline{}, field.ErrorList{field.Required(fldPath, "set from and to, cron and duration, or start and end")}
	}
	if len(forms) > 1 {
		return Timeline{}, field.ErrorList{field.Invalid(fldPath, spec.Name,
			fmt.Sprintf("has more than one form, use one of: %s", strings.Join(forms, "; ")))}
	}
	body, build, errs := parse(fldPath)
	if len(errs) > 0 {
		return Timeline{}, errs
	}
	body += " " + loc.String()
	if spec.Name == "" {
		return Timeline{root: build(loc, body), text: "window " + body}, nil
	}
	return Timeline{root: build(loc, spec.Name), text: fmt.Sprintf("window %s: %s", spec.Name, body)}, nil
}

// builder makes the node of a window in a zone, under a label.
type builder func(loc *time.Location, label string) node

// forms lists the forms of which something is set. parse reads the last of them: it gives what the window is, in words and as a builder.
func (s WindowSpec) forms() (forms []string, parse func(*field.Path) (string, builder, field.ErrorList)) {
	if len(s.Days) > 0 || s.From != "" || s.To != "" {
		forms, parse = append(forms, "days, from, to"), s.parseDays
	}
	if s.Cron != "" || s.Duration != 0 {
		forms, parse = append(forms, "cron, duration"), s.parseCron
	}
	if s.Start != "" || s.End != "" {
		forms, parse = append(forms, "start, end"), s.parseRange
	}
	return forms, parse
}

func (s WindowSpec) parseDays(path *field.Path) (string, builder, field.ErrorList) {
	days, errs := parseWeekdays(s.Days, path.Child("days"))
	from, fromErrs := parseClock(s.From, false, path.Child("from"))
	to, toErrs := parseClock(s.To, true, path.Child("to"))
	if errs = slices.Concat(errs, fromErrs, toErrs); len(errs) > 0 {
		return "", nil, errs
	}
	if from == to {
		return "", nil, field.ErrorList{field.Invalid(path.Child("to"), s.To,
			"must differ from from: write from 00:00 to 24:00 for whole days")}
	}
	length := to - from
	if length < 0 {
		length += daySeconds // overnight: the window belongs to the day it starts on
	}
	var spans []weekSpan
	for day, on := range days {
		if start := int64(day)*daySeconds + from; on {
			spans = append(spans, weekSpan{start, start + length})
		}
	}
	build := func(loc *time.Location, label string) node {
		return &wall{zone: zoneOf(loc), set: newWeekly(label, spans)}
	}
	return fmt.Sprintf("%s %s-%s", weekdaysText(days), s.From, s.To), build, nil
}

func (s WindowSpec) parseCron(path *field.Path) (string, builder, field.ErrorList) {
	var errs field.ErrorList
	c, err := parseCron(s.Cron)
	if err != nil {
		errs = append(errs, field.Invalid(path.Child("cron"), s.Cron, err.Error()))
	}
	switch {
	case s.Duration == 0:
		errs = append(errs, field.Required(path.Child("duration"), "how long the window stays open, such as 4h"))
	case s.Duration < 0:
		errs = append(errs, field.Invalid(path.Child("duration"), s.Duration.String(), "must be positive"))
	case s.Duration%time.Second != 0:
		errs = append(errs, field.Invalid(path.Child("duration"), s.Duration.String(), "must be whole seconds"))
	}
	if len(errs) > 0 {
		return "", nil, errs
	}
	build := func(loc *time.Location, label string) node { return newRepeat(loc, c, s.Duration, label) }
	return fmt.Sprintf("%s for %s", s.Cron, durationText(s.Duration)), build, nil
}

func (s WindowSpec) parseRange(path *field.Path) (string, builder, field.ErrorList) {
	var errs field.ErrorList
	if s.Start == "" {
		errs = append(errs, field.Required(path.Child("start"), "a window with an end has a start"))
	}
	if s.End == "" {
		errs = append(errs, field.Required(path.Child("end"), "a window with a start has an end"))
	}
	if len(errs) > 0 {
		return "", nil, errs
	}
	start, startIsDate, startErrs := parseBound(s.Start, path.Child("start"))
	end, endIsDate, endErrs := parseBound(s.End, path.Child("end"))
	errs = append(errs, startErrs...)
	errs = append(errs, endErrs...)
	switch {
	case len(errs) > 0:
		return "", nil, errs
	case startIsDate != endIsDate:
		return "", nil, field.ErrorList{field.Invalid(path.Child("end"), s.End,
			"must be a date if start is, or an instant if start is")}
	case startIsDate:
		end += daySeconds // the end date is included
	}
	if end <= start {
		return "", nil, field.ErrorList{field.Invalid(path.Child("end"), s.End, "must be after start")}
	}
	build := func(loc *time.Location, label string) node {
		one := []span{{start, end, label}}
		s := &stretches{merged: one, named: one}
		if startIsDate {
			return &wall{zone: zoneOf(loc), set: s}
		}
		return s
	}
	return fmt.Sprintf("%s to %s", s.Start, s.End), build, nil
}

// parseBound reads a date, as the reading of its midnight, or an RFC 3339 instant.
func parseBound(text string, path *field.Path) (seconds int64, isDate bool, errs field.ErrorList) {
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t.Unix(), true, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, false, field.ErrorList{field.Invalid(path, text,
			"must be a date such as 2026-12-24 or an instant such as 2026-12-24T18:00:00Z")}
	}
	if t.Nanosecond() != 0 {
		return 0, false, field.ErrorList{field.Invalid(path, text, "must be a whole second")}
	}
	return t.Unix(), false, nil
}

// parseClock reads a wall-clock time as seconds after midnight.
func parseClock(text string, midnightAsEnd bool, path *field.Path) (int64, field.ErrorList) {
	if text == "" {
		return 0, field.ErrorList{field.Required(path, "a time such as 08:00")}
	}
	if midnightAsEnd && (text == "24:00" || text == "24:00:00") {
		return daySeconds, nil
	}
	for _, layout := range []string{"15:04", time.TimeOnly} {
		if len(text) != len(layout) {
			continue
		}
		if t, err := time.Parse(layout, text); err == nil {
			return int64(t.Hour()*3600 + t.Minute()*60 + t.Second()), nil
		}
	}
	return 0, field.ErrorList{field.Invalid(path, text, "must be a time of the 24-hour clock such as 08:00")}
}
