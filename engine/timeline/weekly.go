package timeline

import (
	"cmp"
	"slices"

	"flyball.dev/flyball/engine/timeline/face"
)

// weekSpan is one range of the week, in seconds after Monday midnight. to may be in the next week.
type weekSpan struct{ from, to int64 }

// weekly is a pattern that repeats every week. It has the times of the week at which the state changes.
type weekly struct {
	spans []weekSpan
	edges []int64 // ascending, in [0, a week); the state toggles at each
	first bool    // the state before the first edge; it is also the state after the last edge
	label string
}

// newWeekly merges the spans. Spans that touch or overlap have no edge between them, even around the end of the week.
func newWeekly(label string, spans []weekSpan) *weekly {
	w := &weekly{spans: spans, label: label}
	var parts []weekSpan
	for _, s := range spans {
		if s.to <= weekSeconds {
			parts = append(parts, s)
			continue
		}
		parts = append(parts, weekSpan{s.from, weekSeconds}, weekSpan{0, s.to - weekSeconds})
	}
	slices.SortFunc(parts, func(a, b weekSpan) int { return cmp.Compare(a.from, b.from) })
	for _, p := range parts {
		last := len(w.edges) - 1
		if len(w.edges) > 0 && p.from <= w.edges[last] {
			w.edges[last] = max(w.edges[last], p.to)
			continue
		}
		w.edges = append(w.edges, p.from, p.to)
	}
	return w.joinEnds()
}

// joinEnds moves an edge at the end of the week to the beginning of the week, which is the same point. If there is an edge
// at the beginning too, the two cancel out, and both are removed.
func (w *weekly) joinEnds() *weekly {
	last := len(w.edges) - 1
	if len(w.edges) == 0 || w.edges[last] != weekSeconds {
		return w
	}
	w.first = true
	w.edges = w.edges[:last]
	if w.edges[0] == 0 {
		w.edges = w.edges[1:]
		return w
	}
	w.edges = slices.Insert(w.edges, 0, 0)
	return w
}

func (w *weekly) state(reading int64) (bool, string) {
	_, on, _ := w.locate(reading)
	if !on {
		return false, ""
	}
	return true, w.label
}

func (w *weekly) look(reading int64, d direction) (bool, int64) {
	monday, on, next := w.locate(reading)
	switch {
	case len(w.edges) == 0:
		return on, d.farthest()
	case d == forward && next == len(w.edges):
		return on, monday + weekSeconds + w.edges[0]
	case d == forward:
		return on, monday + w.edges[next]
	case next == 0:
		return on, monday - weekSeconds + w.edges[len(w.edges)-1]
	default:
		return on, monday + w.edges[next-1]
	}
}

// locate returns the reading of the last Monday midnight, the state at the reading, and the index of the first edge
// after the reading.
func (w *weekly) locate(reading int64) (monday int64, on bool, next int) {
	const firstMonday = 4 * daySeconds // 1970-01-05
	offset := face.FloorMod(reading-firstMonday, weekSeconds)
	for next < len(w.edges) && w.edges[next] <= offset {
		next++
	}
	return reading - offset, w.first != (next%2 == 1), next
}
