package timeline

import (
	"time"

	"flyball.dev/flyball/engine/timeline/face"
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
	// Days are the days on which a recurring event begins, including days before Start; nil: the event happens once.
	Days face.Set
	// Last is the last day of Days that counts; 0: there is no last day.
	Last int64
}

// MaxRecurringDays is the largest number of days that one occurrence of a recurring event may touch.
const MaxRecurringDays = face.MaxShift + 1

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

// recurring returns the node of a recurring event. An event over several days is cut into days, and the union joins
// them again.
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
