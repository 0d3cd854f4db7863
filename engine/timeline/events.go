package timeline

import (
	"time"

	"flyball.dev/flyball/engine/timeline/face"
)

// Event is an event of a calendar file, once or on each of a set of days.
type Event struct {
	// Name says what the event is, for messages.
	Name string
	// Zone is the zone of its times. Nil: the calendar's own.
	Zone *time.Location
	// Start and End are readings of the zone's clock, in seconds, End excluded. For a recurring event they belong to the first occurrence.
	Start, End int64
	// Days are the days of a recurring event, before Start too; nil: the event happens once.
	Days face.Set
	// Last is the last of the days; 0: no last day.
	Last int64
}

// MaxRecurringDays is the largest number of days touched by an occurrence of a recurring event.
const MaxRecurringDays = face.MaxShift + 1

// eventNodes returns the nodes of events. All single events of a zone are a node, so that their number costs little.
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

// recurring returns the node of a recurring event. A long event is cut into days, and the union joins the days again.
func (e Event) recurring(z *zone, label string) node {
	first := face.FloorDiv(e.Start, daySeconds)
	from, length := e.Start-first*daySeconds, e.End-e.Start
	var parts []node
	if from == 0 && length%daySeconds == 0 {
		var each []face.Set
		for day := range int(length / daySeconds) {
			each = append(each, face.Later(e.Days, day))
		}
		days := face.Any(each...)
		parts, length = append(parts, &dayTimes{days: days, others: face.Others(days), length: daySeconds, label: label}), 0
	}
	for day := 0; length > 0; day++ {
		part := min(length, daySeconds-from)
		if day == 0 && length <= daySeconds {
			part = length // a window may go over one midnight by itself
		}
		days := face.Later(e.Days, day)
		parts = append(parts, &dayTimes{days: days, others: face.Others(days), from: from, length: part, label: label})
		from, length = 0, length-part
	}
	c := &clip{node: &wall{zone: z, set: newUnion(parts, parts)}, to: forever}
	c.from, _ = z.instant(e.Start)
	if e.Last != 0 {
		c.to, _ = z.instant(e.End + (e.Last-first)*daySeconds)
	}
	return c
}
