package adapter

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// blocked is the Depth of a field that cannot be written, because a value on the way to it is not a container.
const blocked = 255

// Project makes the small Object of one raw JSON object, in one walk. Its result shares no memory with raw. An
// unreadable ledger is not an error here: Object.LedgerError has the reason.
func (a *Adapter) Project(raw []byte) (*workload.Object, error) {
	r := reading{MetadataReading: a.projection.metadata.Read(), pr: a.projection, in: a.interner}
	r.Object.Fields = make([]workload.Field, len(a.projection.slots))
	r.parents = make([]byte, len(a.projection.parents))
	r.lists = make([]list, len(a.projection.each))
	if err := a.projection.set.Extract(raw, r.take); err != nil {
		return nil, fmt.Errorf("project a %s: %w", a.gk.Kind, err)
	}
	err := a.finish(&r, raw)
	if errors.Is(err, errNoName) {
		return nil, fmt.Errorf("project a %s: %w", a.gk.Kind, err)
	}
	if err != nil {
		return nil, fmt.Errorf("project %s %s/%s: %w", a.gk.Kind, r.Object.Namespace, r.Object.Name, err)
	}
	return r.Object, nil
}

var errNoName = errors.New("it has no metadata.name")

// finish adds the parts of an object that need more than the walk.
func (a *Adapter) finish(r *reading, raw []byte) error {
	if err := r.Finish(); err != nil {
		return err
	}
	if r.Object.Name == "" {
		return errNoName
	}
	if err := r.dropLedgerOfAnother(raw, a.gk.Kind); err != nil {
		return err
	}
	r.setDepths()
	if err := r.addElements(raw); err != nil {
		return err
	}
	if err := a.addOwned(raw, r.Object); err != nil {
		return err
	}
	if len(r.Object.Ledger) == 0 {
		return nil
	}
	return a.addAboutLedger(raw, r.Object)
}

// addAboutLedger adds to an object with a ledger the data for a restore.
func (a *Adapter) addAboutLedger(raw []byte, obj *workload.Object) (err error) {
	if err := a.addUnwritten(raw, obj); err != nil {
		return err
	}
	if obj.Requests, err = a.TemplateRequests(raw); err != nil {
		return err
	}
	if err := a.addMembers(raw, obj); err != nil {
		return err
	}
	a.addAuthors(raw, obj)
	return nil
}

// reading is the state of a walk through an object.
type reading struct {
	workload.MetadataReading
	pr *projection
	in *workload.Interner

	origin  workload.Origin // the object to which the ledger says that it belongs
	parents []byte          // first byte of each parent's text; 0 if absent
	lists   []list
}

// take stores one match of the walk.
func (r *reading) take(i int, m path.Match) {
	if first := r.pr.metadataPaths; i >= first {
		r.pr.takers[i-first](r, m)
		return
	}
	r.Take(i, m)
}

// takeLedger stores the ledger, or the reason why it is unreadable.
func (r *reading) takeLedger(m path.Match) {
	if !m.Exists() || m.Type() == path.Null {
		return
	}
	l, on, err := readLedger(m)
	if err != nil {
		r.Object.LedgerError = err.Error()
		return
	}
	r.Object.Ledger, r.origin, r.Object.LedgerNotes = l, on, &workload.LedgerNotes{UID: on.UID}
}

func readLedger(m path.Match) (l workload.Ledger, on workload.Origin, err error) {
	value, err := workload.Text(m)
	if err != nil {
		return nil, on, err
	}
	if l, on, err = workload.ParseLedger(string(value)); err != nil {
		return nil, on, err
	}
	if len(l) > maxEntries {
		return nil, on, fmt.Errorf("read the ledger annotation: it has %d entries, where Flyball writes at most %d", len(l), maxEntries)
	}
	for i := range l {
		if n := strings.Count(l[i].Pointer, "/"); n > maxTokens {
			return nil, on, fmt.Errorf("read the ledger annotation: a pointer of %d tokens, where no adapter writes at more than %d", n, maxTokens)
		}
		if _, err := path.ParsePointer(l[i].Pointer); err != nil {
			return nil, on, fmt.Errorf("read the ledger annotation: %w", err)
		}
	}
	return l, on, nil
}

