package timeline

import (
	"cmp"
	"slices"

	"flyball.dev/flyball/engine/timeline/recur"
)

// weekSpan is one range of the week, in seconds after Monday midnight. to may be in the next week.
type weekSpan struct{ from, to int32 }

// weekly is a pattern that repeats every week. It has the times of the week at which the state changes.
type weekly struct {
	spans       []weekSpan
	transitions []int32 // ascending, in [0, a week); the state toggles at each
	first       bool    // the state before the first transition; it is also the state after the last transition
	label       string
}

// newWeekly merges the spans. Spans that touch or overlap have no transition between them, even around the end of the week.
func newWeekly(label string, spans []weekSpan) *weekly {
	w := &weekly{spans: slices.Clone(spans), label: label} // without spare room, because thousands of policies have weeks
	var parts []weekSpan
	for _, s := range spans {
		if s.to <= weekSeconds {
			parts = append(parts, s)
			continue
		}
		parts = append(parts, weekSpan{s.from, weekSeconds}, weekSpan{0, s.to - weekSeconds})
	}
	w.transitions = make([]int32, 0, 2*len(parts))
	slices.SortFunc(parts, func(a, b weekSpan) int { return cmp.Compare(a.from, b.from) })
	for _, p := range parts {
		last := len(w.transitions) - 1
		if len(w.transitions) > 0 && p.from <= w.transitions[last] {
			w.transitions[last] = max(w.transitions[last], p.to)
			continue
		}
		w.transitions = append(w.transitions, p.from, p.to)
	}
	return w.joinEnds()
}

// joinEnds moves a transition at the end of the week to the beginning of the week, which is the same point. If there is a transition
// at the beginning too, the two cancel out, and both are removed.
func (w *weekly) joinEnds() *weekly {
	last := len(w.transitions) - 1
	if len(w.transitions) == 0 || w.transitions[last] != weekSeconds {
		return w
	}
	w.first = true
	w.transitions = w.transitions[:last]
	if w.transitions[0] == 0 {
		w.transitions = w.transitions[1:]
		return w
	}
	w.transitions = slices.Insert(w.transitions, 0, 0)
	return w
}

func (w *weekly) state(reading int64) (bool, string) {
	_, on, _ := w.locate(reading)
	if !on {
		return false, ""
	}
	return true, w.label
}

func (w *weekly) transition(reading int64, d direction) (bool, int64) {
	monday, on, next := w.locate(reading)
	switch {
	case len(w.transitions) == 0:
		return on, d.farthest()
	case d == forward && next == len(w.transitions):
		return on, monday + weekSeconds + int64(w.transitions[0])
	case d == forward:
		return on, monday + int64(w.transitions[next])
	case next == 0:
		return on, monday - weekSeconds + int64(w.transitions[len(w.transitions)-1])
	default:
		return on, monday + int64(w.transitions[next-1])
	}
}

// locate returns the reading of the last Monday midnight, the state at the reading, and the index of the first transition
// after the reading.
func (w *weekly) locate(reading int64) (monday int64, on bool, next int) {
	const firstMonday = 4 * daySeconds // 1970-01-05
	offset := recur.FloorMod(reading-firstMonday, weekSeconds)
	for next < len(w.transitions) && int64(w.transitions[next]) <= offset {
		next++
	}
	return reading - offset, w.first != (next%2 == 1), next
}
