package timeline

// wall is a set of wall-clock readings seen from a zone. An edge happens when zone.high reaches it, so the state at an
// instant is the set's state at the highest reading shown so far.
type wall struct {
	zone *zone
	set  node // of readings
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

// start turns the start of a run on the clock face into an instant. If a gap swallowed the time before the run, the run
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
