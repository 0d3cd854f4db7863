package adapter

import (
	"encoding/json"
	"strconv"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// location says where in an Object a field is found.
type location struct {
	kind  locationKind
	index int
}

type locationKind uint8

const (
	inSlot      locationKind = iota // one of the adapter's own fields
	inElement                       // one of Object.Elements
	inUnwritten                     // a field that the adapter does not write (any more), kept behind its own
	nowhere                         // a list element that is no longer there
)

// locate finds the field of an entry. An element is found by its name, wherever it has moved. The index of an unwritten
// field is left to the caller, who counts them.
func (a *Adapter) locate(obj *workload.Object, e *workload.Entry) location {
	if e.Element == "" {
		if s := a.projection.byPointer[e.Pointer]; s != nil && s.written {
			return location{inSlot, s.index}
		}
		return location{kind: inUnwritten}
	}
	tokens := path.Pointer(e.Pointer).Tokens()
	for _, each := range a.projection.each {
		if !fits(each.count.Steps(), tokens) {
			continue
		}
		for i := range obj.Elements {
			if int(obj.Elements[i].Component) == each.component && obj.Elements[i].Name == e.Element {
				return location{inElement, i}
			}
		}
		return location{kind: nowhere}
	}
	return location{kind: inUnwritten}
}

// fits says whether a pointer could be a match of the steps.
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

// ledgerField is a ledger entry with the field it speaks of.
type ledgerField struct {
	entry    workload.Entry // its Pointer is where the field is now
	location location
	field    workload.Field
	state    fieldState
}

// fieldState says what a field holds in relation to what Flyball has written there.
type fieldState uint8

const (
	fieldUntouched  fieldState = 1 << iota // there is no entry, and the value is the owner's
	fieldSet                               // Flyball's value, or the one before it if the write to /scale did not come; an original is to be given back
	fieldSetOnce                           // it was set once and left to others; nothing is to be given back
	fieldUnfinished                        // none of these, while a write to /scale is not known to be through
	fieldChanged                           // somebody else has changed what Flyball had set
	fieldUnwritable                        // no adapter could have written it (somebody edited the ledger), or a container on the way is none any more
	fieldGone                              // its list element is not there any more
)

// stateOf tells the states of a field with an entry apart. The first line that holds counts.
func (l *ledgerField) stateOf() fieldState {
	switch {
	case l.location.kind == nowhere:
		return fieldGone
	case l.field.Depth == blocked || l.isForeign():
		return fieldUnwritable
	case l.holdsPrior():
		return fieldSet
	case l.entry.Once != "":
		return fieldSetOnce
	case same(l.field.Raw, l.entry.Set):
		return fieldSet
	case l.entry.Pending:
		return fieldUnfinished
	}
	return fieldChanged
}

// isForeign says whether an entry speaks of a field that no adapter could have written.
func (l *ledgerField) isForeign() bool {
	if l.location.kind != inUnwritten {
		return false
	}
	var steps []path.Step
	for _, t := range path.Pointer(l.entry.Pointer).Tokens() {
		steps = append(steps, path.Step{Kind: path.Field, Name: t})
	}
	return len(steps) < 2 || forbidden(steps) != ""
}

// holdsPrior says whether the field still holds what Flyball had set before: the write to /scale did not come.
func (l *ledgerField) holdsPrior() bool {
	return l.entry.Pending && l.entry.Prior != "" && same(l.field.Raw, l.entry.Prior)
}

// isLost says of a size that is set once that its own write to /scale did not come: the field holds what was there before.
func (l *ledgerField) isLost() bool {
	return l.holdsPrior() || l.entry.Pending && same(l.field.Raw, l.entry.Was) && !same(l.entry.Was, l.entry.Set)
}

// settled is the entry without its second write to /scale: where that did not come, as if it had never been meant.
func (l *ledgerField) settled() workload.Entry {
	e := l.entry
	if l.holdsPrior() {
		e.Set, e.Once, e.Interrupted = e.Prior, "", ""
	}
	e.Prior, e.Pending = "", false
	return e
}

// view is an object with Flyball's own changes told apart from its owner's values.
type view struct {
	a       *Adapter
	obj     *workload.Object
	entries []ledgerField
	// originals are the JSON texts by slot with Flyball's changes undone; nil where there is no ledger.
	originals []string
}

func (a *Adapter) view(obj *workload.Object) *view {
	v := &view{a: a, obj: obj}
	if len(obj.Ledger) == 0 {
		return v
	}
	unwritten := len(a.projection.slots)
	v.entries = make([]ledgerField, len(obj.Ledger))
	for i := range obj.Ledger {
		l := ledgerField{entry: obj.Ledger[i], location: a.locate(obj, &obj.Ledger[i])}
		switch l.location.kind {
		case inSlot:
			l.field = v.current(a.projection.slots[l.location.index])
		case inElement:
			l.field = obj.Elements[l.location.index].Field
			l.entry.Pointer = obj.Elements[l.location.index].Pointer
		case inUnwritten:
			l.location.index = unwritten
			unwritten++
			if l.location.index < len(obj.Fields) {
				l.field = obj.Fields[l.location.index]
			}
		}
		l.state = l.stateOf()
		v.entries[i] = l
	}
	v.originals = v.undoAll()
	return v
}

// complete says whether the object was made by the adapter's own projection.
func (v *view) complete() bool {
	n := len(v.a.projection.slots)
	for i := range v.entries {
		if v.entries[i].location.kind == inUnwritten {
			n++
		}
	}
	return len(v.obj.Fields) == n
}

// current is the field as it is now.
func (v *view) current(s *slot) workload.Field {
	if s.index < len(v.obj.Fields) {
		return v.obj.Fields[s.index]
	}
	return workload.Field{Depth: blocked}
}

// original is the JSON text of the owner's value; empty if there is none.
func (v *view) original(s *slot) string {
	if v.originals == nil {
		return v.current(s).Raw
	}
	return v.originals[s.index]
}

// originalOf is the owner's count in a list element.
func (v *view) originalOf(element int) string {
	for i := range v.entries {
		if l := &v.entries[i]; l.location == (location{inElement, element}) && l.state == fieldSet {
			return l.entry.Was
		}
	}
	return v.obj.Elements[element].Raw
}

// undoAll gives the value of every slot as it would be without Flyball's changes: those of the field itself, of a container
// it is in, and of fields inside it.
func (v *view) undoAll() []string {
	originals := make([]string, len(v.a.projection.slots))
	for i, s := range v.a.projection.slots {
		originals[i] = v.current(s).Raw
		if s.mode == modeCount || !s.path.IsPlain() {
			continue
		}
		for k := range v.entries {
			if l := &v.entries[k]; l.state == fieldSet {
				originals[i] = undo(originals[i], s, &l.entry)
			}
		}
	}
	return originals
}

// undo gives the value of a slot without the change of one entry.
func undo(raw string, s *slot, e *workload.Entry) string {
	mine, theirs := path.Pointer(s.pointer), path.Pointer(e.Pointer)
	switch {
	case mine == theirs:
		return e.Was
	case theirs.IsPrefixOf(mine):
		found, err := path.Probe([]byte(e.Was), mine[len(theirs):])
		if err != nil || found.Value.Type() == path.Null {
			return "" // nothing was there
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

// splice gives the text of the container at tokens[:level] with the entry's field as it was. Containers that the entry
// made go when that leaves them empty.
func splice(raw string, tokens []string, level int, e *workload.Entry) string {
	if level == len(tokens) {
		return e.Was
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &members) != nil || members == nil {
		return raw
	}
	if inner := splice(string(members[tokens[level]]), tokens, level+1, e); inner != "" {
		members[tokens[level]] = json.RawMessage(inner)
	} else {
		delete(members, tokens[level])
	}
	if len(members) == 0 && e.Made > 0 && int(e.Made) <= level {
		return ""
	}
	text, err := json.Marshal(members)
	if err != nil {
		return raw
	}
	return string(text)
}

// same compares two JSON texts, of which either may be empty for an absent value.
func same(a, b string) bool {
	return a == b || a != "" && b != "" && path.Equal(a, b)
}

// componentAt is the component of scale whose count is at a location; nil if it is no count.
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