// maxEntries is the largest number of entries of a ledger: one for each list element, and one for each other field that
// policies set.
const maxEntries = 2 * maxElements

// maxTokens is the largest number of tokens in a pointer of a ledger. In a list, the path of the elements and the path
// of the value are joined.
const maxTokens = 2 * maxSteps

// dropLedgerOfAnother drops a ledger that belongs to a different object. If that object has the same kind, and this
// object has the values that Flyball set on it, this object is a copy and gets LedgerNotes.CopyOf. An object of a
// different kind is no copy, because controllers copy annotations to the objects that they create. An object with a
// controller keeps only a ledger with its own UID: any ledger can come from a template, but the author of the template
// does not know the UID of a later object.
func (r *reading) dropLedgerOfAnother(raw []byte, kind string) error {
	obj, on := r.Object, r.origin
	isOther := on.UID != "" && on.Namespace != obj.Namespace
	isOfTemplate := obj.Owner != nil && on.UID != obj.UID
	hasName := on.Of == "" || on.Of == workload.LedgerOf(kind, obj.Name)
	if len(obj.Ledger) == 0 || hasName && !isOther && !isOfTemplate {
		return nil
	}
	ledger := obj.Ledger
	obj.Ledger, obj.LedgerNotes = nil, nil
	if !strings.HasPrefix(on.Of, kind+"/") {
		return nil
	}
	pointers := make([]path.Pointer, len(ledger))
	for i := range ledger {
		pointers[i] = path.Pointer(ledger[i].Pointer)
	}
	found, err := path.ProbeAll(raw, pointers...)
	if err != nil {
		return err
	}
	of := on.String()
	if hasName && !isOther {
		of = "an earlier " + of
	}
	for i := range found {
		e, text := &ledger[i], found[i].Raw
		if found[i].Type() == path.Null {
			text = nil
		}
		if e.Once == "" && mayEqual(text, e.Set) && sameNumber(string(text), e.Set) && !same(e.Was, e.Set) {
			obj.LedgerNotes = &workload.LedgerNotes{CopyOf: of}
		}
	}
	return nil
}

// takeField stores the value of a slot. Of several matches it stores the first existing value.
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
		f.Raw = r.in.Bytes(m.Raw)
	case modePresence:
		f.Raw = "1"
	}
}

// measure returns a field with its Depth, and with a Raw that only marks the presence of a value. An explicit null
// counts as absent.
func (r *reading) measure(m path.Match) workload.Field {
	if m.Type() == path.Null {
		return workload.Field{Depth: small(max(m.Depth-1, 0)), IsNull: true}
	}
	f := workload.Field{Depth: small(m.Depth)}
	if m.Exists() {
		f.Raw = "1"
	}
	return f
}

// small limits a number of tokens to the range of a Field.
func small(n int) uint8 { return uint8(min(n, blocked-1)) }

// setDepths finds out, for absent written fields, whether the existing containers on the way can hold them.
func (r *reading) setDepths() {
	for _, slot := range r.pr.slots {
		f := &r.Object.Fields[slot.index]
		if !slot.written || f.Exists() {
			continue
		}
		for depth := int(f.Depth); depth > 0; depth-- {
			first := r.parents[slot.parents[depth-1].id]
			if first == 'n' {
				f.Depth = uint8(depth - 1)
				continue
			}
			if first != '{' && first != '[' || (first == '[') != (slot.steps[depth].Kind == path.Index) {
				f.Depth = blocked
			}
			break
		}
		if f.Depth != blocked && slot.steps[f.Depth].Kind == path.Index {
			f.Depth = blocked // a list does not grow by position
		}
	}
}

