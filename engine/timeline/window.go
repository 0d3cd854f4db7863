package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline/recur"
)

// window is a window of the API, in exactly one of its three forms.
type window v1alpha1.Window

// ParseWindow returns the timeline that is on while the window is open, in the zone of the window itself or else in loc. If
// the window has no name, its states are named by a short description. Errors name the fields under fldPath.
func ParseWindow(w v1alpha1.Window, loc *time.Location, fldPath *field.Path) (Timeline, field.ErrorList) {
	spec := window(w)
	var errs field.ErrorList
	if w.TimeZone != "" {
		own, err := LoadZone(w.TimeZone)
		if err != nil {
			errs = append(errs, field.Invalid(fldPath.Child("timeZone"), w.TimeZone, err.Error()))
		} else {
			loc = own
		}
	}
	forms, parse := spec.forms()
	if len(forms) == 0 {
		return Timeline{}, append(errs, field.Required(fldPath, "set from and to, days, cron with duration or until, or start and end"))
	}
	if len(forms) > 1 {
		return Timeline{}, append(errs, field.Invalid(fldPath, spec.Name,
			fmt.Sprintf("has more than one form, use one of: %s", strings.Join(forms, "; "))))
	}
	body, build, bodyErrs := parse(fldPath)
	validity, bound, boundErrs := spec.parseValidity(fldPath)
	if errs = slices.Concat(errs, bodyErrs, boundErrs); len(errs) > 0 {
		return Timeline{}, errs
	}
	body += validity + " " + loc.String()
	if spec.Name == "" {
		return Timeline{root: bound(loc, build(loc, body)), text: "window " + body}, nil
	}
	return Timeline{root: bound(loc, build(loc, spec.Name)), text: fmt.Sprintf("window %s: %s", spec.Name, body)}, nil
}

// builder makes the node of a window in a zone, under a label.
type builder func(loc *time.Location, label string) node

// forms returns the names of the forms of which a field is set. parse parses the last of these forms: it returns a
// description of the window and its builder.
func (s window) forms() (forms []string, parse func(*field.Path) (string, builder, field.ErrorList)) {
	filters := recur.Filter(s).Fields()
	if len(s.Days) > 0 || filters != "" || s.From != "" || s.To != "" {
		forms, parse = append(forms, "days, from, to"+filters), s.parseDays
	}
	if s.Cron != "" || s.Duration != "" || s.Until != "" {
		forms, parse = append(forms, "cron, duration"), s.parseCron
	}
	if s.Start != "" || s.End != "" {
		forms, parse = append(forms, "start, end"), s.parseRange
	}
	return forms, parse
}

func (s window) parseDays(path *field.Path) (string, builder, field.ErrorList) {
	weekdays, errs := recur.ParseWeekdays(s.Days, path.Child("days"))
	text, days, filterErrs := recur.Filter(s).Parse(weekdays, path)
	from, length, timesErrs := s.parseTimes(path)
	if errs = slices.Concat(errs, filterErrs, timesErrs); len(errs) > 0 {
		return "", nil, errs
	}
	if s.From != "" {
		text += fmt.Sprintf(" %s-%s", s.From, s.To)
	}
	if days != nil {
		return text, func(loc *time.Location, label string) node {
			return &wall{zone: zoneOf(loc), set: &dayTimes{days: days, others: recur.Others(days), from: from, length: length, label: label}}
		}, nil
	}
	var spans []weekSpan
	for day, on := range weekdays {
		if start := int64(day)*daySeconds + from; on {
			spans = append(spans, weekSpan{int32(start), int32(start + length)})
		}
	}
	return text, func(loc *time.Location, label string) node {
		return &wall{zone: zoneOf(loc), set: newWeekly(label, spans)}
	}, nil
}

// parseTimes parses the times of the day. It returns the opening of the window and its length, both in seconds. Without
// times, the window is open all day.
func (s window) parseTimes(path *field.Path) (from, length int64, errs field.ErrorList) {
	if s.From == "" && s.To == "" {
		return 0, daySeconds, nil
	}
	from, errs = parseClock(s.From, false, path.Child("from"))
	to, toErrs := parseClock(s.To, true, path.Child("to"))
	if errs = append(errs, toErrs...); len(errs) > 0 {
		return 0, 0, errs
	}
	switch {
	case from == to:
		return 0, 0, field.ErrorList{field.Invalid(path.Child("to"), s.To, "must differ from from: write from 00:00 to 24:00 for whole days")}
	case to < from:
		to += daySeconds // overnight: the window belongs to the day it starts on
	}
	return from, to - from, nil
}

