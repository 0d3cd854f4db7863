package times

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

// Calendars returns the compiled calendar of a name; false: there is no valid one.
type Calendars func(name string) (timeline.Timeline, bool)

// Sources are the inputs of a calendar besides its spec. All fields are nil at apply, because a missing object may be
// created later.
type Sources struct {
	// Calendars finds included calendars.
	Calendars Calendars
	// Lost returns the lost events of included calendars.
	Lost func(name string) Loss
	// Text returns the value of a key of a ConfigMap.
	Text func(v1alpha1.ConfigMapKey) (string, error)
	// Read replaces the function Read, where a file has been read before.
	Read func(text, timeZone string) *ReadFile
}

// ReadFile is a calendar file that has been read.
type ReadFile struct {
	Text, TimeZone string
	File           File
	// Err means that the file is no calendar, or is too much work.
	Err error
}

// IsOf reports whether the file was read from a text in a time zone. A nil file is of no text.
func (f *ReadFile) IsOf(text, timeZone string) bool {
	return f != nil && f.Text == text && f.TimeZone == timeZone
}

// Read reads a file of a calendar in a time zone, within 50 ms of processor time.
func Read(text, timeZone string) *ReadFile {
	read := &ReadFile{Text: text, TimeZone: timeZone}
	var loc *time.Location
	if loc, read.Err = timeline.LoadZone(timeZone); read.Err == nil {
		read.File, read.Err = ParseICS(text, loc)
	}
	return read
}

// CompiledCalendar is a compiled calendar.
type CompiledCalendar struct {
	// Days is on during the calendar's days and events.
	Days timeline.Timeline
	// Encoding is the encoding of the calendar's file, if that is not UTF-8; otherwise empty.
	Encoding string
	// Ignored names the ignored events of the calendar's file.
	Ignored []string
	// Lost are the unreadable events of this calendar and of the included calendars.
	Lost Loss
}

// EncodingNote returns a note about the encoding of the file; empty: it is UTF-8.
func (c CompiledCalendar) EncodingNote() string {
	if c.Encoding == "" {
		return ""
	}
	return "the file is not UTF-8, and is read as " + c.Encoding
}

// Loss are the unreadable events of a calendar.
type Loss struct {
	// During is on while a lost event may be on.
	During timeline.Timeline
	// Events name the lost events, each with its calendar. An unreadable calendar is one event at all times.
	Events []string
}

// Whole returns the loss of an unreadable calendar.
func Whole(name string) Loss {
	return Loss{During: timeline.Not(timeline.Timeline{}), Events: []string{"Calendar " + name + " cannot be read, as its status says"}}
}

// fewEvents is the number of lost events in a message.
const fewEvents = 3

// String names the first few lost events; empty: none.
func (l Loss) String() string {
	if more := len(l.Events) - fewEvents; more > 0 {
		return fmt.Sprintf("%s; and %d more", strings.Join(l.Events[:fewEvents], "; "), more)
	}
	return strings.Join(l.Events, "; ")
}

// Calendar compiles a calendar.
func Calendar(name string, spec v1alpha1.CalendarSpec, from Sources, at *field.Path) (CompiledCalendar, field.ErrorList) {
	in := timeline.CalendarSpec{TimeZone: spec.TimeZone, Dates: spec.Dates, Yearly: spec.Yearly}
	var errs field.ErrorList
	if h := spec.Holidays; h != nil {
		days, es := ParseHolidays(*h, at.Child("holidays"))
		errs, in.Days = append(errs, es...), days
	}
	file, es := readFile(spec, from, at.Child("ics"))
	errs, in.Events = append(errs, es...), file.Events
	in.Include, es = included(spec.Include, from, at.Child("include"))
	errs = append(errs, es...)
	days, es := timeline.ParseCalendar(name, in, at)
	if errs = append(errs, es...); len(errs) > 0 {
		return CompiledCalendar{}, errs
	}
	return CompiledCalendar{Days: days, Encoding: file.Encoding, Ignored: file.Problems, Lost: lost(name, spec, file, from)}, nil
}

