package trigger

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

// phase is the phase of a list of triggers.
type phase uint8

const (
	// idle: no window is open and there is no claim.
	idle phase = iota
	// active: at least one window is open.
	active
	// after: no window is open and the after values of the last window hold.
	after
)

// String returns the name of a phase in status and metrics.
func (p phase) String() string { return [...]string{"Idle", "Active", "After"}[p] }

// trigger is one compiled trigger that is not suspended.
type trigger struct {
	name string
	// index is the index of the trigger in the list of the spec.
	index    int
	priority int32
	open     timeline.Timeline
	during   v1alpha1.TriggerValues
	after    *v1alpha1.TriggerValues
	// above are the indexes of the triggers that decide the size in place of this trigger while they are open. covered is on
	// while one of these triggers is open.
	above   []int
	covered timeline.Timeline
}

// set is a list of triggers with the rule for overlaps.
type set struct {
	all     []trigger
	highest bool
}

func newSet(all []trigger, overlap v1alpha1.Overlap) set {
	s := set{all: all, highest: overlap == v1alpha1.OverlapHighest}
	for i := range s.all {
		t := &s.all[i]
		if t.during.Replicas == nil {
			continue
		}
		var above []timeline.Timeline
		for j := range s.all {
			if s.covers(&s.all[j], t) {
				t.above, above = append(t.above, j), append(above, s.all[j].open)
			}
		}
		t.covered = timeline.Any(above...)
	}
	return s
}

// covers reports whether trigger a, while open, decides the size in place of b.
func (s set) covers(a, b *trigger) bool {
	more := a.during.Replicas != nil && b.during.Replicas != nil && *a.during.Replicas > *b.during.Replicas
	if s.highest || a.priority == b.priority {
		return more
	}
	return a.priority > b.priority
}

// regime is the combined result of the triggers at an instant.
type regime struct {
	phase phase
	// names are the names of the triggers in force, sorted.
	names    []string
	priority int32
	// since is the start of the regime; zero: it has always been in force. until is the next transition of any window; zero:
	// never.
	since, until time.Time
	min, max     *int64
	replicas     *int64
	// begun is the time when the size came into force; zero: always. resumed is true if the size was in force earlier in the
	// same window and was then interrupted.
	begun   time.Time
	resumed bool
}

// active returns the names of the triggers in force.
func (r *regime) active() string { return strings.Join(r.names, ",") }

// at returns the regime at an instant.
func (s set) at(now time.Time) regime {
	var r regime
	states := make([]timeline.Span, len(s.all))
	open := make([]int, 0, len(s.all))
	for i := range s.all {
		states[i] = s.all[i].open.At(now)
		r.until = timeline.Earliest(r.until, states[i].Until)
		if states[i].Active {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		for i := range states {
			r.since = timeline.Later(r.since, states[i].Since)
		}
		s.afterwards(&r, states)
		return r
	}
	r.phase = active
	open = s.first(open)
	r.priority = s.top(open)
	for i := range states {
		// The transitions of triggers with a lower priority change nothing.
		if s.highest || s.all[i].priority >= r.priority {
			r.since = timeline.Later(r.since, states[i].Since)
		}
	}
	for _, i := range open {
		r.add(s.all[i].name, s.all[i].during)
	}
	r.settle()
	r.resumed = r.replicas != nil
	for _, i := range open {
		t := &s.all[i]
		if r.replicas == nil || t.during.Replicas == nil || *t.during.Replicas != *r.replicas {
			continue
		}
		if begun, first := t.begun(states[i].Since, states); first {
			r.begun, r.resumed = timeline.Later(r.begun, begun), false
		}
	}
	return r
}

// begun returns the time when a trigger, not covered now, began to decide the size. first is true if the trigger decides
// for the first time in this window. states are the current states of all triggers.
func (t *trigger) begun(opened time.Time, states []timeline.Span) (at time.Time, first bool) {
	at = opened
	for _, j := range t.above {
		at = timeline.Later(at, states[j].Since)
	}
	if at.Equal(opened) {
		return at, true
	}
	uncovered, _ := t.covered.Next(opened)
	return at, uncovered.Equal(at)
}

// afterwards fills in the regime for a time when no window is open. The regime has the after values of the trigger that
// ended last, if no window has started at its end or later.
func (s set) afterwards(r *regime, states []timeline.Span) {
	var started, ended time.Time
	for i := range s.all {
		if end := states[i].Since; !end.IsZero() {
			started = timeline.Later(started, s.all[i].open.At(end.Add(-time.Second)).Since)
		}
	}
	var last []int
	for i := range s.all {
		end := states[i].Since
		if s.all[i].after == nil || end.IsZero() || !started.Before(end) || end.Before(ended) {
			continue
		}
		if end.After(ended) {
			last, ended = nil, end
		}
		last = append(last, i)
	}
	if len(last) == 0 {
		return
	}
	last = s.first(last)
	r.phase, r.priority = after, s.top(last)
	for _, i := range last {
		r.add(s.all[i].name, *s.all[i].after)
	}
	if r.replicas != nil {
		r.begun = r.since
	}
	r.settle()
}

// first returns the indexes of the deciding triggers. These are all triggers of the list, or only those of the highest
// priority.
func (s set) first(list []int) []int {
	if s.highest {
		return list
	}
	top := s.top(list)
	return slices.DeleteFunc(list, func(i int) bool { return s.all[i].priority < top })
}

func (s set) top(list []int) int32 {
	return s.all[slices.MaxFunc(list, func(a, b int) int { return cmp.Compare(s.all[a].priority, s.all[b].priority) })].priority
}

// add merges the values of one more trigger: the larger value wins.
func (r *regime) add(name string, v v1alpha1.TriggerValues) {
	r.names = append(r.names, name)
	r.min, r.max, r.replicas = larger(r.min, v.Min), larger(r.max, v.Max), larger(r.replicas, v.Replicas)
}

// settle resolves a min above max, which can result from two triggers. More capacity wins, so max rises to min.
func (r *regime) settle() {
	slices.Sort(r.names)
	if r.min != nil && r.max != nil && *r.min > *r.max {
		r.max = r.min
	}
}

// lookahead is the number of transitions that next searches for a change. After the last one, next returns a transition at which the
// regime may stay the same.
const lookahead = 128

// next returns the time of the next change of the regime; zero: never.
func (s set) next(r regime) time.Time {
	cur := r
	for range lookahead {
		if cur.until.IsZero() {
			return time.Time{}
		}
		transition := cur.until
		if cur = s.at(transition); !cur.sameAs(&r) {
			return transition
		}
	}
	return cur.until
}

func (r *regime) sameAs(o *regime) bool {
	return r.phase == o.phase && slices.Equal(r.names, o.names) && ptr.Equal(r.min, o.min) && ptr.Equal(r.max, o.max) &&
		ptr.Equal(r.replicas, o.replicas)
}

func larger(a, b *int64) *int64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}
