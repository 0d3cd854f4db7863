package timeline

import (
	"strings"
	"time"
)

// Not returns the timeline that is on exactly when t is off.
func Not(t Timeline) Timeline {
	return Timeline{root: &not{t.node()}, text: "not (" + t.String() + ")"}
}

// Between returns the timeline that is on from since until just before until. A zero instant is no bound.
func Between(since, until time.Time) Timeline {
	one := []span{{from: always, to: forever}}
	if !since.IsZero() {
		one[0].from = toSeconds(since)
	}
	if !until.IsZero() {
		one[0].to = toSeconds(until)
	}
	if one[0].to <= one[0].from {
		return Timeline{}
	}
	return Timeline{root: &stretches{merged: one, named: one}, text: since.Format(time.RFC3339) + " to " + until.Format(time.RFC3339)}
}

// Union returns the timeline that is on whenever one of the given timelines is on. If several are on, the first one
// gives the name. Windows of weekdays in one zone are merged into one window on the clock face, and so are windows with
// a start and an end: many of them cost no more than one.
func Union(ts ...Timeline) Timeline {
	u := Any(ts...)
	if joined, ok := u.root.(*union); ok {
		u.root = settle(joined)
	}
	return u
}

// Any is a Union for a caller with many timelines and few questions. Any does not search for the begin of the last run.
// Instead, each question about the last run needs a search.
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
	// Active is true if the effect turns the base timeline on during During, and false if it turns it off.
	Active bool
}

// Override returns base with effects laid over it: while an effect's timeline is on, the effect's state rules. If
// effects contradict each other, Active wins, whatever their order: the larger capacity wins, as everywhere in Flyball.
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

func (n *not) transition(at int64, d direction) (bool, int64) {
	on, transition := n.inner.transition(at, d)
	return !on, transition
}

// union is on whenever one of its parts is on.
type union struct {
	parts []node // the sources of states; merged where possible
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

func (n *union) transition(at int64, d direction) (bool, int64) {
	nearest := d.farthest()
	for _, part := range n.parts {
		on, transition := part.transition(at, d)
		if on {
			return true, n.extend(transition, d)
		}
		nearest = d.nearer(nearest, transition)
	}
	return false, nearest
}

// maxLooks is the number of runs that a union joins into one before it takes the joined run for endless. The number
// covers more than two years with two runs a day. A union comes near this number only if all runs of its parts are
// short and the parts cover each other's gaps, such as weekdays by the wall clock together with nights by elapsed
// hours.
const maxLooks = 1 << 11

// extend moves the transition of a run outwards for as long as another part is on beyond the transition. Every part is tried at
// least once. After that, a run that is longer than seasonsSeconds, and so covers all kinds of years, is endless.
func (n *union) extend(transition int64, d direction) int64 {
	first := transition
	for looks := 0; looks < maxLooks; looks += len(n.parts) {
		before := transition
		for _, part := range n.parts {
			if !isInstant(transition) {
				return d.farthest()
			}
			if on, _ := part.state(d.beyond(transition)); on { // the next transition of a part that is off is not needed
				_, transition = part.transition(d.beyond(transition), d)
			}
		}
		if transition == before {
			return transition
		}
		if looks > len(n.parts)*len(n.parts) && max(transition-first, first-transition) > seasonsSeconds {
			break
		}
	}
	return d.farthest()
}

// joined has the windows of one zone on the clock face, or, without a zone, the windows given as instants. They become
// one window.
type joined struct {
	week   []weekSpan
	ranges []span
}

// mergeFaces replaces all weekly windows of a zone by one window, and all windows with a start and an end by one
// window.
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
	// gregorianSeconds is the length of the Gregorian cycle. After it, everything that follows yearly rules repeats.
	gregorianSeconds = 146097 * daySeconds
)

// settled is a node whose last run never ends. It remembers the begin of that run, so later questions need no search.
type settled struct {
	node
	from int64 // the begin of the last run; always: the node has never been off
}

// settle returns the node as a settled node if its last run never ends, else the node itself.
func settle(n node) node {
	on, end := n.transition(steady, forward)
	if !on || end < latest {
		return n
	}
	_, from := n.transition(steady, backward)
	return &settled{node: n, from: from}
}

func (n *settled) transition(at int64, d direction) (bool, int64) {
	if at < n.from {
		return n.node.transition(at, d)
	}
	if d == forward {
		return true, forever
	}
	return true, n.from
}