// addUnwritten adds the fields that the ledger lists but an edited adapter no longer knows, so they too are
// restored. They come after the adapter's own fields, in the order of the ledger.
func (a *Adapter) addUnwritten(raw []byte, obj *workload.Object) error {
	var pointers []path.Pointer
	for i := range obj.Ledger {
		if at, _ := a.locateField(&obj.Ledger[i]); at.kind == inUnwritten {
			pointers = append(pointers, path.Pointer(obj.Ledger[i].Pointer))
		}
	}
	found, err := path.ProbeAll(raw, pointers...)
	if err != nil {
		return err
	}
	size := 0
	for i := range found {
		size += len(found[i].Raw)
	}
	if size > 2*len(raw) {
		obj.Ledger, obj.LedgerNotes = nil, nil
		obj.LedgerError = "read the ledger annotation: its entries are about places inside each other, which are larger together than the object"
		return nil
	}
	for i := range found {
		obj.Fields = append(obj.Fields, fieldOf(&found[i]))
	}
	return nil
}

// addMembers counts the members of the containers that were made for the ledger's entries. A restore removes such a
// container if it becomes empty.
func (a *Adapter) addMembers(raw []byte, obj *workload.Object) error {
	if !slices.ContainsFunc(obj.Ledger, func(e workload.Entry) bool { return e.Made > 0 }) {
		return nil
	}
	var pointers, containers []path.Pointer
	for i, at := range a.locate(obj) {
		pointer := obj.Ledger[i].Pointer
		if at.kind == inElement {
			pointer = obj.Elements[at.index].Pointer
		}
		pointers = append(pointers, path.Pointer(pointer))
	}
	found, err := path.ProbeAll(raw, pointers...)
	if err != nil {
		return err
	}
	for i, p := range pointers {
		made, tokens := int(obj.Ledger[i].Made), p.Tokens()
		for depth := made; made > 0 && depth < len(tokens) && depth <= found[i].Depth; depth++ {
			containers = append(containers, path.Pointer(pointerOf(tokens[:depth])))
		}
	}
	slices.Sort(containers)
	containers = slices.Compact(containers)
	if found, err = path.ProbeAll(raw, containers...); err != nil {
		return err
	}
	members := map[string]int{}
	for i, container := range containers {
		if f := &found[i]; f.Type() == path.Object {
			members[string(container)] = f.Members()
		}
	}
	obj.LedgerNotes.Members = members
	return nil
}

// addAuthors adds the authors of the ledger's entries from managed fields. The managed fields of an object that was
// restored from a backup prove nothing, because the restore has written its fields.
func (a *Adapter) addAuthors(raw []byte, obj *workload.Object) {
	if uid := obj.Notes().UID; len(obj.Ledger) > maxAuthors || uid == "" || uid != obj.UID {
		return
	}
	w, ok := readWriters(raw)
	if !ok {
		return
	}
	authors := make([]workload.Author, len(obj.Ledger))
	obj.LedgerNotes.Authors = authors
	for i, at := range a.locate(obj) {
		pointer := obj.Ledger[i].Pointer
		if at.kind == inElement {
			pointer = obj.Elements[at.index].Pointer
		}
		authors[i] = w.author(&obj.Ledger[i], path.Pointer(pointer))
	}
}

// fieldsAt reads fields by their pointers, and finds out whether they could be written.
func fieldsAt(raw []byte, pointers []path.Pointer) ([]workload.Field, error) {
	found, err := path.ProbeAll(raw, pointers...)
	fields := make([]workload.Field, len(found))
	for i := range found {
		fields[i] = fieldOf(&found[i])
	}
	return fields, err
}

func fieldOf(f *path.Found) workload.Field {
	kind := f.Type()
	switch {
	case kind != path.Absent && kind != path.Null && f.Around == path.Array:
		return workload.Field{Raw: string(f.Raw), Depth: blocked} // an element cannot be restored by its index
	case kind != path.Absent && kind != path.Null, f.Deepest == path.Object:
		return workload.Field{Raw: string(f.Raw), Depth: small(f.Depth)}
	case f.Deepest == path.Null && f.Around == path.Object:
		return workload.Field{Depth: small(f.Depth - 1), IsNull: kind == path.Null}
	default:
		return workload.Field{Depth: blocked}
	}
}

// mayEqual reports whether a JSON text is short enough to be equal to the other text. An escaped character takes up to
// six bytes.
func mayEqual(text []byte, other string) bool { return len(text) <= 6*len(other)+64 }