func (s window) parseCron(path *field.Path) (string, builder, field.ErrorList) {
	var errs field.ErrorList
	length, err := s.length()
	if err != nil {
		errs = append(errs, field.Invalid(path.Child("duration"), s.Duration, err.Error()))
		length = time.Second // only the other errors are still wanted
	}
	c, err := recur.ParseCron(s.Cron)
	if err != nil {
		errs = append(errs, field.Invalid(path.Child("cron"), s.Cron, err.Error()))
	}
	switch {
	case s.Until != "" && s.Duration != "":
		errs = append(errs, field.Forbidden(path.Child("until"), "a window with a cron has a duration or an until: leave one of them out"))
	case s.Until != "":
		return s.parseUntil(c, errs, path)
	case length == 0:
		errs = append(errs, field.Required(path.Child("duration"),
			"how long the window stays open, such as 4h, or until, the cron at which it closes"))
	case length%time.Second != 0:
		errs = append(errs, field.Invalid(path.Child("duration"), s.Duration, "must be whole seconds"))
	}
	if len(errs) > 0 {
		return "", nil, errs
	}
	build := func(loc *time.Location, label string) node { return newRepeat(loc, c, length, label) }
	return fmt.Sprintf("%s for %s", s.Cron, DurationText(length)), build, nil
}

// length returns the duration; zero: there is none.
func (s window) length() (time.Duration, error) {
	if s.Duration == "" {
		return 0, nil
	}
	return ParseDurationOrZero(string(s.Duration))
}

// parseUntil parses the end of a window that a cron opens. The window becomes a pair, which is on from a firing of
// opens until a firing of Until.
func (s window) parseUntil(opens *recur.Cron, errs field.ErrorList, path *field.Path) (string, builder, field.ErrorList) {
	closes, err := recur.ParseCron(s.Until)
	if err != nil {
		errs = append(errs, field.Invalid(path.Child("until"), s.Until, err.Error()))
	}
	if len(errs) > 0 {
		return "", nil, errs
	}
	if newPair(opens, closes, "", "").off {
		return "", nil, field.ErrorList{field.Invalid(path.Child("until"), s.Until,
			"fires whenever cron does, so the window never opens: write the times at which it closes")}
	}
	build := func(loc *time.Location, label string) node {
		return &wall{zone: zoneOf(loc), set: newPair(opens, closes, label, "")}
	}
	return fmt.Sprintf("%s until %s", s.Cron, s.Until), build, nil
}

// parseValidity parses the bounds of the window. It returns a description, and the function that limits a node to the
// bounds.
func (s window) parseValidity(path *field.Path) (text string, cut func(*time.Location, node) node, errs field.ErrorList) {
	if s.ValidFrom == "" && s.ValidUntil == "" {
		return "", func(_ *time.Location, n node) node { return n }, nil
	}
	from, to := always, forever
	var fromIsDate, toIsDate bool
	if s.ValidFrom != "" {
		from, fromIsDate, errs = parseBound(s.ValidFrom, path.Child("validFrom"))
		text = " from " + s.ValidFrom
	}
	if s.ValidUntil != "" {
		var es field.ErrorList
		to, toIsDate, es = parseBound(s.ValidUntil, path.Child("validUntil"))
		errs = append(errs, es...)
		text += " until " + s.ValidUntil
	}
	if toIsDate {
		to += daySeconds // the date is included
	}
	if len(errs) == 0 && from >= to {
		errs = field.ErrorList{field.Invalid(path.Child("validUntil"), s.ValidUntil, "must be after validFrom")}
	}
	return text, func(loc *time.Location, n node) node {
		c := &clip{node: n, from: from, to: to}
		if fromIsDate {
			c.from, _ = zoneOf(loc).instant(from)
		}
		if toIsDate {
			c.to, _ = zoneOf(loc).instant(to)
		}
		return c
	}, errs
}

func (s window) parseRange(path *field.Path) (string, builder, field.ErrorList) {
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

// parseBound parses a date or an RFC 3339 instant. An instant is returned in Unix seconds. A date is returned as its
// midnight on the clock of the window's zone, in seconds counted as if that clock showed UTC.
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

// parseClock parses a wall-clock time into seconds after midnight.
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
