package freeze

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// Set is the indexed rules and exceptions of a cluster. It is immutable: With and Without return a new Set that shares
// the unchanged parts, so decisions need no lock. The zero Set is empty and allows everything.
type Set struct {
	rules       map[workload.Policy]*Rule
	exceptions  map[workload.Policy]*Exception
	denies      index[*Rule]
	lifts       index[*Exception]
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

// put returns the known policies and their index with others added; next counts the annotations read by them.
func put[T indexed](next *Set, known map[workload.Policy]T, x index[T], added []T) (map[workload.Policy]T, index[T]) {
	all, edit := cloneOrMake(known), x.edit()
	for _, p := range added {
		id := p.filing().id
		if old, ok := all[id]; ok {
			edit.remove(old)
			next.count(&old.filing().reach, -1)
		}
		all[id] = p
		edit.add(p)
		next.count(&p.filing().reach, 1)
	}
	return all, edit.done()
}

// Without returns the set without the named rules and exceptions.
func (s *Set) Without(ids ...workload.Policy) *Set {
	next := s.clone()
	next.rules, next.exceptions = cloneOrMake(s.rules), cloneOrMake(s.exceptions)
	denies, lifts := next.denies.edit(), next.lifts.edit()
	for _, id := range ids {
		if r := next.rules[id]; r != nil {
			delete(next.rules, id)
			denies.remove(r)
			next.count(&r.reach, -1)
		}
		if e := next.exceptions[id]; e != nil {
			delete(next.exceptions, id)
			lifts.remove(e)
			next.count(&e.reach, -1)
		}
	}
	next.denies, next.lifts = denies.done(), lifts.done()
	return next
}

func (s *Set) clone() *Set {
	next := *s
	next.annotations = cloneOrMake(s.annotations)
	return &next
}

func (s *Set) count(r *reach, by int) {
	for _, key := range r.selector.AnnotationKeys() {
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

// Lifting returns the exceptions, in order of their names, that are not over and lift a part of a rule.
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

// AnnotationKeys returns the annotations read by policies, sorted: a Request needs no others.
func (s *Set) AnnotationKeys() []string { return slices.Sorted(maps.Keys(s.annotations)) }

// NextEnd returns the earliest instant after now at which a rule is over for good; zero: none.
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

// indexed is the type of the index's policies: rules and exceptions.
type indexed interface {
	comparable
	filing() *filed
}

// index holds policies by kind, by a namespace key and by an object key. Lists are ordered by end, the last first, so
// that a search stops at the first policy that is over.
type index[T indexed] struct {
	kinds map[schema.GroupKind]map[indexKey]map[indexKey][]T
}

// find returns the policies, not over, that may select the subject, in order of their names: every policy that does
// select it is among them.
func (x index[T]) find(s *subject, now int64) []T {
	var out []T
	for _, kind := range [...]schema.GroupKind{s.kind, anyKind} {
		out = searchSpaces(out, x.kinds[kind], s, now)
	}
	slices.SortFunc(out, func(a, b T) int { return a.filing().id.Compare(b.filing().id) })
	return slices.Compact(out) // a policy may have several keys
}

func searchSpaces[T indexed](out []T, spaces map[indexKey]map[indexKey][]T, s *subject, now int64) []T {
	namespace := s.sides[0].Namespace
	if namespace == "" {
		out = searchObjects(out, spaces[outside], s, now)
		return searchObjects(out, spaces[anything], s, now)
	}
	out = searchObjects(out, spaces[indexKey{value: namespace}], s, now)
	out = searchObjects(out, spaces[anything], s, now)
	for _, labels := range s.spaces {
		for _, l := range labels {
			out = searchObjects(out, spaces[indexKey{l.Key, l.Value}], s, now)
		}
	}
	return out
}

func searchObjects[T indexed](out []T, objects map[indexKey][]T, s *subject, now int64) []T {
	if len(objects) == 0 {
		return out
	}
	out = take(out, objects[anything], now)
	for i := range s.sides {
		out = take(out, objects[indexKey{value: s.sides[i].Name}], now)
		for _, l := range s.sides[i].Labels {
			out = take(out, objects[indexKey{l.Key, l.Value}], now)
		}
	}
	return out
}

func take[T indexed](out, list []T, now int64) []T {
	for _, t := range list {
		if t.filing().end <= now {
			break
		}
		out = append(out, t)
	}
	return out
}

// edit begins a change of the index; the original stays unchanged.
func (x index[T]) edit() *editor[T] {
	return &editor[T]{kinds: cloneOrMake(x.kinds), own: map[schema.GroupKind]map[indexKey]bool{}}
}

// editor copies each map of the index before its first change, and lists at every change.
type editor[T indexed] struct {
	kinds map[schema.GroupKind]map[indexKey]map[indexKey][]T
	own   map[schema.GroupKind]map[indexKey]bool
}

func (e *editor[T]) done() index[T] { return index[T]{kinds: e.kinds} }

func (e *editor[T]) add(t T) {
	e.each(t, func(list []T) []T {
		i, _ := slices.BinarySearchFunc(list, t, compare)
		return slices.Insert(slices.Clone(list), i, t)
	})
}

func (e *editor[T]) remove(t T) {
	e.each(t, func(list []T) []T {
		return slices.DeleteFunc(slices.Clone(list), func(other T) bool { return other == t })
	})
}

func compare[T indexed](a, b T) int {
	return cmp.Or(cmp.Compare(b.filing().end, a.filing().end), a.filing().id.Compare(b.filing().id))
}

func (e *editor[T]) each(t T, change func([]T) []T) {
	r := &t.filing().reach
	for _, kind := range r.kinds {
		if e.own[kind] == nil {
			e.own[kind] = map[indexKey]bool{}
			e.kinds[kind] = cloneOrMake(e.kinds[kind])
		}
		for _, space := range r.spaces {
			e.changeObjects(kind, space, r.objects, change)
		}
		if len(e.kinds[kind]) == 0 {
			delete(e.kinds, kind)
			delete(e.own, kind)
		}
	}
}

func (e *editor[T]) changeObjects(kind schema.GroupKind, space indexKey, objects []indexKey, change func([]T) []T) {
	spaces := e.kinds[kind]
	if !e.own[kind][space] {
		e.own[kind][space] = true
		spaces[space] = cloneOrMake(spaces[space])
	}
	for _, object := range objects {
		if list := change(spaces[space][object]); len(list) > 0 {
			spaces[space][object] = list
		} else {
			delete(spaces[space], object)
		}
	}
	if len(spaces[space]) == 0 {
		delete(spaces, space)
		delete(e.own[kind], space)
	}
}
