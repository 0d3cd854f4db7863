package adapter

import (
	"encoding/json"
	"strconv"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// siteKind says where the field of a ledger entry is found in an Object.
type siteKind uint8

const (
	// siteSlot is one of the adapter's own fields.
	siteSlot siteKind = iota
	// siteElement is one of Object.Elements.
	siteElement
	// siteUnlisted is a field that the adapter does not write (any more); it is kept behind the adapter's own.
	siteUnlisted
	// siteGone is a list element that is no longer there.
	siteGone
)

type site struct {
	kind  siteKind
	index int
}

// locate finds the field of an entry. An element is found by its name, wherever it has moved. The index of an unlisted
// field is left to the caller, who counts them.
func (a *Adapter) locate(obj *workload.Object, e *workload.Entry) site {
	if e.Element == "" {
		if s := a.projection.byPointer[e.Pointer]; s != nil && s.written {
			return site{siteSlot, s.index}
		}
		return site{kind: siteUnlisted}
	}
	tokens := path.Pointer(e.Pointer).Tokens()
	for _, each := range a.projection.each {
		if !fits(each.count.Steps(), tokens) {
			continue
		}
		for i := range obj.Elements {
			if int(obj.Elements[i].Component) == each.component && obj.Elements[i].Name == e.Element {
				return site{siteElement, i}
			}
		}
		return site{kind: siteGone}
	}
	return site{kind: siteUnlisted}
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

// listed is a ledger entry with the field it speaks of.
type listed struct {
	entry workload.Entry // its Pointer is where the field is now
	site  site
	field workload.Field
	// ours is true while the field holds what was set, or still what was set before it. What was set once is nobody's: it
	// stands for no original.
	ours bool
}

// isBehind says whether the field still holds what Flyball had set before: the write to /scale did not come.
func (l *listed) isBehind() bool {
	return l.entry.Pending && l.entry.Prior != "" && same(l.field.Raw, l.entry.Prior)
}

// seen is the entry of a field that is ours as the field bears it out: a write to /scale that did not come is as if it had
// never been meant.
func (l *listed) seen() workload.Entry {
	e := l.entry
	if l.isBehind() {
		e.Set, e.Once, e.Interrupted = e.Prior, "", ""
	}
	e.Prior, e.Pending = "", false
	return e
}

// view is an object with Flyball's own changes told apart from its owner's values.
type view struct {
	a       *Adapter
	obj     *workload.Object
	entries []listed
	// originals are the JSON texts by slot with Flyball's changes undone; nil where there is no ledger.
	originals []string
}

func (a *Adapter) view(obj *workload.Object) *view {
	v := &view{a: a, obj: obj}
	if len(obj.Ledger) == 0 {
		return v
	}
	unlisted := len(a.projection.slots)
	v.entries = make([]listed, len(obj.Ledger))
	for i := range obj.Ledger {
		l := listed{entry: obj.Ledger[i], site: a.locate(obj, &obj.Ledger[i])}
		switch l.site.kind {
		case siteSlot:
			l.field = v.current(a.projection.slots[l.site.index])
		case siteElement:
			l.field = obj.Elements[l.site.index].Field
			l.entry.Pointer = obj.Elements[l.site.index].Pointer
		case siteUnlisted:
			l.site.index = unlisted
			unlisted++
			if l.site.index < len(obj.Fields) {
				l.field = obj.Fields[l.site.index]
			}
		}
		l.ours = l.site.kind != siteGone && (l.isBehind() || l.entry.Once == "" && same(l.field.Raw, l.entry.Set))
		v.entries[i] = l
	}
	v.originals = v.undo()
	return v
}

// complete says whether the object was made by the adapter's own projection.
func (v *view) complete() bool {
	n := len(v.a.projection.slots)
	for i := range v.entries {
		if v.entries[i].site.kind == siteUnlisted {
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
		if l := &v.entries[i]; l.site == (site{siteElement, element}) && l.ours {
			return l.entry.Was
		}
	}
	return v.obj.Elements[element].Raw
}

// undo gives the value of every slot as it would be without Flyball's changes: those of the field itself, of a container
// it is in, and of fields inside it.
func (v *view) undo() []string {
	originals := make([]string, len(v.a.projection.slots))
	for i, s := range v.a.projection.slots {
		originals[i] = v.current(s).Raw
		if s.mode == modeCount || !s.path.IsPlain() {
			continue
		}
		for k := range v.entries {
			if l := &v.entries[k]; l.ours {
				originals[i] = undoOne(originals[i], s, &l.entry)
			}
		}
	}
	return originals
}

func undoOne(raw string, s *slot, e *workload.Entry) string {
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
