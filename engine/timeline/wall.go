package timeline

// wallSet is a set of wall-clock readings, given by the runs in which it is on and off.
type wallSet interface {
	// state says whether the reading is in the set, and who is responsible.
	state(reading int64) (on bool, label string)
	// look returns the state at the reading with the edge of its run in the given direction, as node.look does.
	look(reading int64, d direction) (on bool, edge int64)
}

// wall is a wall-clock set seen from a zone. An edge happens when zone.high reaches it, so the state at an instant is
// the set's state at the highest reading shown so far.
type wall struct {
	zone zone
	set  wallSet
}

func (n *wall) state(at int64) (bool, string) { return n.set.state(n.zone.high(at)) }

func (n *wall) look(at int64, d direction) (bool, int64) {
	on, edge := n.set.look(n.zone.high(at), d)
	if d == forward {
		return on, n.end(on, edge)
	}
	return on, n.start(on, edge)
}

// end turns the end of a run on the clock face into an instant. Runs that a gap swallows do not count.
func (n *wall) end(on bool, edge int64) int64 {
	for edge < latest {
		at, exact := n.zone.instant(edge)
		if exact {
			return at
		}
		after, next := n.set.look(n.zone.high(at), forward)
		if after != on {
			return at
		}
		edge = next
	}
	return forever
}

// start turns the start of a run on the clock face into an instant. If a gap swallowed what lay before the run, the run
// goes on beyond the gap.
func (n *wall) start(on bool, edge int64) int64 {
	for edge > earliest {
		at, _ := n.zone.instant(edge)
		reading := n.zone.high(at - 1)
		if reading == edge-1 {
			return at
		}
		before, previous := n.set.look(reading, backward)
		if before != on {
			return at
		}
		edge = previous
	}
	return always
}

// clockRange is one stretch of the wall clock.
type clockRange struct {
	from, to int64 // readings, half-open
	label    string
}

func (r *clockRange) state(reading int64) (bool, string) {
	if reading < r.from || reading >= r.to {
		return false, ""
	}
	return true, r.label
}

func (r *clockRange) look(reading int64, d direction) (bool, int64) {
	return lookSpan(r.from, r.to, reading, d)
}

// instantRange is one stretch of time, whatever the clocks show.
type instantRange struct {
	from, to int64 // instants, half-open
	label    string
}

func (r *instantRange) state(at int64) (bool, string) {
	if at < r.from || at >= r.to {
		return false, ""
	}
	return true, r.label
}

func (r *instantRange) look(at int64, d direction) (bool, int64) {
	return lookSpan(r.from, r.to, at, d)
}

func lookSpan(from, to, at int64, d direction) (bool, int64) {
	switch {
	case at < from && d == forward:
		return false, from
	case at < from:
		return false, always
	case at < to && d == forward:
		return true, to
	case at < to:
		return true, from
	case d == forward:
		return false, forever
	default:
		return false, to
	}
}
