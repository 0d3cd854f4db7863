// Package projection makes the small Object that stays in memory for each watched object. It also finds the fields of
// ledger entries in an Object, and reads the authors of these fields from managed fields.
package projection

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// Blocked is the Depth of a field that cannot be written, because a value on the way to it is not a container.
const Blocked = 255

// Project makes the Object of a raw object. See Spec.Project. JSON that is broken, and an object without a name, are
// errors.
func (pr *Projection) Project(raw []byte) (*workload.Object, error) {
	r := reading{MetadataReading: pr.Metadata.Read(), pr: pr, in: pr.Interner}
	r.Object.Fields = make([]workload.Field, len(pr.Slots))
	r.parents = make([]byte, len(pr.parents))
	r.lists = make([]list, len(pr.Each))
	if err := pr.set.Extract(raw, r.take); err != nil {
		return nil, fmt.Errorf("project a %s: %w", pr.Kind, err)
	}
	err := pr.finish(&r, raw)
	if errors.Is(err, errNoName) {
		return nil, fmt.Errorf("project a %s: %w", pr.Kind, err)
	}
	if err != nil {
		return nil, fmt.Errorf("project %s %s/%s: %w", pr.Kind, r.Object.Namespace, r.Object.Name, err)
	}
	return r.Object, nil
}

var errNoName = errors.New("it has no metadata.name")

// finish adds the parts of an object that need more than the walk.
func (pr *Projection) finish(r *reading, raw []byte) error {
	if err := r.Finish(); err != nil {
		return err
	}
	if r.Object.Name == "" {
		return errNoName
	}
	if err := r.dropLedgerOfAnother(raw, pr.Kind); err != nil {
		return err
	}
	if n := r.Object.LedgerNotes; n != nil && n.UID == r.Object.UID {
		n.UID = r.Object.UID // one text for both
	}
	r.forgetPoliciesOfOtherNamespaces()
	r.setDepths()
	if err := r.addElements(raw); err != nil {
		return err
	}
	if len(r.Object.Ledger) == 0 {
		return nil
	}
	return pr.addAboutLedger(raw, r)
}

// addAboutLedger adds to an object with a ledger the data for a restore.
func (pr *Projection) addAboutLedger(raw []byte, r *reading) error {
	if err := pr.addUnwritten(raw, r.Object); err != nil {
		return err
	}
	if r.podSpec != nil {
		r.Object.Requests = requestsOf(string(r.podSpec))
	}
	if err := pr.addMembers(raw, r.Object); err != nil {
		return err
	}
	pr.addAuthors(raw, r.Object)
	return nil
}

// reading is the state of a walk through an object.
type reading struct {
	workload.MetadataReading
	pr *Projection
	in *workload.Interner

	origin  workload.Origin // the object to which the ledger says that it belongs
	parents []byte          // first byte of each parent's text; 0 if absent
	lists   []list
	podSpec []byte // the spec of the template's pods; nil: the object has none
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
	l.Intern(r.in)
	on.UID = strings.Clone(on.UID)
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
	if len(l) > MaxEntries {
		return nil, on, fmt.Errorf("read the ledger annotation: it has %d entries, where Flyball writes at most %d", len(l), MaxEntries)
	}
	for i := range l {
		if n := strings.Count(l[i].Pointer, "/"); n > MaxTokens {
			return nil, on, fmt.Errorf("read the ledger annotation: a pointer of %d tokens, where no adapter writes at more than %d", n, MaxTokens)
		}
		if _, err := path.ParsePointer(l[i].Pointer); err != nil {
			return nil, on, fmt.Errorf("read the ledger annotation: %w", err)
		}
	}
	return l, on, nil
}

// MaxEntries is the largest number of entries of a ledger: one for each list element, and one for each other field that
// policies set.
const MaxEntries = 2 * MaxElements

// MaxTokens is the largest number of tokens in a pointer of a ledger. In a list, the path of the elements and the path
// of the value are joined.
const MaxTokens = 2 * MaxSteps

// MaxSteps is the largest number of steps of a path in a spec; no kind comes near.
const MaxSteps = 64

// dropLedgerOfAnother drops a ledger that belongs to a different object. If that object has the same kind, and this
// object has the values that Flyball set on it, this object is a copy and gets LedgerNotes.CopyOf. An object of a
// different kind is no copy, because controllers copy annotations to the objects that they create. An object with a
// controller keeps only a ledger with its own UID: any ledger can come from a template, but the author of the template
// does not know the UID of a later object.
func (r *reading) dropLedgerOfAnother(raw []byte, kind string) error {
	obj, on := r.Object, r.origin
	isOther := on.UID != "" && on.Namespace != obj.Namespace
	isOfTemplate := obj.OwnerReference != nil && on.UID != obj.UID
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
		if e.Once == "" && mayEqual(text, e.Set) && workload.SameNumber(string(text), e.Set) && !path.Same(e.Was, e.Set) {
			obj.LedgerNotes = &workload.LedgerNotes{CopyOf: of}
		}
	}
	return nil
}

