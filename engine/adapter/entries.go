package adapter

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// location is the position of a field in an Object.
type location struct {
	kind  locationKind
	index int
}

type locationKind uint8

const (
	inSlot      locationKind = iota // one of the adapter's own fields
	inElement                       // one of Object.Elements
	inUnwritten                     // a field that the adapter does not write (any more), kept behind the adapter's own fields
	nowhere                         // a list element that is gone
	unclear                         // a list element that does not occur exactly once
)

// locate returns the locations of the ledger's entries. The caller counts unwritten fields and sets their index.
func (a *Adapter) locate(obj *workload.Object) []location {
	at, lists := make([]location, len(obj.Ledger)), make([]int, len(obj.Ledger))
	var elements *elementIndex
	for i := range obj.Ledger {
		if at[i], lists[i] = a.locateField(&obj.Ledger[i]); lists[i] < 0 {
			continue
		}
		if elements == nil {
			elements = a.elementsOf(obj)
		}
		at[i] = elements.find(&obj.Ledger[i], lists[i])
	}
	if elements != nil {
		elements.forget(at, lists)
	}
	return at
}

// locateField returns the location of one entry. If the field is in a list, list is the index of the list; otherwise it
// is -1.
func (a *Adapter) locateField(e *workload.Entry) (at location, list int) {
	if !e.IsInList() {
		if s := a.projection.byPointer[e.Pointer]; s != nil && s.written {
			return location{inSlot, s.index}, -1
		}
		return location{kind: inUnwritten}, -1
	}
	tokens := path.Pointer(e.Pointer).Tokens()
	for i := range a.projection.each {
		if a.projection.each[i].mayHold(tokens) {
			return location{}, a.projection.each[i].list
		}
	}
	return location{kind: inUnwritten}, -1
}

// fits reports whether a pointer could be a match of the steps.
func fits(steps []path.Step, tokens []string) bool {
	if len(steps) != len(tokens) {
		return false
	}
	for i, s := range steps {
		if s.Kind == path.Field && s.Name != tokens[i] || s.Kind == path.Index && strconv.Itoa(s.Index) != tokens[i] {
			return false
		}
	}
	return true
}

// ledgerField is a ledger entry with its field.
type ledgerField struct {
	entry workload.Entry // Pointer is the present pointer of the field
	// stored is the entry in the ledger.
	stored   *workload.Entry
	author   workload.Author
	location location
	// label names an amount in messages; empty for other fields.
	label string
	// amount is true if the field is an amount, so that texts of equal quantities are equal.
	amount bool
	field  workload.Field
	state  fieldState
}

// settled returns the entry without its pending write to /scale. If that write was lost, the result is the entry before
// the write was planned.
func (l *ledgerField) settled() workload.Entry {
	e := l.entry
	if l.isBehind() {
		e.Set, e.Once, e.Interrupted = e.Prior, "", ""
	}
	e.Prior, e.Pending = "", false
	return e
}

// view is an object with Flyball's changes separated from its owner's values.
type view struct {
	a       *Adapter
	obj     *workload.Object
	entries []ledgerField
	// originals are the JSON texts by slot with Flyball's changes undone; nil without a ledger.
	originals []string
	// elementOriginals are the JSON texts by element with Flyball's changes undone; nil without a ledger.
	elementOriginals []string
	// elements is the index of the object's list elements; nil until it is needed.
	elements *elementIndex
}

func (a *Adapter) view(obj *workload.Object) *view {
	v := &view{a: a, obj: obj}
	if len(obj.Ledger) == 0 {
		return v
	}
	unwritten := len(a.projection.slots)
	v.entries = make([]ledgerField, len(obj.Ledger))
	authors := obj.Notes().Authors
	for i, at := range a.locate(obj) {
		l := ledgerField{entry: obj.Ledger[i], stored: &obj.Ledger[i], location: at}
		if i < len(authors) {
			l.author = authors[i]
		}
		switch l.location.kind {
		case inSlot:
			l.field = v.current(a.projection.slots[l.location.index])
		case inElement:
			e := &obj.Elements[l.location.index]
			l.field, l.entry.Pointer = e.Field, e.Pointer
		case inUnwritten:
			l.location.index = unwritten
			unwritten++
			if l.location.index < len(obj.Fields) {
				l.field = obj.Fields[l.location.index]
			}
		}
		if x := v.amountAt(l.location); x != nil {
			l.amount, l.label = true, x.label(x.key(cmp.Or(x.name, l.entry.Element)))
		}
		l.state = l.stateOf()
		v.entries[i] = l
	}
	v.originals, v.elementOriginals = v.undoAll(), v.undoElements()
	return v
}

// isUnclear reports whether the field of some entry is unclear.
func (v *view) isUnclear() bool {
	for i := range v.entries {
		if v.entries[i].state == fieldUnclear {
			return true
		}
	}
	return false
}

// complete reports whether the object was made by the adapter's own projection.
func (v *view) complete() bool {
	n := len(v.a.projection.slots)
	for i := range v.entries {
		if v.entries[i].location.kind == inUnwritten {
			n++
		}
	}
	return len(v.obj.Fields) == n
}

