package projection

import (
	"fmt"
	"slices"
	"strconv"

	"flyball.dev/flyball/engine/workload"
)

// ElementIndex finds the list elements of an object. An element is identified by its name. An element without a name is
// identified by its position among the elements that `each` yields.
type ElementIndex struct {
	obj *workload.Object
	// lists has the index of the list by Element.Part.
	lists map[workload.Part]int
	// inside has the elements that `each` yields. outside has the elements that `each` leaves out. Both hold indices of
	// Object.Elements.
	inside, outside map[elementName][]int
	// Places are the positions of elements without a name, as text such as "2 of 3", by index of Object.Elements.
	Places map[int]string
}

// elementName is a name, or a position, in a list.
type elementName struct {
	list        int
	name, place string
}

// Elements indexes the elements of an object. An element that two components yield counts once.
func (pr *Projection) Elements(obj *workload.Object) *ElementIndex {
	if len(obj.Elements) == 0 {
		return &ElementIndex{obj: obj}
	}
	x := &ElementIndex{obj: obj, lists: map[workload.Part]int{}, inside: map[elementName][]int{}, outside: map[elementName][]int{},
		Places: map[int]string{}}
	for i := range pr.Each {
		x.lists[pr.Each[i].part] = pr.Each[i].list
	}
	seen, yielded := map[string]bool{}, map[int][]int{}
	for k := range obj.Elements {
		e := &obj.Elements[k]
		list := x.lists[e.Part]
		switch {
		case seen[e.Pointer]:
		case e.Outside:
			x.add(x.outside, elementName{list: list, name: e.Name}, k)
		default:
			x.add(x.inside, elementName{list: list, name: e.Name}, k)
			yielded[list] = append(yielded[list], k)
		}
		seen[e.Pointer] = true
	}
	for list, all := range yielded {
		for i, k := range all {
			if obj.Elements[k].Name == "" {
				x.Places[k] = fmt.Sprintf("%d of %d", i+1, len(all))
			}
			x.add(x.inside, elementName{list: list, place: fmt.Sprintf("%d of %d", i+1, len(all))}, k)
		}
	}
	return x
}

func (x *ElementIndex) add(to map[elementName][]int, name elementName, k int) {
	if name.name != "" || name.place != "" {
		to[name] = append(to[name], k)
	}
}

// find returns the location of an entry's element in a list. If the name or the position does not occur exactly once,
// the element is unclear.
func (x *ElementIndex) find(e *workload.Entry, list int) Location {
	name := elementName{list: list, name: e.Element, place: e.Place}
	found := x.inside[name]
	if len(found) == 0 {
		found = x.outside[name] // the filter of `each` no longer matches the element
	}
	if len(found) == 1 {
		return AtElement(found[0])
	}
	return Location{Kind: Unclear}
}

// listValue is a value in a list.
type listValue struct {
	list  int
	value string
}

// forget marks unclear elements as gone if no other element has the value that Flyball has set: then no value of
// Flyball is left in the list, so nothing can be restored. at has the location of each ledger entry. lists has the
// index of its list.
func (x *ElementIndex) forget(at []Location, lists []int) {
	if !slices.ContainsFunc(at, func(l Location) bool { return l.Kind == Unclear }) {
		return
	}
	found := map[int]bool{}
	for i := range at {
		if at[i].Kind == InElement {
			found[at[i].Index] = true
		}
	}
	held := map[listValue]bool{}
	for k := range x.obj.Elements {
		if e := &x.obj.Elements[k]; !found[k] {
			held[listValue{x.lists[e.Part], comparableText(e.Raw)}] = true
		}
	}
	for i := range at {
		e := &x.obj.Ledger[i]
		mayBeThere := held[listValue{lists[i], comparableText(e.Set)}] || e.Prior != "" && held[listValue{lists[i], comparableText(e.Prior)}]
		if at[i].Kind == Unclear && !mayBeThere {
			at[i] = Location{Kind: Nowhere}
		}
	}
}

// comparableText returns a text that is equal for equal values: "0", 0 and 0.0 have one text. In rare cases different
// values have one text and count as equal.
func comparableText(raw string) string {
	if q, ok := workload.QuantityOf(raw); ok {
		return strconv.FormatFloat(q.AsApproximateFloat64(), 'g', -1, 64)
	}
	return raw
}

// Fault returns the reason why a value of a list cannot be identified, or "".
func (x *ElementIndex) Fault(k int) string {
	e := &x.obj.Elements[k]
	if len(x.inside[elementName{list: x.lists[e.Part], name: e.Name}]) > 1 {
		return "two elements of the list have the name " + e.Name
	}
	return ""
}

// mayContain reports whether a pointer can belong to a value in the list, without regard to filters.
func (e *List) mayContain(tokens []string) bool { return fits(e.value.Steps(), tokens) }

// MaxElements is the largest number of counts in all lists of an object. The same number limits the amounts, and the
// bounds. The originals must fit into the ledger annotation.
const MaxElements = 1024
