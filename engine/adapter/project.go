package adapter

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
	s := sighting{pr: a.projection, in: a.interner, obj: &workload.Object{}}
	s.obj.Fields = make([]workload.Field, len(a.projection.slots))
	s.parents = make([]byte, len(a.projection.parents))
	s.lists = make([]list, len(a.projection.each))
	if err := a.projection.set.Extract(raw, s.see); err != nil {
		return nil, fmt.Errorf("project a %s: %w", a.gk.Kind, err)
	}
	if s.err != nil {
		return nil, fmt.Errorf("project %s %s/%s: %w", a.gk.Kind, s.namespace, s.name, s.err)
	}
	if len(s.name) == 0 {
		return nil, fmt.Errorf("project a %s: it has no metadata.name", a.gk.Kind)
	}
	s.identify()
	if s.ledgerOf != "" && s.ledgerOf != workload.LedgerOf(a.gk.Kind, s.obj.Name) {
		s.obj.Ledger = nil // copied by a controller from the object it belongs to
	}
	s.settleDepths()
	if err := s.pairElements(raw); err != nil {
		return nil, fmt.Errorf("project %s %s/%s: %w", a.gk.Kind, s.obj.Namespace, s.obj.Name, err)
	}
	if err := a.readUnlisted(raw, s.obj); err != nil {
		return nil, fmt.Errorf("project %s %s/%s: %w", a.gk.Kind, s.obj.Namespace, s.obj.Name, err)
	}
	return s.obj, nil
}

// sighting is an object while it is walked.
type sighting struct {
	pr  *projection
	in  *Interner
	obj *workload.Object
	err error

	name, namespace, uid, version []byte // alias the document
	ledgerOf                      string // the object that the ledger says it belongs to
	parents                       []byte // first byte of each parent's text; 0 if absent
	lists                         []list
}

// list is what was met under one `each`: a count and a name for every element, in the same order.
type list struct {
	counts, names []member
}

type member struct {
	workload.Field
	pointer string
	index   int
}

// see takes one match of the walk.
func (s *sighting) see(i int, m path.Match) {
	e := s.pr.kinds[i]
	switch e.role {
	case roleSlot:
		s.field(s.pr.slots[e.index], m)
		return
	case roleParent:
		if m.Exists() {
			s.parents[e.index] = m.Raw[0]
		}
		return
	case roleCount:
		s.lists[e.index].counts = append(s.lists[e.index].counts, s.member(m))
		return
	case roleNamed:
		s.lists[e.index].names = append(s.lists[e.index].names, s.member(m))
		return
	}
	if !m.Exists() || m.Type() == path.Null {
		return
	}
	if err := s.meta(e, m); err != nil && s.err == nil {
		s.err = err
	}
}

// meta takes a value of .metadata, or the template.
func (s *sighting) meta(e extract, m path.Match) (err error) {
	switch e.role {
	case roleName:
		s.name, err = text(m)
	case roleNamespace:
		s.namespace, err = text(m)
	case roleUID:
		s.uid, err = text(m)
	case roleResourceVersion:
		s.version, err = text(m)
	case roleGeneration:
		s.obj.Generation, err = m.Value().Int64()
	case roleCreated:
		s.obj.Created, err = seconds(m)
	case roleDeleting:
		s.obj.Deleting = true
	case roleLabels:
		s.obj.Labels = s.pairs(m.Raw)
	case roleOwners:
		s.obj.Owner = s.controller(m.Raw)
	case roleLedger:
		s.ledger(m)
	case roleAnnotation:
		var value []byte
		value, err = text(m)
		s.obj.Annotations = append(s.obj.Annotations, workload.Pair{Key: s.pr.match[e.index], Value: s.in.Bytes(value)})
	case roleTemplate:
		s.obj.TemplateHash = xxhash.Sum64(m.Raw)
	}
	return err
}

// text is a decoded JSON string; it aliases the document where it has no escapes.
func text(m path.Match) ([]byte, error) {
	if n := len(m.Raw); n >= 2 && m.Raw[0] == '"' && bytes.IndexByte(m.Raw, '\\') < 0 {
		return m.Raw[1 : n-1], nil
	}
	s, err := m.Value().Text()
	return []byte(s), err
}

func seconds(m path.Match) (int64, error) {
	value, err := text(m)
	if err != nil {
		return 0, err
	}
	t, err := time.Parse(time.RFC3339, string(value))
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", m.Path(), err)
	}
	return t.Unix(), nil
}

func (s *sighting) pairs(raw []byte) workload.Pairs {
	labels := gjson.ParseBytes(raw)
	n := 0
	labels.ForEach(func(_, _ gjson.Result) bool { n++; return true })
	pairs := make(workload.Pairs, 0, n)
	sorted := true
	labels.ForEach(func(k, v gjson.Result) bool {
		sorted = sorted && (len(pairs) == 0 || pairs[len(pairs)-1].Key < k.Str)
		pairs = append(pairs, workload.Pair{Key: s.in.String(k.Str), Value: s.in.String(v.Str)})
		return true
	})
	if !sorted {
		return sortedPairs(pairs)
	}
	return pairs
}

