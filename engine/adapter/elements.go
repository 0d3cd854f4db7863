package adapter

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// fillInElements finds the list elements that entries speak of, and puts their places into at, which runs parallel to the
// ledger. An element is known by its name. Where no element, or more than one, has that name, it is known by its place if
// it still holds what Flyball has set there, and if no other element could be meant. An entry that can be about several
// elements, and that nothing tells apart, is unclear: it is kept, since one of them waits for its original.
func (a *Adapter) fillInElements(at []location, obj *workload.Object) {
	for i := range obj.Ledger {
		if at[i].kind != unmatched {
			continue
		}
		m := elementMatch{obj: obj, at: at, withName: map[string][]int{}, atPointer: map[string]int{}, taken: map[int]bool{}, bystanders: map[string]bool{},
			beside: map[int][]string{}, known: map[string]bool{}, short: map[int]bool{}, isLost: map[string]bool{}, meantBy: map[string][]int{}, sizes: map[int]int{}}
		m.gather(a, i)
		if len(m.entries)*max(len(m.entries), len(m.elements)) > maxMatches {
			for _, e := range m.entries {
				at[e] = location{kind: unclear}
			}
			continue
		}
		m.survey()
		m.byName()
		m.byPlace()
	}
}

// maxMatches bounds the comparisons of entries with elements of one list, and with each other. Nobody needs as many; where somebody makes a list and a ledger
// of that size, its entries are unclear.
const maxMatches = 1 << 20

// elementMatch matches the entries of one list with its elements.
type elementMatch struct {
	obj *workload.Object
	at  []location
	// several says that more than one component is read of the list, so that two of its elements may have one name.
	several bool
	// entries are those of the list, as places in the ledger; elements are those that may be meant, as places in Object.Elements.
	entries, elements []int
	// withName and atPointer find elements; taken are those that an entry was matched with.
	withName  map[string][]int
	atPointer map[string]int
	taken     map[int]bool
	// bystanders are the names of elements that no entry is about, as the entries remember (Entry.Beside); the empty name is that of those without one.
	bystanders map[string]bool
	// beside are their names by entry, and known those of all of them and of the entries. short has the answers of isShort.
	beside map[int][]string
	known  map[string]bool
	short  map[int]bool
	// lost are entries whose name is not in the list any more, and isLost those names. moved says that an element which its name alone tells is not in its place.
	lost   []int
	isLost map[string]bool
	moved  bool
	// meantBy has the answers of meant.
	meantBy map[string][]int
	// sizes are the numbers of elements that `each` yields, by component: several components may be read of one list.
	sizes map[int]int
}

// gather collects the entries of the same list as one of them, and the elements of that list.
func (m *elementMatch) gather(a *Adapter, one int) {
	tokens := path.Pointer(m.obj.Ledger[one].Pointer).Tokens()
	lists := a.listsOf(tokens)
	m.several = len(lists) > 1
	for i := one; i < len(m.obj.Ledger); i++ {
		t := path.Pointer(m.obj.Ledger[i].Pointer).Tokens()
		if m.at[i].kind == unmatched && a.sharesList(lists, t) {
			m.entries = append(m.entries, i)
			var names []string
			if json.Unmarshal([]byte(m.entry(i).Beside), &names) == nil {
				m.beside[i] = names
				for _, name := range names {
					m.bystanders[name], m.known[name] = true, true
				}
			}
		}
	}
	for k := range m.obj.Elements {
		e := m.element(k)
		if !lists[e.Component] {
			continue
		}
		if _, seen := m.atPointer[e.Pointer]; seen {
			continue
		}
		m.atPointer[e.Pointer] = k
		m.withName[e.Name] = append(m.withName[e.Name], k)
		m.elements = append(m.elements, k)
		if !e.Outside {
			m.sizes[int(e.Component)]++
		}
	}
}

// survey looks at all entries of the list: whose name is known or lost, and whether others have moved.
func (m *elementMatch) survey() {
	entriesOf := map[string]int{}
	for _, i := range m.entries {
		entriesOf[m.entry(i).Element]++
	}
	for _, i := range m.entries {
		name := m.entry(i).Element
		m.known[name] = m.known[name] || name != ""
		switch named := m.named(i); {
		case len(named) == 0:
			m.lost, m.isLost[name] = append(m.lost, i), true
		case len(named) == 1 && entriesOf[name] == 1 && name != "":
			m.moved = m.moved || !m.isAt(i, named[0])
		}
	}
}

func (m *elementMatch) entry(i int) *workload.Entry     { return &m.obj.Ledger[i] }
func (m *elementMatch) element(k int) *workload.Element { return &m.obj.Elements[k] }

// found matches an entry with an element.
func (m *elementMatch) found(i, k int) {
	m.at[i], m.taken[k] = location{inElement, k}, true
}

// holds says whether an element holds what an entry has set, and can be meant by it: one that `each` does not yield can only by its
// pointer or its name.
func (m *elementMatch) holds(i, k int) bool {
	return sameCount(m.element(k).Raw, m.entry(i).Set, isAmount(m.element(k))) && (!m.element(k).Outside || m.isAt(i, k) || m.element(k).Name == m.entry(i).Element)
}

