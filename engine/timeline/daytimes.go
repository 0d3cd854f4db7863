package timeline

import "flyball.dev/flyball/engine/timeline/recur"

// dayTimes is the clock-face rule of a window that opens at the same time on each day of a set and stays open for at
// most a day.
type dayTimes struct {
	days recur.Set
	// others are the days that are not in the set.
	others recur.Set
	// from is the time of the opening in seconds after midnight. length is the time in seconds for which the window is
	// open.
	from, length int64
	label        string
}

func (n *dayTimes) state(reading int64) (bool, string) {
	if on, _ := n.candidate(reading); on {
		return true, n.label
	}
	return false, ""
}

func (n *dayTimes) transition(reading int64, d direction) (bool, int64) {
	on, day := n.candidate(reading)
	switch {
	case !on && d == forward:
		next, ok := recur.From(n.days, day+1)
		return false, orFarthest(n.opening(next), ok, d)
	case !on:
		last, ok := recur.UpTo(n.days, day)
		return false, orFarthest(n.opening(last)+n.length, ok, d)
	case n.length == daySeconds:
		return true, n.row(day, d)
	case d == forward:
		return true, n.opening(day) + n.length
	default:
		return true, n.opening(day)
	}
}

// row returns a transition of the run of neighbouring days that contains the day: its end or its beginning. It is used for
// windows that are open all day, which form one run.
func (n *dayTimes) row(day int64, d direction) int64 {
	if d == forward {
		after, ok := recur.From(n.others, day)
		return orFarthest(n.opening(after), ok, d)
	}
	before, ok := recur.UpTo(n.others, day)
	return orFarthest(n.opening(before+1), ok, d)
}

func (n *dayTimes) opening(day int64) int64 { return day*daySeconds + n.from }

// candidate returns the only day whose window can be open at the reading, and whether that window is open. Only one day
// is possible, because no window is longer than a day.
func (n *dayTimes) candidate(reading int64) (on bool, day int64) {
	day = recur.FloorDiv(reading-n.from, daySeconds)
	return reading-n.opening(day) < n.length && recur.Has(n.days, day), day
}

func orFarthest(transition int64, ok bool, d direction) int64 {
	if !ok {
		return d.farthest()
	}
	return transition
}
