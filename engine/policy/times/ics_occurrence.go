package times

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/timeline/recur"
)

// occurrence is one occurrence of an event.
type occurrence struct {
	name  string
	start moment
	// end is the end, if the event has one. Otherwise length is the length.
	end    *moment
	length length
}

// length is a DURATION: days of the calendar, and seconds of elapsed time (RFC 5545, section 3.3.6).
type length struct{ days, seconds int64 }

// single returns the occurrence at the DTSTART of a component.
func (f *file) single(c *component) (o occurrence, err error) {
	start, ok := c.first("DTSTART")
	if !ok {
		return o, fmt.Errorf("line %d: the event has no DTSTART", c.line)
	}
	o.name = title(c)
	if o.start, err = f.momentOf(start, start.value); err != nil {
		return o, err
	}
	end, hasEnd := c.first("DTEND")
	duration, hasLength := c.first("DURATION")
	switch {
	case hasEnd && hasLength:
		return o, fmt.Errorf("line %d: DURATION is beside a DTEND: leave out one of the two", duration.line)
	case hasEnd:
		to, err := f.momentOf(end, end.value)
		if err != nil {
			return o, err
		}
		o.end = &to
	case hasLength:
		if o.length, err = durationOf(duration, duration.value); err != nil {
			return o, err
		}
	}
	switch e := o.exact(f.own); {
	case e.End < e.Start:
		return o, fmt.Errorf("line %d: the event ends before it begins", c.line)
	case e.End == e.Start && o.start.isDate: // a date without an end is one day, and Outlook writes the same date as the end
		o.end, o.length = nil, length{days: 1}
	}
	return o, nil
}

// event returns the occurrence by the clock of its zone, as the first one of a recurring event. The length of an event with two
// times is the elapsed time between them (RFC 5545, section 3.8.5.3).
func (o occurrence) event(own *time.Location) timeline.Event {
	o = o.at(o.start, own)
	return timeline.Event{
		Name: o.name, Zone: o.start.zone, Start: o.start.reading,
		End: o.start.reading + o.length.days*recur.DaySeconds + o.length.seconds, Elapsed: o.length.seconds,
	}
}

// exact returns the occurrence with its exact instants, unless it consists of whole days of the calendar's zone.
func (o occurrence) exact(own *time.Location) timeline.Event {
	if o.start.isDate && (o.end == nil && o.length.seconds == 0 || o.end != nil && o.end.isDate) {
		return o.event(own)
	}
	e := timeline.Event{Name: o.name, Zone: time.UTC, Start: o.start.instant(own)}
	last := o.start
	last.reading += o.length.days * recur.DaySeconds
	if e.End = last.instant(own) + o.length.seconds; o.end != nil {
		e.End = o.end.instant(own)
	}
	return e
}

// at returns the occurrence moved to another start.
func (o occurrence) at(start moment, own *time.Location) occurrence {
	if start.isDate && !o.start.isDate {
		start.reading, start.isDate, start.zone = start.reading+recur.FloorMod(o.start.reading, recur.DaySeconds), false, o.start.zone
	}
	if o.end != nil && o.start.isDate && o.end.isDate {
		o.length, o.end = length{days: (o.end.reading - o.start.reading) / recur.DaySeconds}, nil
	} else if o.end != nil {
		e := o.exact(own)
		o.length, o.end = length{seconds: e.End - e.Start}, nil
	}
	o.start = start
	return o
}

// isAmong reports whether the occurrence is left out.
func (o occurrence) isAmong(left []moment, own *time.Location) bool {
	return slices.ContainsFunc(left, func(m moment) bool { return m.names(o.start, own) })
}

// leftOut returns the excluded, moved and cancelled occurrences of a component. A moved occurrence leaves out none.
func (f *file) leftOut(c *component) ([]moment, error) {
	if _, isMoved := c.first("RECURRENCE-ID"); isMoved {
		return nil, nil
	}
	left, err := f.moments(c, "EXDATE")
	if moved := f.moved[c.text("UID")]; f.budget.Spend(len(moved)) {
		left = append(left, moved...)
	}
	return left, err
}

// again returns the occurrences of the RDATEs of a component.
func (f *file) again(c *component, o occurrence) (all []occurrence, err error) {
	for _, p := range c.props {
		if p.name != "RDATE" {
			continue
		}
		for value := range strings.SplitSeq(p.value, ",") {
			from, to, isPeriod := strings.Cut(value, "/")
			start, err := f.momentOf(p, from)
			if err != nil {
				return nil, err
			}
			next := o.at(start, f.own)
			if isPeriod {
				if next, err = f.period(p, next, to); err != nil {
					return nil, err
				}
			}
			all = append(all, next)
		}
	}
	return all, nil
}

// period returns an occurrence with the end or the length of an RDATE;VALUE=PERIOD.
func (f *file) period(p property, o occurrence, to string) (occurrence, error) {
	if strings.HasPrefix(to, "P") {
		length, err := durationOf(p, to)
		o.end, o.length = nil, length
		return o, err
	}
	end, err := f.momentOf(p, to)
	if o.end = &end; err == nil && end.instant(f.own) <= o.start.instant(f.own) {
		err = fmt.Errorf("line %d: RDATE has a period that ends before it begins", p.line)
	}
	return o, err
}