// lost returns the ignored events of a valid calendar and of its includes.
func lost(name string, spec v1alpha1.CalendarSpec, file File, from Sources) (all Loss) {
	in := timeline.CalendarSpec{TimeZone: spec.TimeZone, Events: file.Lost}
	for _, problem := range file.Problems {
		all.Events = append(all.Events, "Calendar "+name+": "+problem)
	}
	if from.Lost != nil {
		for _, other := range spec.Include {
			inner := from.Lost(other)
			all.Events = append(all.Events, inner.Events...)
			in.Include = append(in.Include, inner.During)
		}
	}
	if len(all.Events) > 0 {
		all.During, _ = timeline.ParseCalendar(name, in, nil) // the zone has been checked
	}
	return all
}

// readFile reads the calendar file of a spec.
func readFile(spec v1alpha1.CalendarSpec, from Sources, at *field.Path) (read File, errs field.ErrorList) {
	_, err := timeline.LoadZone(spec.TimeZone)
	if spec.ICS == nil || err != nil { // an unknown zone is an error of its own
		return read, nil
	}
	text, shown := spec.ICS.Inline, "the file"
	switch key := spec.ICS.ConfigMap; {
	case (key != nil) == (text != ""):
		return read, field.ErrorList{field.Required(at, "give inline or configMap, and not both")}
	case key != nil && from.Text == nil:
		return read, nil
	case key != nil:
		at, shown = at.Child("configMap"), fmt.Sprintf("%s/%s %s", key.Namespace, key.Name, key.Key)
		if text, err = from.Text(*key); err != nil {
			return read, field.ErrorList{field.Invalid(at, shown, err.Error())}
		}
	default:
		at = at.Child("inline")
	}
	parse := Read
	if from.Read != nil {
		parse = from.Read
	}
	found := parse(text, spec.TimeZone)
	if found.Err != nil {
		return read, field.ErrorList{field.Invalid(at, shown, found.Err.Error())}
	}
	return found.File, nil
}

// included finds the included calendars.
func included(names []string, from Sources, at *field.Path) (all []timeline.Timeline, errs field.ErrorList) {
	if from.Calendars == nil {
		return nil, nil
	}
	for i, name := range names {
		days, ok := from.Calendars(name)
		if !ok {
			errs = append(errs, field.Invalid(at.Index(i), name, "there is no valid Calendar of this name"))
		}
		all = append(all, days)
	}
	return all, errs
}

// Cycle returns the names on a way from a calendar through its included calendars back to itself; nil: there is no such
// way.
func Cycle(name string, includes func(name string) []string) (way []string) {
	seen := map[string]bool{}
	var visit func(from string, above []string) []string
	visit = func(from string, above []string) []string {
		above = append(above, from)
		for _, next := range includes(from) {
			if next == name {
				return append(above, name)
			}
			if !seen[next] {
				seen[next] = true
				if found := visit(next, above); found != nil {
					return found
				}
			}
		}
		return nil
	}
	return slices.Clip(visit(name, nil))
}

// maxIncluded is the maximum number of calendars that a calendar includes, directly and through others. A calendar counts
// each time it is included, because every question about a day asks it each time.
const maxIncluded = 64

// Includes returns an error if a calendar includes itself or too many others.
func Includes(name string, includes func(name string) []string, at *field.Path) field.ErrorList {
	at = at.Child("include")
	if way := Cycle(name, includes); way != nil {
		return field.ErrorList{field.Invalid(at, strings.Join(way, " -> "), "the calendar would include itself: take one of these includes out")}
	}
	left, inside := maxIncluded, map[string]bool{}
	var count func(name string)
	count = func(name string) {
		inside[name] = true
		for _, inner := range includes(name) {
			if left--; left < 0 {
				break
			}
			if !inside[inner] { // a circle further down is reported as an error of the calendars in it
				count(inner)
			}
		}
		inside[name] = false
	}
	if count(name); left < 0 {
		return field.ErrorList{field.TooMany(at, maxIncluded+1, maxIncluded)}
	}
	return nil
}
