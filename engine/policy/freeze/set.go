package freeze

import (
	"maps"
	"slices"
	"time"

	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// Set is the indexed rules and exceptions of a cluster. It is immutable: With and Without return a new Set that shares
// the unchanged parts, so decisions need no lock. The zero Set is empty and allows everything.
type Set struct {
	rules       map[workload.Policy]*Rule
	exceptions  map[workload.Policy]*Exception
	denies      selector.Index[*Rule]
	lifts       selector.Index[*Exception]
	annotations map[string]int
}

// With returns the set with rules added or replaced.
func (s *Set) With(rules ...*Rule) *Set {
	next := s.clone()
	next.rules, next.denies = put(next, s.rules, s.denies, rules)
	return next
}

// WithExceptions returns the set with exceptions added or replaced.
func (s *Set) WithExceptions(exceptions ...*Exception) *Set {
	next := s.clone()
	next.exceptions, next.lifts = put(next, s.exceptions, s.lifts, exceptions)
	return next
}

// put adds policies to the known policies and their index, and returns both. next counts the annotations that the policies
// read.
func put[T selector.Filed](next *Set, known map[workload.Policy]T, x selector.Index[T], added []T) (map[workload.Policy]T,
	selector.Index[T]) {
	all, edit := cloneOrMake(known), x.Edit()
	for _, p := range added {
		id := p.FiledAs()
		if old, ok := all[id]; ok {
			edit.Remove(old)
			next.count(old.FiledUnder()[0], -1)
		}
		all[id] = p
		edit.Add(p)
		next.count(p.FiledUnder()[0], 1)
	}
	return all, edit.Done()
}

// Without returns the set without the named rules and exceptions.
func (s *Set) Without(ids ...workload.Policy) *Set {
	next := s.clone()
	next.rules, next.exceptions = cloneOrMake(s.rules), cloneOrMake(s.exceptions)
	denies, lifts := next.denies.Edit(), next.lifts.Edit()
	for _, id := range ids {
		if r := next.rules[id]; r != nil {
			delete(next.rules, id)
			denies.Remove(r)
			next.count(r.reach.selector, -1)
		}
		if e := next.exceptions[id]; e != nil {
			delete(next.exceptions, id)
			lifts.Remove(e)
			next.count(e.reach.selector, -1)
		}
	}
	next.denies, next.lifts = denies.Done(), lifts.Done()
	return next
}

func (s *Set) clone() *Set {
	next := *s
	next.annotations = cloneOrMake(s.annotations)
	return &next
}

func (s *Set) count(selector *selector.Selector, by int) {
	for _, key := range selector.AnnotationKeys() {
		if s.annotations[key] += by; s.annotations[key] == 0 {
			delete(s.annotations, key)
		}
	}
}

func cloneOrMake[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}

// Len returns the number of rules and exceptions.
func (s *Set) Len() (rules, exceptions int) { return len(s.rules), len(s.exceptions) }

// Rule returns a rule by its name; nil: absent.
func (s *Set) Rule(id workload.Policy) *Rule { return s.rules[id] }

// Exception returns an exception by its name; nil: absent.
func (s *Set) Exception(id workload.Policy) *Exception { return s.exceptions[id] }

// Lifting returns the exceptions that are not over and lift a part of a rule, sorted by name.
func (s *Set) Lifting(r *Rule, now time.Time) []*Exception {
	return slices.DeleteFunc(s.Exceptions(), func(e *Exception) bool { return e.end <= now.Unix() || e.allow&r.deny == 0 || !e.covers(r) })
}

// Rules returns the rules, in order of their names.
func (s *Set) Rules() []*Rule {
	return slices.SortedFunc(maps.Values(s.rules), func(a, b *Rule) int { return a.id.Compare(b.id) })
}

// Exceptions returns the exceptions, in order of their names.
func (s *Set) Exceptions() []*Exception {
	return slices.SortedFunc(maps.Values(s.exceptions), func(a, b *Exception) int { return a.id.Compare(b.id) })
}

// AnnotationKeys returns the annotations that policies read, sorted. A UserChange needs no other annotations.
func (s *Set) AnnotationKeys() []string { return slices.Sorted(maps.Keys(s.annotations)) }

// NextEnd returns the earliest instant after now from which a rule never denies again; zero: no rule has such an end.
func (s *Set) NextEnd(now time.Time) time.Time {
	next := forever
	for _, r := range s.rules {
		if !r.Over(now) {
			next = min(next, r.end)
		}
	}
	if next == forever {
		return time.Time{}
	}
	return time.Unix(next, 0).UTC()
}