// isAt says whether an element is where an entry has found its own.
func (m *elementMatch) isAt(i, k int) bool { return m.element(k).Pointer == m.entry(i).Pointer }

// byName matches entries whose name says enough: one element has it, or of several one alone holds the value, or, where
// none does, one is in the place.
func (m *elementMatch) byName() {
	shared := m.byNameAndPlace()
	m.leaveToNamesakes(shared)
	for _, i := range m.entries {
		if m.entry(i).Element == "" || m.at[i].kind != unmatched {
			continue
		}
		named := pick(m.named(i), func(k int) bool { return !m.taken[k] })
		holding := pick(named, func(k int) bool { return m.holds(i, k) })
		placed := pick(named, func(k int) bool { return m.isAt(i, k) })
		switch {
		case len(named) == 0: // its place may tell, as of several that hold the value
		case shared[m.entry(i).Element] > 1 && len(holding) > 0:
			m.at[i] = location{kind: unclear}
		case len(named) == 1 && (m.entry(i).Adopted || m.isReset(i, named[0])):
			m.found(i, named[0])
		case len(named) == 1 && m.several && m.isBesideItself(i):
			m.at[i] = location{kind: unclear} // either may have gone; with one component nothing else has its name: what earlier versions noted says nothing
		case len(named) == 1 && (m.isRenamed(i, named[0]) || !m.holds(i, named[0]) && m.mayBeAnothers(named)):
			m.at[i] = location{kind: unclear}
		case len(named) == 1:
			m.found(i, named[0])
		case len(holding) == 1 && !m.isAt(i, holding[0]) && (m.isBesideItself(i) || m.missesBystander(i)):
			m.at[i] = location{kind: unclear} // it may have had the value by itself
		case len(holding) == 1:
			m.found(i, holding[0])
		case len(holding) > 1 && m.mayBeAnothers(holding):
			m.at[i] = location{kind: unclear}
		case len(placed) == 1 && (len(holding) == 0 || m.holds(i, placed[0])):
			m.found(i, placed[0])
		case len(holding) == 0:
			m.at[i] = location{kind: nowhere} // whichever it was, somebody has changed it
		}
	}
}

// isReset says of an entry and an element that its owner has written his own value again, as whoever applies a manifest does.
func (m *elementMatch) isReset(i, k int) bool {
	return m.entry(i).Was != "" && sameValue(m.element(k).Raw, m.entry(i).Was, isAmount(m.element(k)))
}

// isRenamed says of an entry and the one element of its name whether another one is more likely the entry's: it is in the place, holds what
// was set, and is nobody else's, while the one with the name does not. Somebody has given its name away.
func (m *elementMatch) isRenamed(i, named int) bool {
	k, there := m.atPointer[m.entry(i).Pointer]
	return there && k != named && !m.entry(i).Position && !m.holds(i, named) && m.holds(i, k) && !m.isBystander(k) &&
		!slices.ContainsFunc(m.entries, func(o int) bool { return m.entry(o).Element == m.element(k).Name })
}

// mayBeAnothers says of elements that have the name of an entry whether one of them may be the renamed one of another entry: no element has that
// one's name any more, and none in its place tells it.
func (m *elementMatch) mayBeAnothers(named []int) bool {
	return slices.ContainsFunc(m.lost, func(o int) bool {
		return m.at[o].kind == unmatched && !m.isPlaceTrusted(o) && !m.isPlaceKept(o) &&
			slices.ContainsFunc(named, func(k int) bool { return m.holds(o, k) && !m.isBystander(k) })
	})
}

// byPlace matches the other entries by place and value; by place alone where no element has come or gone.
func (m *elementMatch) byPlace() {
	m.byPlaceAlone()
	free := pick(m.elements, func(k int) bool { return !m.taken[k] && !m.isBystander(k) })
	var placed, lost []int // entries with an element in their place that holds the value, and those without
	for _, i := range m.entries {
		if m.at[i].kind != unmatched {
			continue
		}
		if !slices.ContainsFunc(free, func(k int) bool { return m.holds(i, k) }) {
			m.at[i] = location{kind: nowhere} // no element holds the value: it is gone, or somebody has changed it
			continue
		}
		m.at[i] = location{kind: unclear}
		if m.isPlaceTrusted(i) {
			placed = append(placed, i)
		} else {
			lost = append(lost, i)
		}
	}
	for _, i := range placed {
		k := m.atPointer[m.entry(i).Pointer]
		if !slices.ContainsFunc(lost, func(o int) bool { return m.holds(o, k) }) {
			m.found(i, k) // no other entry can be about it
		}
	}
}

// byPlaceAlone matches entries of elements without a name where no element has come, gone or moved. One that has got a name since, and another
// value, may have come to the place from elsewhere in the list.
func (m *elementMatch) byPlaceAlone() {
	if slices.ContainsFunc(m.entries, m.isDisplaced) {
		return // what went into the list, or out of it, has moved others as well
	}
	for _, i := range m.entries {
		k, there := m.atPointer[m.entry(i).Pointer]
		if there && !m.taken[k] && m.at[i].kind == unmatched && m.isPlaceKept(i) && (m.element(k).Name == "" || m.holds(i, k)) {
			m.found(i, k)
		}
	}
}

