package timeline

// wall is a clock-face rule in a zone. A transition happens when zone.high reaches the transition's reading. So the state at an
// instant is the state of the rule at the highest reading shown so far.
type wall struct {
	zone *zone
	set  node // its instants are readings
}

func (n *wall) state(at int64) (bool, string) { return n.set.state(n.zone.high(at)) }

func (n *wall) transition(at int64, d direction) (bool, int64) {
	on, transition := n.set.transition(n.zone.high(at), d)
	if d == forward {
		return on, n.end(on, transition)
	}
	return on, n.start(on, transition)
}

// end returns the instant at which a run on the clock face ends. Runs that lie inside a gap are skipped.
func (n *wall) end(on bool, transition int64) int64 {
	for transition < latest {
		at, exact := n.zone.instant(transition)
		if exact {
			return at
		}
		after, next := n.set.transition(n.zone.high(at), forward)
		if after != on {
			return at
		}
		transition = next
	}
	return forever
}

// start returns the instant at which a run on the clock face starts. If the time directly before the run lies inside a
// gap, the run is joined with the run before the gap if that has the same state.
func (n *wall) start(on bool, transition int64) int64 {
	for transition > earliest {
		at, _ := n.zone.instant(transition)
		reading := n.zone.high(at - 1)
		if reading == transition-1 {
			return at
		}
		before, previous := n.set.transition(reading, backward)
		if before != on {
			return at
		}
		transition = previous
	}
	return always
}
