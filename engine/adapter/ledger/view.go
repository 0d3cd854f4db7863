package ledger

import (
	"cmp"
	"encoding/json"
	"slices"

	"flyball.dev/flyball/engine/adapter/compiled"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// TrackedField is a ledger entry with its field.
type TrackedField struct {
	Entry workload.Entry // Pointer is the present pointer of the field
	// stored is the entry in the ledger.
	stored   *workload.Entry
	author   workload.Author
	Location projection.Location
	// label names an amount in messages; empty for other fields.
	label string
	// amount is true if the field is an amount, so that texts of equal quantities are equal.
	amount bool
	field  workload.Field
	State  FieldState
}

// settled returns the entry without its pending write to /scale. If that write was lost, the result is the entry before
// the write was planned.
func (l *TrackedField) settled() workload.Entry {
	e := l.Entry
	if l.isBehind() {
		e.Set, e.Once, e.Interrupted = e.Prior, "", ""
	}
	e.Prior, e.Pending = "", false
	return e
}

// View is an object with Flyball's changes separated from its owner's values.
type View struct {
	Spec    *compiled.Spec
	Object  *workload.Object
	Entries []TrackedField
	// originals are the JSON texts by slot with Flyball's changes undone; nil without a ledger.
	originals []string
	// elementOriginals are the JSON texts by element with Flyball's changes undone; nil without a ledger.
	elementOriginals []string
	// elements is the index of the object's list elements; nil until it is needed.
	elements *projection.ElementIndex
}

// NewView returns the view of an object that the spec has projected.
func NewView(a *compiled.Spec, obj *workload.Object) *View {
	v := &View{Spec: a, Object: obj}
	if len(obj.Ledger) == 0 {
		return v
	}
	unwritten := len(a.Projection.Slots)
	v.Entries = make([]TrackedField, len(obj.Ledger))
	authors := obj.Notes().Authors
	for i, at := range a.Projection.Locate(obj) {
		l := TrackedField{Entry: obj.Ledger[i], stored: &obj.Ledger[i], Location: at}
		if i < len(authors) {
			l.author = authors[i]
		}
		switch l.Location.Kind {
		case projection.InSlot:
			l.field = v.Current(a.Projection.Slots[l.Location.Index])
		case projection.InElement:
			e := &obj.Elements[l.Location.Index]
			l.field, l.Entry.Pointer = e.Field, e.Pointer
		case projection.InUnwritten:
			l.Location.Index = unwritten
			unwritten++
			if l.Location.Index < len(obj.Fields) {
				l.field = obj.Fields[l.Location.Index]
			}
		}
		if x := v.AmountAt(l.Location); x != nil {
			l.amount, l.label = true, x.Label(x.Key(cmp.Or(x.Name, l.Entry.Element)))
		}
		l.State = l.stateOf()
		v.Entries[i] = l
	}
	v.originals, v.elementOriginals = v.undoAll(), v.undoElements()
	return v
}

// isUnclear reports whether the field of some entry is unclear.
func (v *View) isUnclear() bool {
	for i := range v.Entries {
		if v.Entries[i].State == FieldUnclear {
			return true
		}
	}
	return false
}

// Complete reports whether the object was made by the adapter's own projection.
func (v *View) Complete() bool {
	n := len(v.Spec.Projection.Slots)
	for i := range v.Entries {
		if v.Entries[i].Location.Kind == projection.InUnwritten {
			n++
		}
	}
	return len(v.Object.Fields) == n
}

// Original returns the JSON text of the owner's value, or "".
func (v *View) Original(s *projection.Slot) string {
	if v.originals == nil {
		return v.Current(s).Raw
	}
	return v.originals[s.Index]
}

// OriginalOf returns the owner's value in a list element as JSON text, or "".
func (v *View) OriginalOf(element int) string {
	if v.elementOriginals == nil {
		return v.Object.Elements[element].Raw
	}
	return v.elementOriginals[element]
}

// undoElements returns the value of every list element without Flyball's changes.
func (v *View) undoElements() []string {
	originals := make([]string, len(v.Object.Elements))
	for k := range originals {
		originals[k] = v.Object.Elements[k].Raw
	}
	for i := range v.Entries {
		if l := &v.Entries[i]; l.Location.Kind == projection.InElement && l.State == FieldSet {
			originals[l.Location.Index] = l.Entry.Was
		}
	}
	return originals
}

// undoAll returns the value of every slot without Flyball's changes of the field itself, of containers around it, and of
// fields inside it.
func (v *View) undoAll() []string {
	originals := make([]string, len(v.Spec.Projection.Slots))
	for i, s := range v.Spec.Projection.Slots {
		originals[i] = v.Current(s).Raw
		if !s.Path.IsPlain() {
			continue
		}
		own := slices.ContainsFunc(v.Entries, func(l TrackedField) bool { return l.State == FieldSet && l.Entry.Pointer == s.Pointer })
		for k := range v.Entries {
			l := &v.Entries[k]
			if l.State != FieldSet || own && l.Entry.Pointer != s.Pointer && l.isAround(s.Tokens) {
				continue // the slot's own entry has the owner's value, whoever made the container
			}
			originals[i] = undo(originals[i], s, l)
		}
	}
	return originals
}

// undo returns the value of a slot as it would be if Flyball had not made the change that one ledger entry records.
func undo(raw string, s *projection.Slot, l *TrackedField) string {
	e := &l.Entry
	mine, theirs := path.Pointer(s.Pointer), path.Pointer(e.Pointer)
	switch {
	case mine == theirs:
		return e.Was
	case l.isAround(s.Tokens):
		return "" // the value came with a container of Flyball
	case theirs.IsPrefixOf(mine):
		found, err := path.Probe([]byte(e.Was), mine[len(theirs):])
		if err != nil || found.Value.Type() == path.Null {
			return "" // the field was absent
		}
		return found.Value.Raw()
	case !mine.IsPrefixOf(theirs):
		return raw
	case s.Mode == projection.ModeValue:
		return splice(raw, theirs.Tokens(), len(s.Tokens), e)
	case e.Made > 0 && int(e.Made) <= len(s.Tokens):
		return "" // Flyball made the container
	}
	return raw
}

// isAround reports whether a place is a container, or lies in a container, that came with the entry's field and has no
// content of foreign writers.
func (l *TrackedField) isAround(tokens []string) bool {
	alone := int(l.author.Alone)
	return alone > 0 && path.Common(tokens, path.Pointer(l.Entry.Pointer).Tokens()) >= alone
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

// ComponentAt returns the component of scale with its count at a location, or nil.
func (v *View) ComponentAt(at projection.Location) *compiled.Component {
	if at.Kind == projection.InElement {
		if part := v.Object.Elements[at.Index].Part; part.Kind == workload.PartCount {
			return &v.Spec.Components[part.Index]
		}
		return nil
	}
	for i := range v.Spec.Components {
		if part := &v.Spec.Components[i]; at.Kind == projection.InSlot && part.Slot != nil && part.Slot.Index == at.Index {
			return part
		}
	}
	return nil
}

// Current returns the present field.
func (v *View) Current(s *projection.Slot) workload.Field { return s.Of(v.Object) }

// IsSize reports whether a field belongs to the size: a count, or a switch of suspend.
func (v *View) IsSize(at projection.Location) bool {
	return v.ComponentAt(at) != nil || v.IsSuspend(at)
}

// IsSuspend reports whether a field is a switch of suspend.
func (v *View) IsSuspend(at projection.Location) bool {
	if at.Kind != projection.InSlot {
		return false
	}
	s := v.Spec.Projection.Slots[at.Index]
	return slices.ContainsFunc(v.Spec.Suspend, func(x compiled.Variant) bool {
		return slices.ContainsFunc(x.Set, func(w compiled.Write) bool { return w.Slot == s })
	})
}

// SetBy returns the policies in an object's ledger that set a lasting size, each once.
func (v *View) SetBy() (size []workload.Policy) {
	for i := range v.Entries {
		l := &v.Entries[i]
		if by := workload.ParsePolicy(l.Entry.By); l.Entry.Once == "" && v.IsSize(l.Location) && !slices.Contains(size, by) {
			size = append(size, by)
		}
	}
	return size
}
