package projection

import (
	"strconv"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// Location is the position of a field in an Object.
type Location struct {
	Kind  LocationKind
	Index int
}

// LocationKind is the sort of place at which the value of a ledger entry is kept.
type LocationKind uint8

// Kinds of locations.
const (
	// InSlot is one of the adapter's own fields.
	InSlot LocationKind = iota
	// InElement is one of Object.Elements.
	InElement
	// InUnwritten is a field that the adapter does not write (any more), kept behind the adapter's own fields.
	InUnwritten
	// Nowhere is a list element that is gone.
	Nowhere
	// Unclear is a list element that does not occur exactly once.
	Unclear
)

// Locate returns the locations of the ledger's entries. The caller counts unwritten fields and sets their index.
func (pr *Projection) Locate(obj *workload.Object) []Location {
	at, lists := make([]Location, len(obj.Ledger)), make([]int, len(obj.Ledger))
	var elements *ElementIndex
	for i := range obj.Ledger {
		if at[i], lists[i] = pr.locateField(&obj.Ledger[i]); lists[i] < 0 {
			continue
		}
		if elements == nil {
			elements = pr.Elements(obj)
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
func (pr *Projection) locateField(e *workload.Entry) (at Location, list int) {
	if !e.IsInList() {
		if s := pr.byPointer[e.Pointer]; s != nil && s.Written {
			return AtSlot(s.Index), -1
		}
		return Location{Kind: InUnwritten}, -1
	}
	tokens := path.Pointer(e.Pointer).Tokens()
	for i := range pr.Each {
		if pr.Each[i].mayContain(tokens) {
			return Location{}, pr.Each[i].list
		}
	}
	return Location{Kind: InUnwritten}, -1
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

// AtSlot returns the location of a slot's field.
func AtSlot(index int) Location { return Location{InSlot, index} }

// AtElement returns the location of a list element.
func AtElement(index int) Location { return Location{InElement, index} }
