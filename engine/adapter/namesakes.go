package adapter

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"flyball.dev/flyball/engine/path"
)

// meant are the elements of a name. One that `each` yields alone is meant, whatever else has the name: other containers of a node set have its name, too.
func (m *elementMatch) meant(name string) []int {
	meant, ok := m.meantBy[name]
	if !ok {
		meant = m.withName[name]
		if inside := pick(meant, func(k int) bool { return !m.element(k).Outside }); len(inside) == 1 {
			meant = inside
		}
		m.meantBy[name] = meant
	}
	return meant
}

// named are the elements of the name of an entry that it may be about. The one that `each` does not yield may be it where that is in the place and
// holds what was set, and the other one holds neither that nor the original, or had the value by itself.
func (m *elementMatch) named(i int) []int {
	all := m.withName[m.entry(i).Element]
	named := m.meant(m.entry(i).Element)
	k, there := m.atPointer[m.entry(i).Pointer]
	if there && len(named) == 1 && k != named[0] && slices.Contains(all, k) && m.holds(i, k) && !m.isReset(i, named[0]) &&
		(!m.holds(i, named[0]) || m.isBesideItself(i)) {
		return all
	}
	return named
}

// byNameAndPlace matches entries of one name: two elements had it when they were written. It counts by name the entries that are left.
func (m *elementMatch) byNameAndPlace() map[string]int {
	left, sharing := map[string]int{}, map[string][]int{}
	for _, i := range m.entries {
		if name := m.entry(i).Element; name != "" {
			sharing[name] = append(sharing[name], i)
			left[name]++
		}
	}
	for name, entries := range sharing {
		if len(entries) == 1 {
			continue
		}
		for i, k := range m.pairs(entries, m.meant(name)) {
			m.found(i, k)
			left[name]--
		}
	}
	return left
}

// pairs tells entries of one name apart. With as many elements of the name as entries, their order does: it stays where others come and go.
// Else places do, unless one is empty, one has an element that can be none of them, or another element is not in its own: then they may have moved.
func (m *elementMatch) pairs(entries, named []int) map[int]int {
	if inside := pick(named, func(k int) bool { return !m.element(k).Outside }); len(inside) == len(entries) {
		named = inside
	}
	pairs := map[int]int{}
	if len(entries) == len(named) {
		entries = slices.SortedFunc(slices.Values(entries), func(a, b int) int { return comparePlaces(m.entry(a).Pointer, m.entry(b).Pointer) })
		named = slices.SortedFunc(slices.Values(named), func(a, b int) int { return comparePlaces(m.element(a).Pointer, m.element(b).Pointer) })
		for n, i := range entries {
			pairs[i] = named[n]
		}
		odd := pick(entries, func(i int) bool { return !m.entry(i).Adopted && !m.holds(i, pairs[i]) })
		isKept := func(i int) bool {
			return !slices.ContainsFunc(odd, func(o int) bool { return m.holds(o, pairs[i]) })
		}
		if len(odd) > 0 && !slices.ContainsFunc(odd, isKept) {
			return nil // they have changed places
		}
		return pairs
	}
	for _, i := range entries {
		k, there := m.atPointer[m.entry(i).Pointer]
		if !there || m.moved || m.element(k).Name != m.entry(i).Element && (!m.holds(i, k) || m.element(k).Outside || m.known[m.element(k).Name]) {
			return nil
		}
		if m.element(k).Name == m.entry(i).Element && !m.isOfNamesake(i, k) {
			pairs[i] = k
		}
	}
	return pairs
}

// comparePlaces orders pointers as the places in a list are ordered.
func comparePlaces(a, b string) int {
	return slices.CompareFunc(path.Pointer(a).Tokens(), path.Pointer(b).Tokens(), func(a, b string) int {
		x, errX := strconv.Atoi(a)
		y, errY := strconv.Atoi(b)
		if errX != nil || errY != nil {
			return strings.Compare(a, b)
		}
		return cmp.Compare(x, y)
	})
}

// isOfNamesake says of an entry and an element of its name that another entry of that name is about the element: it holds what that one has set,
// and not what this one has.
func (m *elementMatch) isOfNamesake(i, k int) bool {
	return !m.holds(i, k) && slices.ContainsFunc(m.entries, func(o int) bool {
		return o != i && m.at[o].kind == unmatched && m.entry(o).Element == m.entry(i).Element && m.holds(o, k)
	})
}

// leaveToNamesakes leaves the one element that has a name to the entry that it fits: what others of that name are about has gone. One that its owner
// has changed before, or that he may have reset, may be about it all the same. It counts by name the entries that are left.
func (m *elementMatch) leaveToNamesakes(left map[string]int) {
	for _, i := range m.entries {
		e := m.entry(i)
		named := pick(m.named(i), func(k int) bool { return !m.taken[k] })
		switch {
		case e.Element == "" || m.at[i].kind != unmatched || len(named) != 1 || !m.isOfNamesake(i, named[0]):
		case e.Adopted || m.isReset(i, named[0]):
			m.at[i] = location{kind: unclear}
		default:
			m.at[i] = location{kind: nowhere}
			left[e.Element]--
		}
	}
}
