package selector

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// Filed is the type of an Index's policies.
type Filed interface {
	comparable
	// FiledUnder returns the selectors of the policy: the selector of the objects that it acts on, and the selector of the
	// objects that it judges.
	FiledUnder() []*Selector
	// FiledAs returns the name of the policy.
	FiledAs() workload.Policy
	// FiledUntil returns the first second after the policy's last effect.
	FiledUntil() int64
}

// Index finds the policies that may select an object: by the kind, by a namespace key and by an object key. It does not
// look at the other policies. It is immutable. Edit begins a changed copy that shares the unchanged parts. The zero Index
// is empty.
//
// Each list of policies is ordered by end, the last end first. So a search stops at the first policy that is over.
type Index[T Filed] struct {
	kinds map[schema.GroupKind]map[key]map[key][]T
	// spaces are the lengths of the literal ends of globs among the namespace keys. objects are these lengths among the
	// object keys.
	spaces, objects ends
}

// Query is an object to look up.
type Query struct {
	Kind schema.GroupKind
	// Sides are the object before and after a change, in this order. A change without new metadata has only one side. All
	// sides are in one namespace.
	Sides []*workload.Object
	// Spaces are the possible label sets of the namespace. A namespace has two label sets for a moment while it is
	// relabelled.
	Spaces []workload.Pairs
}

// Find returns the policies that may select the queried object before or after its change, sorted by name. It leaves out
// policies that are over at the time now, but no other policy that selects the object.
func (x *Index[T]) Find(q *Query, now int64) []T {
	var out []T
	for _, kind := range [...]schema.GroupKind{q.Kind, anyKind} {
		out = x.searchSpaces(out, x.kinds[kind], q, now)
	}
	slices.SortFunc(out, func(a, b T) int { return a.FiledAs().Compare(b.FiledAs()) })
	return slices.Compact(out) // a policy may have several keys
}

func (x *Index[T]) searchSpaces(out []T, spaces map[key]map[key][]T, q *Query, now int64) []T {
	if len(spaces) == 0 {
		return out
	}
	out = x.searchObjects(out, spaces[anything], q, now)
	namespace := q.Sides[0].Namespace
	if namespace == "" {
		return x.searchObjects(out, spaces[outside], q, now)
	}
	out = x.searchObjects(out, spaces[key{value: namespace}], q, now)
	for _, n := range x.spaces.prefixes {
		if n.size <= len(namespace) {
			out = x.searchObjects(out, spaces[key{prefix, namespace[:n.size]}], q, now)
		}
	}
	for _, n := range x.spaces.suffixes {
		if n.size <= len(namespace) {
			out = x.searchObjects(out, spaces[key{suffix, namespace[len(namespace)-n.size:]}], q, now)
		}
	}
	for _, labels := range q.Spaces {
		for _, l := range labels {
			out = x.searchObjects(out, spaces[key{l.Key, l.Value}], q, now)
		}
	}
	return out
}

func (x *Index[T]) searchObjects(out []T, objects map[key][]T, q *Query, now int64) []T {
	if len(objects) == 0 {
		return out
	}
	out = take(out, objects[anything], now)
	for i := range q.Sides {
		name := q.Sides[i].Name
		out = take(out, objects[key{value: name}], now)
		for _, n := range x.objects.prefixes {
			if n.size <= len(name) {
				out = take(out, objects[key{prefix, name[:n.size]}], now)
			}
		}
		for _, n := range x.objects.suffixes {
			if n.size <= len(name) {
				out = take(out, objects[key{suffix, name[len(name)-n.size:]}], now)
			}
		}
		for _, l := range q.Sides[i].Labels {
			out = take(out, objects[key{l.Key, l.Value}], now)
		}
	}
	return out
}

func take[T Filed](out, list []T, now int64) []T {
	for _, t := range list {
		if t.FiledUntil() <= now {
			break
		}
		out = append(out, t)
	}
	return out
}

// ends has the lengths of the literal ends of globs, with the number of keys for each length. There are few different
// lengths, because names follow habits.
type ends struct{ prefixes, suffixes []uses }

type uses struct{ size, count int }

// count adds by to the number of prefixes, or of suffixes, with the length of the key. It counts no other keys.
func (e *ends) count(k key, by int) {
	switch k.name {
	case prefix:
		e.prefixes = counted(e.prefixes, len(k.value), by)
	case suffix:
		e.suffixes = counted(e.suffixes, len(k.value), by)
	}
}

// counted returns a copy of the list with a changed count.
func counted(list []uses, size, by int) []uses {
	i, found := slices.BinarySearchFunc(list, size, func(u uses, size int) int { return cmp.Compare(u.size, size) })
	list = slices.Clone(list)
	if !found {
		return slices.Insert(list, i, uses{size, by})
	}
	if list[i].count += by; list[i].count == 0 {
		list = slices.Delete(list, i, i+1)
	}
	return list
}

// Edit begins a change of the index; the original stays unchanged.
func (x *Index[T]) Edit() *Editor[T] {
	return &Editor[T]{next: Index[T]{kinds: cloneOrMake(x.kinds), spaces: x.spaces, objects: x.objects},
		own: map[schema.GroupKind]map[key]bool{}}
}

// Editor copies each map of the index before the first change of the map, and each list before every change.
type Editor[T Filed] struct {
	next Index[T]
	own  map[schema.GroupKind]map[key]bool
}

// Done returns the changed index. The editor must not be used afterwards.
func (e *Editor[T]) Done() Index[T] { return e.next }

// Add adds a policy.
func (e *Editor[T]) Add(t T) {
	e.each(t, 1, func(list []T) []T {
		i, twice := slices.BinarySearchFunc(list, t, compare)
		if twice { // another selector of the policy has the same key
			return list
		}
		return slices.Insert(slices.Clone(list), i, t)
	})
}

// Remove removes a policy that is in the index.
func (e *Editor[T]) Remove(t T) {
	e.each(t, -1, func(list []T) []T {
		return slices.DeleteFunc(slices.Clone(list), func(other T) bool { return other == t })
	})
}

func compare[T Filed](a, b T) int {
	return cmp.Or(cmp.Compare(b.FiledUntil(), a.FiledUntil()), a.FiledAs().Compare(b.FiledAs()))
}

func (e *Editor[T]) each(t T, by int, change func([]T) []T) {
	for _, s := range t.FiledUnder() {
		e.under(s, by, change)
	}
}

func (e *Editor[T]) under(s *Selector, by int, change func([]T) []T) {
	kinds, spaces, objects := s.keys()
	for _, k := range spaces {
		e.next.spaces.count(k, by)
	}
	for _, k := range objects {
		e.next.objects.count(k, by)
	}
	for _, kind := range kinds {
		if e.own[kind] == nil {
			e.own[kind] = map[key]bool{}
			e.next.kinds[kind] = cloneOrMake(e.next.kinds[kind])
		}
		for _, space := range spaces {
			e.changeObjects(kind, space, objects, change)
		}
		if len(e.next.kinds[kind]) == 0 {
			delete(e.next.kinds, kind)
			delete(e.own, kind)
		}
	}
}

func (e *Editor[T]) changeObjects(kind schema.GroupKind, space key, objects []key, change func([]T) []T) {
	spaces := e.next.kinds[kind]
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

func cloneOrMake[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}
