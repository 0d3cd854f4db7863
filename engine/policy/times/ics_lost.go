package times

import (
	"strings"
	"time"

	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/timeline/recur"
)

// endOfTime is the reading after the last day of the calendar, the end of year 9999.
var endOfTime = time.Date(10000, time.January, 1, 0, 0, 0, 0, time.UTC).Unix()

// maxShift is the largest difference in seconds between the clocks of two zones, from UTC-12 to UTC+14.
const maxShift = 26 * 60 * recur.MinuteSeconds

// span returns the time which an unreadable event may cover: from its date to its last one, where the dates can be read. An
// event that may recur has no end, and an event without a readable date may be at any time.
func (f *file) span(c *component) timeline.Event {
	always := timeline.Event{Name: title(c), End: endOfTime}
	e := always
	start, isOne := c.only("DTSTART")
	from, err := f.roughly(start)
	_, dates := c.first("RDATE")
	_, recurs := c.first("RRULE")
	id, _ := c.first("RECURRENCE-ID")
	endless := c.broken != nil || recurs || id.params["RANGE"] != ""
	if !isOne || err != nil || dates {
		return e
	}
	if o, err := f.single(c); err == nil && !endless {
		return o.exact(f.own)
	}
	e.Zone, e.Start = from.zone, from.reading
	shift := int64(0)
	if _, err := f.momentOf(start, start.value); err != nil {
		shift = maxShift
	}
	e.Start -= shift
	if endless {
		return e
	}
	end, hasEnd := c.first("DTEND")
	duration, hasLength := c.first("DURATION")
	switch {
	case hasEnd && hasLength: // the two may disagree
		return e
	case hasEnd:
		to, err := f.roughly(end)
		if err != nil {
			return e
		}
		if _, err := f.momentOf(end, end.value); err != nil {
			shift = maxShift
		}
		e.End = to.in(from.zone, f.own) + shift
		if e.End < e.Start { // one of the two dates is wrong
			return always
		}
		if to.isDate {
			e.End = max(e.End, from.reading+recur.DaySeconds)
		}
	case hasLength:
		length, err := durationOf(duration, duration.value)
		if err != nil {
			return e
		}
		e.End = from.reading + length.days*recur.DaySeconds + length.seconds + shift
	default:
		e.End = from.reading + recur.DaySeconds + shift
	}
	return e
}

// roughly reads a time of which the zone may be unknown. If only the date is readable, it returns the date.
func (f *file) roughly(p property) (moment, error) {
	if m, err := f.momentOf(p, p.value); err == nil {
		return m, nil
	}
	bare := p
	bare.params = nil
	m, err := f.momentOf(bare, strings.TrimSuffix(p.value, "Z"))
	if err != nil && len(p.value) > len(dateForm) {
		m, err = f.momentOf(bare, p.value[:len(dateForm)])
	}
	return m, err
}