// current returns the present field.
func (v *view) current(s *slot) workload.Field {
	if s.index < len(v.obj.Fields) {
		return v.obj.Fields[s.index]
	}
	return workload.Field{Depth: blocked}
}

// original returns the JSON text of the owner's value, or "".
func (v *view) original(s *slot) string {
	if v.originals == nil {
		return v.current(s).Raw
	}
	return v.originals[s.index]
}

// originalOf returns the owner's value in a list element as JSON text, or "".
func (v *view) originalOf(element int) string {
	if v.elementOriginals == nil {
		return v.obj.Elements[element].Raw
	}
	return v.elementOriginals[element]
}

// undoElements returns the value of every list element without Flyball's changes.
func (v *view) undoElements() []string {
	originals := make([]string, len(v.obj.Elements))
	for k := range originals {
		originals[k] = v.obj.Elements[k].Raw
	}
	for i := range v.entries {
		if l := &v.entries[i]; l.location.kind == inElement && l.state == fieldSet {
			originals[l.location.index] = l.entry.Was
		}
	}
	return originals
}

// undoAll returns the value of every slot without Flyball's changes of the field itself, of containers around it, and of
// fields inside it.
func (v *view) undoAll() []string {
	originals := make([]string, len(v.a.projection.slots))
	for i, s := range v.a.projection.slots {
		originals[i] = v.current(s).Raw
		if !s.path.IsPlain() {
			continue
		}
		own := slices.ContainsFunc(v.entries, func(l ledgerField) bool { return l.state == fieldSet && l.entry.Pointer == s.pointer })
		for k := range v.entries {
			l := &v.entries[k]
			if l.state != fieldSet || own && l.entry.Pointer != s.pointer && l.isAround(s.tokens) {
				continue // the slot's own entry has the owner's value, whoever made the container
			}
			originals[i] = undo(originals[i], s, l)
		}
	}
	return originals
}

// undo returns the value of a slot as it would be if Flyball had not made the change that one ledger entry records.
func undo(raw string, s *slot, l *ledgerField) string {
	e := &l.entry
	mine, theirs := path.Pointer(s.pointer), path.Pointer(e.Pointer)
	switch {
	case mine == theirs:
		return e.Was
	case l.isAround(s.tokens):
		return "" // the value came with a container of Flyball
	case theirs.IsPrefixOf(mine):
		found, err := path.Probe([]byte(e.Was), mine[len(theirs):])
		if err != nil || found.Value.Type() == path.Null {
			return "" // the field was absent
		}
		return found.Value.Raw()
	case !mine.IsPrefixOf(theirs):
		return raw
	case s.mode == modeValue:
		return splice(raw, theirs.Tokens(), len(s.tokens), e)
	case e.Made > 0 && int(e.Made) <= len(s.tokens):
		return "" // Flyball made the container
	}
	return raw
}

// isAround reports whether a place is a container, or lies in a container, that came with the entry's field and has no
// content of foreign writers.
func (l *ledgerField) isAround(tokens []string) bool {
	alone := int(l.author.Alone)
	return alone > 0 && commonTokens(tokens, path.Pointer(l.entry.Pointer).Tokens()) >= alone
}

// splice returns the text of the container at tokens[:depth] with the original of the entry's field. A container that
// was made for the entry is removed if it becomes empty.
func splice(raw string, tokens []string, depth int, e *workload.Entry) string {
	if depth == len(tokens) {
		return e.Was
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &members) != nil || members == nil {
		return raw
	}
	if inner := splice(string(members[tokens[depth]]), tokens, depth+1, e); inner != "" {
		members[tokens[depth]] = json.RawMessage(inner)
	} else {
		delete(members, tokens[depth])
	}
	if len(members) == 0 && e.Made > 0 && int(e.Made) <= depth {
		return ""
	}
	text, err := json.Marshal(members)
	if err != nil {
		return raw
	}
	return string(text)
}

// sameNumber compares two JSON texts. A number and a string with the same quantity are equal, because a writer that
// reads an object and writes it back may turn 0 into "0". Two strings are not compared as quantities, because "1.10" can
// be a version.
func sameNumber(a, b string) bool { return sameValue(a, b, false) }

// sameValue compares two JSON texts as the API server does: amounts by their quantity, others like sameNumber.
func sameValue(a, b string, amount bool) bool {
	if same(a, b) {
		return true
	}
	if !amount && (a == "" || b == "" || (a[0] == '"') == (b[0] == '"')) {
		return false
	}
	x, okX := quantity(a)
	y, okY := quantity(b)
	return okX && okY && x.Cmp(y) == 0
}

// same compares two JSON texts; an empty one means an absent value.
func same(a, b string) bool {
	return a == b || a != "" && b != "" && path.Equal(a, b)
}

// componentAt returns the component of scale with its count at a location, or nil.
func (v *view) componentAt(at location) *component {
	for i := range v.a.components {
		part := &v.a.components[i]
		if at.kind == inElement && int(v.obj.Elements[at.index].Component) == i ||
			at.kind == inSlot && part.slot != nil && part.slot.index == at.index {
			return part
		}
	}
	return nil
}