// forgetPoliciesOfOtherNamespaces removes the names of policies of other namespaces from the ledger. A namespaced policy
// never writes in a different namespace, so Flyball did not write such a name. The name would block the deletion of the
// policy and appear in the policy's status. The rest of the entry stays valid: without a policy that claims the field,
// Flyball restores the field.
func (r *reading) forgetPoliciesOfOtherNamespaces() {
	for i := range r.Object.Ledger {
		e := &r.Object.Ledger[i]
		for k, id := range e.Claimants() {
			switch {
			case id.Namespace == "" || id.Namespace == r.Object.Namespace:
			case k == 0:
				e.By = ""
			default:
				e.Also = ""
			}
		}
	}
}

// takeField stores the value of a slot. Of several matches it stores the first existing value.
func (r *reading) takeField(slot *Slot, m path.Match) {
	f := &r.Object.Fields[slot.Index]
	if f.Exists() {
		return
	}
	*f = r.measure(m)
	if !f.Exists() {
		return
	}
	switch slot.Mode {
	case ModeValue:
		f.Raw = r.in.Bytes(m.Raw)
	case modePresence:
		f.Raw = "1"
	}
}

// measure returns a field with its Depth, and with a Raw that only marks the presence of a value. An explicit null
// counts as absent.
func (r *reading) measure(m path.Match) workload.Field {
	if m.Type() == path.Null {
		return workload.Field{Depth: Small(max(m.Depth-1, 0)), IsNull: true}
	}
	f := workload.Field{Depth: Small(m.Depth)}
	if m.Exists() {
		f.Raw = "1"
	}
	return f
}

// Small limits a number of tokens to the range of a Field.
func Small(n int) uint8 { return uint8(min(n, Blocked-1)) }

// setDepths finds out, for absent written fields, whether the existing containers on the way can hold them.
func (r *reading) setDepths() {
	for _, slot := range r.pr.Slots {
		f := &r.Object.Fields[slot.Index]
		if !slot.Written || f.Exists() {
			continue
		}
		for depth := int(f.Depth); depth > 0; depth-- {
			first := r.parents[slot.parents[depth-1].id]
			if first == 'n' {
				f.Depth = uint8(depth - 1)
				continue
			}
			if first != '{' && first != '[' || (first == '[') != (slot.steps[depth].Kind == path.Index) {
				f.Depth = Blocked
			}
			break
		}
		if f.Depth != Blocked && slot.steps[f.Depth].Kind == path.Index {
			f.Depth = Blocked // a list does not grow by position
		}
	}
}

// addUnwritten adds the fields that the ledger lists but an edited adapter no longer knows, so they too are
// restored. They come after the adapter's own fields, in the order of the ledger.
func (pr *Projection) addUnwritten(raw []byte, obj *workload.Object) error {
	var pointers []path.Pointer
	for i := range obj.Ledger {
		if at, _ := pr.locateField(&obj.Ledger[i]); at.Kind == InUnwritten {
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
func (pr *Projection) addMembers(raw []byte, obj *workload.Object) error {
	if !slices.ContainsFunc(obj.Ledger, func(e workload.Entry) bool { return e.Made > 0 }) {
		return nil
	}
	var pointers, containers []path.Pointer
	for i, at := range pr.Locate(obj) {
		pointer := obj.Ledger[i].Pointer
		if at.Kind == InElement {
			pointer = obj.Elements[at.Index].Pointer
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
			containers = append(containers, path.Pointer(path.PointerOf(tokens[:depth])))
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
func (pr *Projection) addAuthors(raw []byte, obj *workload.Object) {
	if uid := obj.Notes().UID; len(obj.Ledger) > MaxAuthors || uid == "" || uid != obj.UID {
		return
	}
	w, ok := readWriters(raw)
	if !ok {
		return
	}
	authors := make([]workload.Author, len(obj.Ledger))
	obj.LedgerNotes.Authors = authors
	for i, at := range pr.Locate(obj) {
		pointer := obj.Ledger[i].Pointer
		if at.Kind == InElement {
			pointer = obj.Elements[at.Index].Pointer
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
		return workload.Field{Raw: string(f.Raw), Depth: Blocked} // an element cannot be restored by its index
	case kind != path.Absent && kind != path.Null, f.Deepest == path.Object:
		return workload.Field{Raw: string(f.Raw), Depth: Small(f.Depth)}
	case f.Deepest == path.Null && f.Around == path.Object:
		return workload.Field{Depth: Small(f.Depth - 1), IsNull: kind == path.Null}
	default:
		return workload.Field{Depth: Blocked}
	}
}

// mayEqual reports whether a JSON text is short enough to be equal to the other text. An escaped character takes up to
// six bytes.
func mayEqual(text []byte, other string) bool { return len(text) <= 6*len(other)+64 }
