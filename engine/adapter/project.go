package adapter

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// blocked is the Depth of a field that cannot be written: something on the way to it is not a container.
const blocked = 255

// internedRaw is the length in bytes up to which JSON texts of fields are likely to be shared: counts and booleans.
const internedRaw = 24

// Project makes the small Object that is kept of one raw JSON object, in one walk. Nothing of the result aliases raw. A
// ledger that cannot be read is not an error here: its reason is left in Object.LedgerError.
func (a *Adapter) Project(raw []byte) (*workload.Object, error) {
	r := reading{MetadataReading: a.projection.metadata.Read(), pr: a.projection, in: a.interner}
	r.Object.Fields = make([]workload.Field, len(a.projection.slots))
	r.parents = make([]byte, len(a.projection.parents))
	r.lists = make([]list, len(a.projection.each))
	if err := a.projection.set.Extract(raw, r.take); err != nil {
		return nil, fmt.Errorf("project a %s: %w", a.gk.Kind, err)
	}
	err := r.Finish()
	if err == nil && r.Object.Name == "" {
		return nil, fmt.Errorf("project a %s: it has no metadata.name", a.gk.Kind)
	}
	if r.ledgerOf != "" && r.ledgerOf != workload.LedgerOf(a.gk.Kind, r.Object.Name) {
		r.Object.Ledger = nil // a controller copied it from the object it belongs to
	}
	r.setDepths()
	if err == nil {
		err = r.addElements(raw)
	}
	if err == nil {
		err = a.addUnwritten(raw, r.Object)
	}
	if err != nil {
		return nil, fmt.Errorf("project %s %s/%s: %w", a.gk.Kind, r.Object.Namespace, r.Object.Name, err)
	}
	return r.Object, nil
}

// reading is an object while it is walked.
type reading struct {
	workload.MetadataReading
	pr *projection
	in *workload.Interner

	ledgerOf string // the object that the ledger says it belongs to
	parents  []byte // first byte of each parent's text; 0 if absent
	lists    []list
}

// list is what was met under one `each`: a count and a name for every element, in the same order.
type list struct {
	counts, names []member
}

// member is a count or a name of a list element.
type member struct {
	workload.Field
	pointer string
	index   int
}

// take keeps one match of the walk.
func (r *reading) take(i int, m path.Match) {
	if first := r.pr.metadataPaths; i >= first {
		r.pr.takers[i-first](r, m)
		return
	}
	r.Take(i, m)
}

// takeLedger keeps the ledger, or why it cannot be read.
func (r *reading) takeLedger(m path.Match) {
	if !m.Exists() || m.Type() == path.Null {
		return
	}
	l, of, err := readLedger(m)
	switch {
	case err != nil:
		r.Object.LedgerError = err.Error()
	case len(l) > 0:
		r.Object.Ledger, r.ledgerOf = l, of
	}
}

func readLedger(m path.Match) (l workload.Ledger, of string, err error) {
	value, err := workload.Text(m)
	if err != nil {
		return nil, "", err
	}
	if l, of, err = workload.ParseLedger(string(value)); err != nil {
		return nil, "", err
	}
	for i := range l {
		if _, err := path.ParsePointer(l[i].Pointer); err != nil {
			return nil, "", fmt.Errorf("read the ledger annotation: %w", err)
		}
	}
	return l, of, nil
}

// takeField keeps the value of a slot; of several matches the first that exists.
func (r *reading) takeField(slot *slot, m path.Match) {
	f := &r.Object.Fields[slot.index]
	if f.Exists() {
		return
	}
	*f = r.measure(m)
	if !f.Exists() {
		return
	}
	switch slot.mode {
	case modeValue:
		f.Raw = r.raw(m.Raw)
	case modePresence:
		f.Raw = "1"
	case modeCount:
		f.Raw = countMembers(m)
	}
}

// measure fills in Depth and Sole, and a Raw that only says whether there is a value. An explicit null is none.
func (r *reading) measure(m path.Match) workload.Field {
	if m.Type() == path.Null {
		return workload.Field{Depth: small(max(m.Depth-1, 0))}
	}
	f := workload.Field{Depth: small(m.Depth), Sole: small(m.Sole)}
	if m.Exists() {
		f.Raw = "1"
	}
	return f
}

func (r *reading) member(m path.Match) member {
	f := r.measure(m)
	if f.Exists() {
		f.Raw = r.raw(m.Raw)
	}
	return member{Field: f, pointer: r.in.String(string(m.Pointer())), index: m.Element()}
}

