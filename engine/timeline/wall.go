package timeline

// wall is a clock-face rule in a zone. An edge happens when zone.high reaches the edge's reading. So the state at an
// instant is the state of the rule at the highest reading shown so far.
type wall struct {
	zone *zone
	set  node // its instants are readings
}

func (n *wall) state(at int64) (bool, string) { return n.set.state(n.zone.high(at)) }

func (n *wall) look(at int64, d direction) (bool, int64) {
	on, edge := n.set.look(n.zone.high(at), d)
	if d == forward {
		return on, n.end(on, edge)
	}
	return on, n.start(on, edge)
}

// end returns the instant at which a run on the clock face ends. Runs that lie inside a gap are skipped.
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

// start returns the instant at which a run on the clock face starts. If the time directly before the run lies inside a
// gap, the run is joined with the run before the gap if that has the same state.
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
