package timeline

import (
	"math"
	"time"

	"flyball.dev/flyball/engine/timeline/recur"
)

// Event is an event of a calendar file. It happens once, or on each day of a set.
type Event struct {
	// Name is the name of the event in messages.
	Name string
	// Zone is the zone of the event's times. Nil: the calendar's own zone.
	Zone *time.Location
	// Start and End are readings of the zone's clock, in seconds; End is excluded. For a recurring event they are the times of
	// the first occurrence.
	Start, End int64
	// Elapsed is the part of a recurring event's length that is elapsed time, in seconds. The rest are whole days of the zone's clock.
	Elapsed int64
	// Days are the days on which a recurring event begins, including days before Start; nil: the event happens once.
	Days recur.Set
	// Left are days that are left out of Days.
	Left recur.Listed
	// Last is the last day of Days that counts; 0: there is no last day.
	Last int64
}

// eventNodes returns the nodes of events. All single events of a zone share one node, so many of them cost little.
func eventNodes(calendar string, events []Event, own *time.Location) (nodes []node) {
	once := map[*time.Location]*stretches{}
	for _, e := range events {
		loc, label := e.Zone, entryLabel(calendar, e.Name)
		if loc == nil {
			loc = own
		}
		if e.Days != nil {
			nodes = append(nodes, e.recurring(zoneOf(loc), label))
			continue
		}
		s := once[loc]
		if s == nil {
			s = &stretches{}
			once[loc] = s
			nodes = append(nodes, &wall{zone: zoneOf(loc), set: s})
		}
		s.named = append(s.named, span{from: e.Start, to: e.End, label: label})
	}
	for _, s := range once {
		s.merged = mergeSpans(s.named)
	}
	return nodes
}

// noLast is the last day of an event without a last day.
const noLast = int64(math.MaxInt64) / daySeconds / 2

// recurring returns the node of a recurring event. An event of whole days is a rule of the clock face, on which neighbouring
// days join.
func (e Event) recurring(z *zone, label string) node {
	first, last, on := recur.FloorDiv(e.Start, daySeconds), e.Last, recur.Without(e.Days, e.Left)
	if last == 0 {
		last = noLast
	}
	from, length := e.Start-first*daySeconds, e.End-e.Start
	if from != 0 || e.Elapsed != 0 || length > recur.MaxShift*daySeconds {
		return &occurrences{
			zone: z, days: on, left: e.Left, first: first, last: last, from: from, nominal: length - e.Elapsed, elapsed: e.Elapsed, label: label,
		}
	}
	var each []recur.Set
	for day := range int(length / daySeconds) {
		each = append(each, recur.Later(on, day))
	}
	days := recur.Any(each...)
	c := &clip{node: &wall{zone: z, set: &dayTimes{days: days, others: recur.Others(days), length: daySeconds, label: label}}, to: forever}
	c.from, _ = z.instant(e.Start)
	if e.Last != 0 {
		c.to, _ = z.instant(e.End + (e.Last-first)*daySeconds)
	}
	return c
}
