package timeline

// clip is on while its node is on, but only between the instants from and to.
type clip struct {
	node
	from, to int64
}

func (n *clip) state(at int64) (bool, string) {
	if at < n.from || at >= n.to {
		return false, ""
	}
	return n.node.state(at)
}

func (n *clip) transition(at int64, d direction) (bool, int64) {
	inside := at >= n.from && at < n.to
	switch {
	case inside:
		on, transition := n.node.transition(at, d)
		switch {
		case on:
			return true, min(max(transition, n.from), n.to)
		case transition <= n.from || transition >= n.to:
			return false, d.farthest()
		}
		return false, transition
	case d == forward && at < n.from:
		return false, n.entry(n.from, d)
	case d == backward && at >= n.to:
		return false, n.entry(n.to-1, d)
	default:
		return false, d.farthest()
	}
}

// entry returns the nearest transition inside the clip, seen from an instant outside. at is the instant inside at which the
// search begins.
func (n *clip) entry(at int64, d direction) int64 {
	on, transition := n.node.transition(at, d)
	switch {
	case on && d == forward:
		return n.from
	case on:
		return n.to
	case transition <= n.from || transition >= n.to:
		return d.farthest()
	}
	return transition
}
