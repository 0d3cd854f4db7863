package timeline

import "time"

// Apart reports whether two timelines are certainly never on at the same time from one instant until another. It looks at no more than so many of their
// edges, and is not certain beyond them. It returns how many of these looks are left.
func Apart(a, b Timeline, from, until time.Time, looks int) (apart bool, left int) {
	at, end := toSeconds(from), toSeconds(until)
	for at < end {
		if looks--; looks < 0 {
			return false, 0
		}
		aOn, aEdge := a.node().look(at, forward)
		bOn, bEdge := b.node().look(at, forward)
		switch {
		case aOn && bOn:
			return false, looks
		case aOn:
			at = bEdge
		case bOn:
			at = aEdge
		default:
			at = max(aEdge, bEdge)
		}
	}
	return true, looks
}
