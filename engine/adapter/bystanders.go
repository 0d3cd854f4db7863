package adapter

import (
	"encoding/json"
	"slices"

	"flyball.dev/flyball/engine/path"
)

// isBystander says whether an element is known to be none of those that entries are about.
func (m *elementMatch) isBystander(k int) bool {
	name := m.element(k).Name
	return name != "" && m.bystanders[name] && len(m.meant(name)) == 1
}

// mayBeBystander says whether an element in the place of an entry may be one that no entry is about, and that had the same value: it has no name as
// that one had none, or that one's name has gone and there are too few elements for all.
func (m *elementMatch) mayBeBystander(i, k int) bool {
	return m.element(k).Name == "" && m.bystanders[""] || m.isShort(i)
}

// isBesideItself says of an entry that another element of its name had the value by itself.
func (m *elementMatch) isBesideItself(i int) bool {
	return slices.Contains(m.beside[i], m.entry(i).Element)
}

// missesBystander says of an entry that the name of a bystander is not in the list any more: it may have got another one.
func (m *elementMatch) missesBystander(i int) bool {
	return slices.ContainsFunc(m.beside[i], func(name string) bool { return len(m.withName[name]) == 0 })
}

// isShort says of an entry whether fewer elements have got a new name than have lost theirs: its own and bystanders. So one of them has gone, and places
// do not tell which.
func (m *elementMatch) isShort(i int) bool {
	short, ok := m.short[i]
	if ok {
		return short
	}
	gone := 0
	for _, name := range m.beside[i] {
		if len(m.withName[name]) == 0 && !m.isLost[name] {
			gone++
		}
	}
	if gone > 0 {
		renamed := pick(m.elements, func(k int) bool { return !m.element(k).Outside && !m.known[m.element(k).Name] && m.holds(i, k) })
		short = len(renamed) <= gone
	}
	m.short[i] = short
	return short
}

// listsOf are the components of the lists in which a pointer may be that of a value, whatever their filters say.
func (a *Adapter) listsOf(tokens []string) map[uint8]bool {
	lists := map[uint8]bool{}
	for i := range a.projection.each {
		if each := &a.projection.each[i]; each.mayHold(tokens) {
			lists[uint8(each.component)] = true
		}
	}
	return lists
}

// sharesList says whether a pointer may be that of a value in one of the lists.
func (a *Adapter) sharesList(lists map[uint8]bool, tokens []string) bool {
	return slices.ContainsFunc(a.projection.each, func(e eachPaths) bool { return lists[uint8(e.component)] && e.mayHold(tokens) })
}

// bystanders is what helps to find an element again that is to hold a value (Entry.Beside).
func (v *view) bystanders(element int, value string) string {
	own := &v.obj.Elements[element]
	lists := v.a.listsOf(path.Pointer(own.Pointer).Tokens())
	var names []string
	size := int64(0)
	for k := range v.obj.Elements {
		e := &v.obj.Elements[k]
		if e.Outside {
			continue // it is not projected before there is an entry: who stands beside does not change by that
		}
		if e.Component == own.Component {
			size++
		}
		if e.Pointer != own.Pointer && lists[e.Component] && sameCount(v.originalOf(k), value, isAmount(e)) {
			names = append(names, e.Name)
		}
	}
	if own.Name == "" {
		return integer(size)
	}
	if names == nil {
		return ""
	}
	slices.Sort(names)
	text, _ := json.Marshal(slices.Compact(names)) // strings cannot fail to encode
	return string(text)
}

// renewBystandersIn edits the decisions: entries of elements with a name remember who stands beside them now. Since an entry was written another
// value may have been set, and elements may have come that hold it by themselves. While an entry cannot be told all stay as they are, since
// what they remember may be what tells it.
func (v *view) renewBystandersIn(decisions []decision) {
	if v.isUnclear() {
		return
	}
	for i := range decisions {
		d := &decisions[i]
		if d.after == nil || d.location.kind != inElement {
			continue
		}
		if _, isSize := natural(d.after.Beside); d.after.Element == "" && isSize {
			continue // it tells whether places are still what they were
		}
		if beside := v.bystanders(d.location.index, d.after.Set); beside != d.after.Beside {
			e := *d.after
			e.Beside, d.after = beside, &e
		}
	}
}