func (r *reading) raw(b []byte) string {
	if len(b) <= internedRaw {
		return r.in.Bytes(b)
	}
	return string(b)
}

// small fits a number of tokens into what a Field keeps.
func small(n int) uint8 { return uint8(min(n, blocked-1)) }

func countMembers(m path.Match) string {
	if m.Type() != path.Object {
		return ""
	}
	n := 0
	gjson.ParseBytes(m.Raw).ForEach(func(_, _ gjson.Result) bool { n++; return true })
	return strconv.Itoa(n)
}

// setDepths finds out, for written fields that are absent, whether the containers that exist on the way can hold them.
func (r *reading) setDepths() {
	for _, slot := range r.pr.slots {
		f := &r.Object.Fields[slot.index]
		if !slot.written || f.Exists() {
			continue
		}
		for level := int(f.Depth); level > 0; level-- {
			first := r.parents[slot.parents[level-1].id]
			if first == 'n' {
				f.Depth = uint8(level - 1)
				continue
			}
			if first != '{' && first != '[' || (first == '[') != (slot.steps[level].Kind == path.Index) {
				f.Depth = blocked
			}
			break
		}
		if f.Depth != blocked && slot.steps[f.Depth].Kind == path.Index {
			f.Depth = blocked // a list does not grow by position
		}
	}
}

// addElements joins the counts and names of each list. An element without a name, or with a name that another element
// of the list has too, could not be found again and is left out.
func (r *reading) addElements(raw []byte) error {
	for i, l := range r.lists {
		for k, count := range l.counts {
			name, err := path.NewValue(l.names[k].Raw, l.names[k].pointer).Text()
			if err != nil || name == "" || isRepeated(l.names, k) {
				continue
			}
			if !count.Exists() && r.pr.each[i].relative > 1 {
				if count.Field, err = fieldAt(raw, count.pointer); err != nil {
					return err
				}
			}
			r.Object.Elements = append(r.Object.Elements, workload.Element{
				Component: uint8(r.pr.each[i].component), Index: uint16(count.index), Name: r.in.String(name),
				Pointer: count.pointer, NamePointer: l.names[k].pointer, Field: count.Field,
			})
		}
	}
	r.Object.Elements = slices.Clone(r.Object.Elements) // no longer than needed
	return nil
}

func isRepeated(names []member, k int) bool {
	for i := range names {
		if i != k && names[i].Exists() && path.Equal(names[i].Raw, names[k].Raw) {
			return true
		}
	}
	return false
}

// addUnwritten adds the fields that the ledger lists but the adapter no longer knows (it was edited meanwhile), so that
// they too are given back. They come after the adapter's own fields, in the order of the ledger.
func (a *Adapter) addUnwritten(raw []byte, obj *workload.Object) error {
	for i := range obj.Ledger {
		if a.locate(obj, &obj.Ledger[i]).kind != inUnwritten {
			continue
		}
		f, err := fieldAt(raw, obj.Ledger[i].Pointer)
		if err != nil {
			return err
		}
		obj.Fields = append(obj.Fields, f)
	}
	return nil
}

// fieldAt reads one field by its pointer, and finds out whether it could be written.
func fieldAt(raw []byte, pointer string) (workload.Field, error) {
	found, err := path.Probe(raw, path.Pointer(pointer))
	if err != nil {
		return workload.Field{}, err
	}
	if found.Value.Exists() && found.Value.Type() != path.Null {
		if isElement, err := inList(raw, path.Pointer(pointer)); isElement || err != nil {
			return workload.Field{Raw: found.Value.Raw(), Depth: blocked}, err // an element cannot be put back by its position
		}
		return workload.Field{Raw: found.Value.Raw(), Depth: small(found.Depth), Sole: small(found.Sole)}, nil
	}
	tokens := path.Pointer(pointer).Tokens()
	depth := min(found.Depth, len(tokens)-1)
	for ; depth > 0; depth-- {
		above, err := path.Probe(raw, path.Pointer(pointerOf(tokens[:depth])))
		if err != nil {
			return workload.Field{}, err
		}
		if above.Value.Type() == path.Object {
			break
		}
		if above.Value.Type() != path.Null {
			return workload.Field{Depth: blocked}, nil
		}
	}
	return workload.Field{Depth: small(depth)}, nil
}

// inList says whether a pointer leads to an element of a list itself.
func inList(raw []byte, pointer path.Pointer) (bool, error) {
	if _, numeric := natural(pointer.Last()); !numeric {
		return false, nil
	}
	above, err := path.Probe(raw, pointer.Parent())
	return above.Value.Type() == path.Array, err
}