// isDisplaced says of the entry of an element without a name that its element has moved: in its place is none that `each` yields, and none that
// holds what was set.
func (m *elementMatch) isDisplaced(i int) bool {
	k, there := m.atPointer[m.entry(i).Pointer]
	return m.entry(i).Position && (!there || m.element(k).Outside && !m.holds(i, k))
}

// isPlaceTrusted says whether the element in the place of an entry may be taken for its own: the element holds what was set, `each` yields it, it
// is no bystander, and the entry knew its element by name, so that a change of places would show.
func (m *elementMatch) isPlaceTrusted(i int) bool {
	k, there := m.atPointer[m.entry(i).Pointer]
	return there && !m.entry(i).Position && !m.taken[k] && !m.element(k).Outside && !m.isBystander(k) && !m.mayBeBystander(i, k) && m.holds(i, k)
}

// isPlaceKept says of the entry of an element without a name whether its list has as many elements as when the entry was written: then
// places are what they were. Which of the components of the list the entry is of does not matter.
func (m *elementMatch) isPlaceKept(i int) bool {
	if !m.entry(i).Position {
		return false
	}
	n, ok := natural(m.entry(i).Beside)
	return ok && slices.Contains(slices.Collect(maps.Values(m.sizes)), int(n))
}

// isAmount says whether an element is a request, a limit or a utilisation.
func isAmount(e *workload.Element) bool {
	return e.Component >= amountElements && e.Component < lowEnds
}

// isCount says whether an element is a count.
func isCount(e *workload.Element) bool { return e.Component < amountElements }

// isEnd says whether an element is an end of a range.
func isEnd(e *workload.Element) bool { return e.Component >= lowEnds }

// pick gives those that fit.
func pick(from []int, fits func(int) bool) []int {
	var all []int
	for _, k := range from {
		if fits(k) {
			all = append(all, k)
		}
	}
	return all
}

// mayHold says whether a pointer is that of a value in the list, whatever its filters say.
func (e *eachPaths) mayHold(tokens []string) bool { return fits(e.value.Steps(), tokens) }

// elementLabel names an element for people: by its name, or by its place.
func elementLabel(e *workload.Element) string {
	if e.Name != "" {
		return e.Name
	}
	return fmt.Sprintf("[%d]", e.Index)
}

// maxElements bounds the counts that are handled in all lists of an object, the amounts, and the bounds: each is compared with all others, and its
// original has to have room in the annotation.
const maxElements = 1024

// crowdFault says that an object has more elements of one kind than are handled; empty if it has not. Those that filters leave out do not count.
func (v *view) crowdFault(isOfKind func(*workload.Element) bool) string {
	n := 0
	for k := range v.obj.Elements {
		if e := &v.obj.Elements[k]; !e.Outside && isOfKind(e) {
			n++
		}
	}
	if n > maxElements {
		return fmt.Sprintf("its lists have %d elements that count, and at most %d are handled", n, maxElements)
	}
	return ""
}

// nameCounts counts the names of the elements of each component.
func (v *view) nameCounts() map[elementName]int {
	if len(v.obj.Elements) == 0 {
		return nil
	}
	counts := map[elementName]int{}
	for i := range v.obj.Elements {
		if e := &v.obj.Elements[i]; e.Name != "" && !e.Outside {
			counts[elementName{e.Component, e.Name}]++
		}
	}
	return counts
}

// elementName is a name among the elements of a component.
type elementName struct {
	component uint8
	name      string
}

// fault says why an element cannot be told from the others; empty if it can.
func (n elementName) fault(counts map[elementName]int) string {
	if counts[n] > 1 {
		return "two elements of the list have the name " + n.name
	}
	return ""
}

// unclearFault says what is wrong with the first entry whose field cannot be told any more, and what a person has to do; empty if
// there is none.
func (v *view) unclearFault() string {
	for i := range v.entries {
		l := &v.entries[i]
		if l.state != fieldUnclear {
			continue
		}
		if l.location.kind == unclear {
			which := "the element named " + l.entry.Element + " is not in its list any more, or more than once"
			if l.entry.Element == "" {
				which = "it cannot be told which element of its list was in the place of " + l.entry.Pointer
			}
			return fmt.Sprintf("%s, and the original of its count is kept: it was %s before it was set to %s. Put the list back as it was, or set "+
				"the count by hand to something else than %s", which, brief(l.entry.Original()), brief(l.entry.Set), brief(l.entry.Set))
		}
		return fmt.Sprintf("%s is not in the object any more, and its original is kept: it was %s before it was set to %s. Put the field back, or "+
			"take its entry out of the annotation flyball.dev/ledger", l.entry.Pointer, brief(l.entry.Original()), brief(l.entry.Set))
	}
	return ""
}
