package timeline

import "time"

// Apart reports whether two timelines are certainly never on at the same time from one instant until another. looks
// bounds the number of looks at parts of unions; if more are needed, Apart returns false. left is the number of
// remaining looks.
func Apart(a, b Timeline, from, until time.Time, looks int) (apart bool, left int) {
	aParts, bParts := partsOf(a.node()), partsOf(b.node())
	for at, end := toSeconds(from), toSeconds(until); at < end; {
		if looks -= len(aParts) + len(bParts); looks < 0 {
			return false, 0
		}
		aOn, aTransition := firstOn(aParts, at)
		bOn, bTransition := firstOn(bParts, at)
		switch {
		case aOn && bOn:
			return false, looks
		case aOn:
			at = bTransition
		case bOn:
			at = aTransition
		default:
			at = max(aTransition, bTransition)
		}
	}
	return true, looks
}

// partsOf returns the parts of a node: the node is on whenever one of them is on.
func partsOf(n node) []node {
	if outer, ok := n.(*not); ok {
		if inner, ok := outer.inner.(*not); ok {
			return partsOf(inner.inner)
		}
	}
	of := n
	if s, ok := n.(*settled); ok {
		of = s.node
	}
	if u, ok := of.(*union); ok {
		return u.parts
	}
	return []node{n}
}

// firstOn reports whether one of the nodes is on at the instant. If not, transition is the first instant at which one of them
// will be on.
func firstOn(nodes []node, at int64) (on bool, transition int64) {
	transition = forever
	for _, n := range nodes {
		on, next := n.transition(at, forward)
		if on {
			return true, 0
		}
		transition = min(transition, next)
	}
	return false, transition
}
