package times

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/timeline/recur"
)

// Bounds of a calendar file.
const (
	// MaxICSBytes is the size of the largest ConfigMap.
	MaxICSBytes = 1 << 20
	// MaxEvents and MaxRecurring bound the events and the recurring events.
	MaxEvents    = 2000
	MaxRecurring = 64
	// maxProblems bounds the list of unreadable events.
	maxProblems = 20
	// maxSteps bounds the work on the lines, rules and exceptions of a file to about 50 ms of processor time. 2000 usual events need
	// a tenth of it.
	maxSteps = 200_000
)

type file struct {
	calendar *component
	own      *time.Location
	zones    map[string]loaded
	// moved are the replaced and cancelled occurrences, by UID. unclear has the reasons for unknown occurrences of an event, by UID;
	// the reason at the empty UID is for all events of several occurrences.
	moved   map[string][]moment
	unclear map[string]string
	rules   int
	// budget bounds the work on the file, and line is the line of the event that is being read.
	budget *recur.Budget
	line   int
}

// tooLong is the error of a file that is over its budget at a line.
func tooLong(line int) error {
	return fmt.Errorf("takes too long to read, up to line %d: write UNTIL in place of a large COUNT, fewer exceptions and fewer lines; "+
		"or move events to another Calendar, and include it", line)
}

// File is the content of a calendar file.
type File struct {
	// Events are the events that count. Lines are the lines of their components in the file.
	Events []timeline.Event
	Lines  []int
	// Lost are the times which the unreadable events may cover. They are at least as long as the events.
	Lost []timeline.Event
	// Encoding is the encoding of a file that is not UTF-8; otherwise empty.
	Encoding string
	// Problems name the unreadable events, each with its line. The list is cut after 20.
	Problems []string
}

// ParseICS returns the events of a calendar file (RFC 5545). A recurring event is kept as a rule and never as a list of
// occurrences, so an endless event costs no more than a rule with ten occurrences. An unreadable event is reported with its
// line, and the other events are still used. own is the zone of times without a zone. An error means that the file is not a
// calendar, or that its rules and exceptions are too much work.
func ParseICS(text string, own *time.Location) (read File, err error) {
	if len(text) > MaxICSBytes {
		return read, fmt.Errorf("has %d bytes, where at most %d are read", len(text), MaxICSBytes)
	}
	budget := recur.NewBudget(maxSteps)
	text, read.Encoding = decode(text)
	root, err := components(lineBreaks.Replace(text), budget)
	if err != nil {
		return read, err
	}
	isOther := func(c *component) bool { return c.name != "VCALENDAR" }
	if root.broken != nil || len(root.children) == 0 || slices.ContainsFunc(root.children, isOther) {
		return read, fmt.Errorf("is no calendar file of RFC 5545, which is between BEGIN:VCALENDAR and END:VCALENDAR")
	}
	f := &file{own: own, moved: map[string][]moment{}, unclear: map[string]string{}, budget: budget}
	for _, c := range root.children {
		f.enter(c)
		f.note()
	}
	left := 0
	for _, c := range root.children {
		f.enter(c)
		if c.broken != nil {
			left++
			read.Problems, read.Lost = append(read.Problems, c.broken.Error()), append(read.Lost, timeline.Event{End: endOfTime})
		}
		left += f.readInto(&read)
	}
	if f.budget.IsOver() {
		return File{}, tooLong(f.line)
	}
	if more := left - len(read.Problems); more > 0 {
		read.Problems = append(read.Problems, fmt.Sprintf("and %d more events", more))
	}
	return read, nil
}

// enter makes a calendar of the file the current one. Each calendar has its own time zones.
func (f *file) enter(c *component) { f.calendar, f.zones = c, map[string]loaded{} }

// readInto adds the events of the current calendar, and returns the number of lost events.
func (f *file) readInto(read *File) (left int) {
	for _, e := range f.calendar.children {
		if e.name != "VEVENT" {
			continue
		}
		if f.budget.IsOver() {
			return left
		}
		f.line = e.line
		more, err := f.events(e)
		switch {
		case err == nil && len(read.Events)+len(more) <= MaxEvents:
			read.Events, read.Lines = append(read.Events, more...), append(read.Lines, slices.Repeat([]int{e.line}, len(more))...)
			continue
		case err == nil:
			err = fmt.Errorf("line %d: there are more than %d events", e.line, MaxEvents)
		}
		if read.Lost = append(read.Lost, f.span(e)); len(read.Problems) < maxProblems {
			read.Problems = append(read.Problems, nameOf(e)+err.Error())
		}
		left++
	}
	return left
}

