package projection

import (
	"slices"
	"strings"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// list has the matches under one `each`: values, and the content of each naming field, both in the order of elements.
type list struct {
	values []member
	names  [][]member
}

// member is a value or a name of a list element.
type member struct {
	workload.Field
	pointer string
	// key is the key of an element that is a member of an object.
	key   string
	index int
}

// take keeps a match of the path with index i in List.paths.
func (l *list) take(r *reading, i int, m path.Match) {
	if i == 0 {
		l.values = append(l.values, r.member(m))
		return
	}
	for len(l.names) < i {
		l.names = append(l.names, nil)
	}
	l.names[i-1] = append(l.names[i-1], r.member(m))
}

func (r *reading) member(m path.Match) member {
	f := r.measure(m)
	if f.Exists() {
		f.Raw = r.in.Bytes(m.Raw)
	}
	n := member{Field: f, pointer: r.in.String(string(m.Pointer())), index: m.Element()}
	if m.ElementInObject() {
		n.key = m.ElementKey()
	}
	return n
}

// addElements joins the values and names of each list. An element without a name of its own is identified by its key in
// a map, or else by its place. If the ledger has entries for elements, the elements of lazy lists are added too, and at
// the end the elements that filters leave out.
func (r *reading) addElements(raw []byte) error {
	ledger := slices.ContainsFunc(r.Object.Ledger, func(e workload.Entry) bool { return e.IsInList() })
	for i := range r.lists {
		each, l := &r.pr.Each[i], &r.lists[i]
		if each.Lazy && ledger {
			if err := each.own.Extract(raw, func(k int, m path.Match) { l.take(r, k, m) }); err != nil {
				return err
			}
		}
		if err := r.addList(raw, each, l, false); err != nil {
			return err
		}
	}
	for i := range r.pr.Each {
		if each := &r.pr.Each[i]; ledger && each.all != nil {
			var l list
			if err := each.all.Extract(raw, func(k int, m path.Match) { l.take(r, k, m) }); err != nil {
				return err
			}
			if err := r.addList(raw, each, &l, true); err != nil {
				return err
			}
		}
	}
	r.Object.Elements = slices.Clone(r.Object.Elements) // without unused capacity
	return nil
}

// addList adds the elements of one list to the object. If outside is true, it adds the elements that `each` does not
// yield, without duplicates.
func (r *reading) addList(raw []byte, each *List, l *list, outside bool) error {
	met := map[string]bool{}
	for i := range r.Object.Elements {
		if outside {
			met[r.Object.Elements[i].Pointer] = true
		}
	}
	at := make([]int, len(l.names))
	var absent []int
	var pointers []path.Pointer
	for _, value := range l.values {
		e := workload.Element{Part: each.part, Index: uint16(max(value.index, 0)), Pointer: value.pointer, Outside: outside,
			Field: value.Field}
		if met[e.Pointer] {
			continue
		}
		r.nameElement(&e, each, l, at)
		if len(each.names) == 0 {
			e.Name = r.in.String(value.key)
		}
		if !value.Exists() {
			absent, pointers = append(absent, len(r.Object.Elements)), append(pointers, path.Pointer(e.Pointer))
		}
		r.Object.Elements = append(r.Object.Elements, e)
	}
	fields, err := fieldsAt(raw, pointers)
	for i, f := range fields {
		r.Object.Elements[absent[i]].Field = f
	}
	return err
}

// nameElement sets the name of an element. at has the current position in each list of names. The names have the same
// order as the values, so the positions only move forward.
func (r *reading) nameElement(e *workload.Element, each *List, l *list, at []int) {
	element := leading(e.Pointer, each.elements)
	var parts []string
	for k, names := range l.names {
		for at[k] < len(names) && leading(names[at[k]].pointer, each.elements) != element {
			at[k]++
		}
		if at[k] == len(names) {
			continue
		}
		if name, err := path.NewValue(names[at[k]].Raw, names[at[k]].pointer).Text(); err == nil {
			parts = append(parts, name)
			e.NamePointer = names[at[k]].pointer
		}
	}
	if len(each.names) > 1 {
		e.NamePointer = "" // no single field holds the whole name
	}
	e.Name = r.in.String(strings.Join(parts, "/"))
}

// leading returns the pointer of the first tokens of a pointer.
func leading(pointer string, tokens int) string {
	for i := range len(pointer) {
		if pointer[i] != '/' {
			continue
		}
		if tokens == 0 {
			return pointer[:i]
		}
		tokens--
	}
	return pointer
}
