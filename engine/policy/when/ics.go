package when

import (
	"fmt"
	"strings"
	"time"

	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/timeline/face"
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
)

type file struct {
	calendar *component
	own      *time.Location
	zones    map[string]loaded
	// moved are the replaced and cancelled occurrences, by UID.
	moved map[string][]moment
	rules int
}

// ParseICS returns the events of a calendar file (RFC 5545). A recurring event is kept as a rule and never as a list of
// occurrences, so an endless event costs no more than a rule with ten occurrences. An unreadable event is reported with its
// line, and the other events are still used. own is the zone of times without a zone. problems names each ignored event with
// its line. An error means that the file is not a calendar.
func ParseICS(text string, own *time.Location) (events []timeline.Event, problems []string, err error) {
	if len(text) > MaxICSBytes {
		return nil, nil, fmt.Errorf("has %d bytes, where at most %d are read", len(text), MaxICSBytes)
	}
	root, err := read(strings.TrimPrefix(text, "\ufeff"))
	if err != nil {
		return nil, nil, err
	}
	if len(root.children) != 1 || root.children[0].name != "VCALENDAR" {
		return nil, nil, fmt.Errorf("is no calendar file of RFC 5545, which is between one BEGIN:VCALENDAR and one END:VCALENDAR")
	}
	f := &file{calendar: root.children[0], own: own, zones: map[string]loaded{}, moved: map[string][]moment{}}
	if f.calendar.broken != nil {
		problems = append(problems, f.calendar.broken.Error())
	}
	list := f.list()
	left := 0
	for _, e := range list {
		more, err := f.events(e)
		switch {
		case err == nil && len(events)+len(more) <= MaxEvents:
			events = append(events, more...)
			continue
		case err == nil:
			err = fmt.Errorf("line %d: there are more than %d events", e.line, MaxEvents)
		}
		if left++; len(problems) < maxProblems {
			problems = append(problems, nameOf(e)+err.Error())
		}
	}
	if more := left - len(problems); more > 0 {
		problems = append(problems, fmt.Sprintf("and %d more events", more))
	}
	return events, problems, nil
}

// list returns the events of the file, and notes which occurrences are moved or cancelled.
func (f *file) list() (all []*component) {
	for _, c := range f.calendar.children {
		if c.name != "VEVENT" {
			continue
		}
		if uid := c.text("UID"); uid != "" && c.broken == nil {
			if ids, err := f.moments(c, "RECURRENCE-ID"); err == nil {
				f.moved[uid] = append(f.moved[uid], ids...)
			}
		}
		all = append(all, c)
	}
	return all
}

// events returns the events of a component: several events if it has RDATEs, no event if it is cancelled.
func (f *file) events(c *component) ([]timeline.Event, error) {
	if c.broken != nil {
		return nil, c.broken
	}
	if strings.EqualFold(c.text("STATUS"), "CANCELLED") {
		return nil, nil
	}
	id, isMoved := c.first("RECURRENCE-ID")
	rule, recurs := c.first("RRULE")
	switch {
	case isMoved && id.params["RANGE"] != "":
		return nil, fmt.Errorf("line %d: RECURRENCE-ID with a RANGE is not read: write a second event with an RRULE of its own", id.line)
	case isMoved && recurs:
		return nil, fmt.Errorf("line %d: an event with RECURRENCE-ID is one occurrence, and has no RRULE", rule.line)
	}
	e, err := f.single(c)
	if err != nil {
		return nil, err
	}
	dates, err := f.moments(c, "RDATE")
	if err != nil {
		return nil, err
	}
	var all []timeline.Event
	for _, d := range dates {
		again := e
		again.Start = d.in(e.Zone, f.own)
		if d.isDate && e.Start%face.DaySeconds != 0 {
			again.Start += face.FloorMod(e.Start, face.DaySeconds)
		}
		again.End = again.Start + e.End - e.Start
		all = append(all, again)
	}
	if recurs {
		if e, err = f.recurring(c, rule, e); err != nil {
			return nil, err
		}
	}
	return append(all, e), nil
}

// single returns the event of a component without its recurrence.
func (f *file) single(c *component) (e timeline.Event, err error) {
	start, ok := c.first("DTSTART")
	if !ok {
		return e, fmt.Errorf("line %d: the event has no DTSTART", c.line)
	}
	from, err := f.momentOf(start, start.value)
	if err != nil {
		return e, err
	}
	e = timeline.Event{Name: title(c), Zone: from.zone, Start: from.reading, End: from.reading}
	end, hasEnd := c.first("DTEND")
	length, hasLength := c.first("DURATION")
	switch {
	case hasEnd:
		to, err := f.momentOf(end, end.value)
		if err != nil {
			return e, err
		}
		e.End = to.in(from.zone, f.own)
	case hasLength:
		seconds, err := durationOf(length)
		if err != nil {
			return e, err
		}
		e.End += seconds
	case from.isDate:
		e.End += face.DaySeconds
	}
	if e.End <= e.Start {
		return e, fmt.Errorf("line %d: the event has no length: give it a DTEND after DTSTART, or a DURATION", c.line)
	}
	return e, nil
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