// note notes the moved and cancelled occurrences of the current calendar, and the events with an unreadable change.
func (f *file) note() {
	if f.calendar.broken != nil {
		f.unclear[""] = "a part of the file that cannot be read may change its occurrences"
	}
	for _, c := range f.calendar.children {
		_, isMoved := c.first("RECURRENCE-ID")
		if c.name != "VEVENT" || !isMoved && c.broken == nil || f.budget.IsOver() {
			continue
		}
		f.line = c.line
		uid, _ := c.only("UID")
		id, isOne := c.only("RECURRENCE-ID")
		m, err := f.momentOf(id, id.value)
		switch {
		case id.params["RANGE"] != "":
			f.unclear[uid.value] = "the event changes from an occurrence on (RECURRENCE-ID with a RANGE): make two events of it"
		case !isOne || err != nil || uid.value == "":
			f.unclear[uid.value] = fmt.Sprintf("the change of an occurrence on line %d cannot be read", c.line)
		default:
			f.moved[uid.value] = append(f.moved[uid.value], m)
		}
	}
}

// changed returns the error of a RECURRENCE-ID.
func (f *file) changed(c *component) error {
	id, isMoved := c.first("RECURRENCE-ID")
	if !isMoved {
		return nil
	}
	if c.text("UID") == "" {
		return fmt.Errorf("line %d: RECURRENCE-ID without a UID is of no event", id.line)
	}
	_, err := f.momentOf(id, id.value)
	return err
}

// occurs returns an error if the occurrences of the event of a component are not known.
func (f *file) occurs(c *component) error {
	_, recurs := c.first("RRULE")
	_, dates := c.first("RDATE")
	why := ""
	if uid := c.text("UID"); uid != "" {
		why = f.unclear[uid]
	}
	if why == "" && (recurs || dates) {
		why = f.unclear[""]
	}
	if why != "" {
		return fmt.Errorf("line %d: %s", c.line, why)
	}
	return nil
}

// events returns the events of a component: several events if it has RDATEs, no event if it is cancelled or has no length.
func (f *file) events(c *component) ([]timeline.Event, error) {
	if c.broken != nil {
		return nil, c.broken
	}
	if err := f.changed(c); err != nil {
		return nil, err
	}
	if strings.EqualFold(c.text("STATUS"), "CANCELLED") {
		return nil, nil
	}
	if err := f.occurs(c); err != nil {
		return nil, err
	}
	_, isMoved := c.first("RECURRENCE-ID")
	rule, recurs := c.first("RRULE")
	exceptRule, excepts := c.first("EXRULE")
	switch {
	case isMoved && recurs:
		return nil, fmt.Errorf("line %d: an event with RECURRENCE-ID is one occurrence, and has no RRULE", rule.line)
	case excepts:
		return nil, fmt.Errorf("line %d: EXRULE is not read: list the days in EXDATE", exceptRule.line)
	}
	o, err := f.single(c)
	if err != nil {
		return nil, err
	}
	left, err := f.leftOut(c)
	if err != nil {
		return nil, err
	}
	again, err := f.again(c, o)
	if err != nil {
		return nil, err
	}
	var all []timeline.Event
	hasStart := false
	if recurs {
		if all, hasStart, err = f.recurring(c, rule, o.event(f.own), left); err != nil {
			return nil, err
		}
	}
	if !hasStart { // RFC 5545 leaves open whether DTSTART counts then (3.8.5.3). If it does, a freeze stays shut.
		again = append(again, o)
	}
	for _, o := range again {
		if f.budget.Spend(1+len(left)) && !o.isAmong(left, f.own) {
			all = append(all, o.exact(f.own))
		}
	}
	return slices.DeleteFunc(all, func(e timeline.Event) bool { return e.End == e.Start }), nil
}

// maxTitle is the largest length of names in messages. The entries of a Calendar have the same limit.
const maxTitle = 63

var unescape = strings.NewReplacer(`\\`, `\`, `\n`, " ", `\N`, " ", `\;`, ";", `\,`, ",")

func title(c *component) string {
	text := strings.ToValidUTF8(unescape.Replace(c.text("SUMMARY")), "")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if len(text) <= maxTitle {
		return text
	}
	end := 0
	for i := range text {
		if i <= maxTitle-len("…") {
			end = i
		}
	}
	return text[:end] + "…"
}

// nameOf returns the beginning of a problem: the name of the event, or nothing.
func nameOf(c *component) string {
	if t := title(c); t != "" {
		return fmt.Sprintf("%q, ", t)
	}
	return ""
}