// controller is the owner reference that has controller: true.
func (s *sighting) controller(raw []byte) *workload.Owner {
	var owner *workload.Owner
	gjson.ParseBytes(raw).ForEach(func(_, ref gjson.Result) bool {
		if ref.Get("controller").Type != gjson.True {
			return true
		}
		gv, err := schema.ParseGroupVersion(ref.Get("apiVersion").Str)
		if err != nil {
			return true
		}
		owner = &workload.Owner{Name: s.in.String(ref.Get("name").Str)}
		owner.Group, owner.Kind = s.in.String(gv.Group), s.in.String(ref.Get("kind").Str)
		return false
	})
	return owner
}

// ledger keeps the ledger, or why it cannot be read.
func (s *sighting) ledger(m path.Match) {
	l, of, err := readLedger(m)
	if err != nil {
		s.obj.LedgerError = err.Error()
		return
	}
	if len(l) > 0 {
		s.obj.Ledger, s.ledgerOf = l, of
	}
}

func readLedger(m path.Match) (l workload.Ledger, of string, err error) {
	value, err := text(m)
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

// field keeps the value of a slot; of several matches the first that exists.
func (s *sighting) field(slot *slot, m path.Match) {
	f := &s.obj.Fields[slot.index]
	if f.Exists() {
		return
	}
	*f = s.measure(m)
	if !f.Exists() {
		return
	}
	switch slot.mode {
	case modeValue:
		f.Raw = s.raw(m.Raw)
	case modePresence:
		f.Raw = "1"
	case modeCount:
		f.Raw = countMembers(m)
	}
}

// measure fills in Depth and Sole, and a Raw that only says whether there is a value. An explicit null is none.
func (s *sighting) measure(m path.Match) workload.Field {
	if m.Type() == path.Null {
		return workload.Field{Depth: small(max(m.Depth-1, 0))}
	}
	f := workload.Field{Depth: small(m.Depth), Sole: small(m.Sole)}
	if m.Exists() {
		f.Raw = "1"
	}
	return f
}

func (s *sighting) member(m path.Match) member {
	f := s.measure(m)
	if f.Exists() {
		f.Raw = s.raw(m.Raw)
	}
	return member{Field: f, pointer: s.in.String(string(m.Pointer())), index: m.Element()}
}

func (s *sighting) raw(b []byte) string {
	if len(b) <= internedRaw {
		return s.in.Bytes(b)
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

// identify copies the four strings that are an object's own into one allocation; the namespace is shared.
func (s *sighting) identify() {
	n, u := len(s.name), len(s.name)+len(s.uid)
	own := string(append(append(append(make([]byte, 0, u+len(s.version)), s.name...), s.uid...), s.version...))
	s.obj.Name, s.obj.UID, s.obj.ResourceVersion = own[:n], own[n:u], own[u:]
	s.obj.Namespace = s.in.Bytes(s.namespace)
	if len(s.obj.Annotations) > 1 {
		s.obj.Annotations = sortedPairs(s.obj.Annotations)
	}
}

// settleDepths finds out, for written fields that are absent, whether the containers that exist on the way can hold them.
func (s *sighting) settleDepths() {
	for _, slot := range s.pr.slots {
		f := &s.obj.Fields[slot.index]
		if !slot.written || f.Exists() {
			continue
		}
		for level := int(f.Depth); level > 0; level-- {
			first := s.parents[slot.parents[level-1].id]
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

// pairElements joins the counts and names of each list. An element without a name, or with a name that another element
// of the list has too, could not be found again and is left out.
func (s *sighting) pairElements(raw []byte) error {
	for i, l := range s.lists {
		first := len(s.obj.Elements)
		for k, count := range l.counts {
			name, err := path.NewValue(l.names[k].Raw, l.names[k].pointer).Text()
			if err != nil || name == "" || isRepeated(l.names, k) {
				continue
			}
			if !count.Exists() && s.pr.each[i].relative > 1 {
				if count.Field, err = fieldAt(raw, count.pointer); err != nil {
					return err
				}
			}
			s.obj.Elements = append(s.obj.Elements, workload.Element{
				Component: uint8(s.pr.each[i].component), Index: uint16(count.index), Name: s.in.String(name),
				Pointer: count.pointer, NamePointer: l.names[k].pointer, Field: count.Field,
			})
		}
		if first == 0 && len(s.obj.Elements) > 0 {
			s.obj.Elements = append(make([]workload.Element, 0, len(s.obj.Elements)), s.obj.Elements...)
		}
	}
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

// readUnlisted reads the fields that the ledger lists but the adapter no longer knows (it was edited meanwhile), so that
// they too are given back. They come after the adapter's own fields, in the order of the ledger.
func (a *Adapter) readUnlisted(raw []byte, obj *workload.Object) error {
	for i := range obj.Ledger {
		if a.locate(obj, &obj.Ledger[i]).kind != siteUnlisted {
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
