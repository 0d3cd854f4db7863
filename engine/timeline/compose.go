package timeline

import "strings"

// Not returns the timeline that is on exactly when t is off.
func Not(t Timeline) Timeline {
	return Timeline{root: &not{t.node()}, text: "not (" + t.String() + ")"}
}

// Union returns the timeline that is on whenever one of the given is. If several are on, the first gives its name.
// Windows of weekdays in one zone are merged on the clock face, and so are those from a start to an end: any number of
// them costs no more than one.
func Union(ts ...Timeline) Timeline {
	u := Any(ts...)
	if joined, ok := u.root.(*union); ok {
		u.root = settle(joined)
	}
	return u
}

// Any is a Union for a caller with many timelines and few questions. It is made without a search for the begin of the
// last run; instead each question about that run needs one.
func Any(ts ...Timeline) Timeline {
	if len(ts) == 0 {
		return Timeline{}
	}
	named := make([]node, len(ts))
	texts := make([]string, len(ts))
	for i, t := range ts {
		named[i], texts[i] = t.node(), t.String()
	}
	return Timeline{root: newUnion(mergeFaces(named), named), text: strings.Join(texts, "; ")}
}

// Effect is the state that rules while a timeline, usually a calendar, is on.
type Effect struct {
	// During is the time when the effect rules.
	During Timeline
	// Active is the imposed state.
	Active bool
}

// Override returns base with effects laid over it: while an effect's timeline is on, its state rules. Where effects
// contradict each other Active wins, whatever their order, as more capacity wins everywhere.
func Override(base Timeline, effects ...Effect) Timeline {
	text := base.String()
	var on, off []node
	for _, e := range effects {
		if e.Active {
			on = append(on, e.During.node())
			text += "; on during " + e.During.String()
			continue
		}
		off = append(off, e.During.node())
		text += "; off during " + e.During.String()
	}
	root := base.node()
	if len(off) > 0 {
		off = append(off, &not{root})
		root = &not{newUnion(off, off)}
	}
	if len(on) > 0 {
		on = append(on, root)
		root = newUnion(on, on)
	}
	return Timeline{root: root, text: text}
}

type not struct{ inner node }

func (n *not) state(at int64) (bool, string) {
	on, label := n.inner.state(at)
	return !on, label
}

func (n *not) look(at int64, d direction) (bool, int64) {
	on, edge := n.inner.look(at, d)
	return !on, edge
}

// union is on whenever one of its parts is.
type union struct {
	parts []node // merged where possible
	named []node // the sources of names, in order of preference
}

func newUnion(parts, named []node) node {
	if len(named) == 1 {
		return named[0]
	}
	return &union{parts: parts, named: named}
}

func (n *union) state(at int64) (bool, string) {
	off := ""
	for _, part := range n.named {
		on, label := part.state(at)
		if on {
			return true, label
		}
		if off == "" {
			off = label
		}
	}
	return false, off
}

func (n *union) look(at int64, d direction) (bool, int64) {
	nearest := d.farthest()
	for _, part := range n.parts {
		on, edge := part.look(at, d)
		if on {
			return true, n.extend(edge, d)
		}
		nearest = d.nearer(nearest, edge)
	}
	return false, nearest
}

// maxLooks bounds how many runs of its parts a union joins into one before it takes the result for endless: more than two years
// of two runs a day. Only parts whose own runs are short and which cover each other's every gap, such as weekdays by the wall clock
// and nights by elapsed hours, come near it.
const maxLooks = 1 << 11

// extend moves the edge of a run outwards for as long as another part is on beyond it. Once every part had its turn, a run that
// goes on over all kinds of years (seasonsSeconds) is endless.
func (n *union) extend(edge int64, d direction) int64 {
	first := edge
	for looks := 0; looks < maxLooks; looks += len(n.parts) {
		before := edge
		for _, part := range n.parts {
			if !isInstant(edge) {
				return d.farthest()
			}
			if on, _ := part.state(d.beyond(edge)); on { // of a part that is off, its next edge need not be known
				_, edge = part.look(d.beyond(edge), d)
			}
		}
		if edge == before {
			return edge
		}
		if looks > len(n.parts)*len(n.parts) && max(edge-first, first-edge) > seasonsSeconds {
			break
		}
	}
	return d.farthest()
}

// joined is the union of several windows of one zone on the clock face, or, without a zone, of several windows as
// instants.
type joined struct {
	week   []weekSpan
	ranges []span
}

// mergeFaces replaces the weekly windows of each zone by one, and those from a start to an end too.
func mergeFaces(nodes []node) []node {
	faces := map[*zone]*joined{}
	var zones []*zone // in order of appearance
	of := func(z *zone) *joined {
		if faces[z] == nil {
			zones, faces[z] = append(zones, z), &joined{}
		}
		return faces[z]
	}
	var parts []node
	for _, n := range nodes {
		set, z := n, (*zone)(nil)
		if w, ok := n.(*wall); ok {
			set, z = w.set, w.zone
		}
		switch s := set.(type) {
		case *weekly:
			of(z).week = append(of(z).week, s.spans...)
		case *stretches:
			of(z).ranges = append(of(z).ranges, s.merged...)
		default:
			parts = append(parts, n)
		}
	}
	for _, z := range zones {
		if week := faces[z].week; len(week) > 0 {
			parts = append(parts, &wall{zone: z, set: newWeekly("", week)})
		}
		if ranges := faces[z].ranges; len(ranges) > 0 {
			var set node = &stretches{merged: mergeSpans(ranges)}
			if z != nil {
				set = &wall{zone: z, set: set}
			}
			parts = append(parts, set)
		}
	}
	return parts
}

const (
	// steady is an instant after which every zone follows yearly rules: 2100-01-01T00:00:00Z. The last tabulated
	// transition of the zone database is in 2087 (Africa/Casablanca).
	steady = int64(4102444800)
	// gregorianSeconds is the length of the Gregorian cycle, after which everything that follows rules repeats.
	gregorianSeconds = 146097 * daySeconds
)

// settled is a node whose last run never ends. It remembers where that run begins, so that later questions need no search.
type settled struct {
	node
	from int64 // always: the node has never been off
}

// settle finds out whether the node ends in a run without end.
func settle(n node) node {
	on, end := n.look(steady, forward)
	if !on || end < latest {
		return n
	}
	_, from := n.look(steady, backward)
	return &settled{node: n, from: from}
}

func (n *settled) look(at int64, d direction) (bool, int64) {
	if at < n.from {
		return n.node.look(at, d)
	}
	if d == forward {
		return true, forever
	}
	return true, n.from
}
