package projection

import (
	"slices"
	"strconv"
	"strings"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// writers are the managed fields of an object, grouped by what they prove. A manager owns the fields of its last write,
// until another manager writes a different value. The ledger proves that Flyball wrote a field. So if another manager
// owns this field, it wrote the field after Flyball.
type writers struct {
	// places are the places found so far, by pointer.
	places map[path.Pointer]*ownedPlace
}

// ownedPlace is the value of the document, and its managed fields, at one pointer.
type ownedPlace struct {
	value rawjson.Value
	// ours are Flyball's fields. others are the fields of managers that prove a change. unsure are the fields of managers
	// that prove nothing, because the author or the time of the value is unknown.
	ours, others, unsure claims
	// members has the members of an object, by key. elements has the elements of a list. They are read when a place inside
	// is looked up.
	members  map[string]rawjson.Value
	elements []rawjson.Value
	isRead   bool
	// isAlone has the result of writers.areAlone.
	isAlone *bool
}

// claims are the managed fields of some managers at a place.
type claims struct {
	// nodes are the fields of the place itself, one for each manager. inside has, for each node, the fields inside the
	// place, by key.
	nodes  []rawjson.Value
	inside []map[string]rawjson.Value
	// whole is true if one of the managers has written a whole container around the place.
	whole bool
}

// any reports whether the managers have written anything in the place.
func (c *claims) any() bool { return len(c.nodes) > 0 || c.whole }

// MaxAuthors is the number of ledger entries for which managed fields are read. No real ledger has more entries. The
// authors of a larger ledger are unknown.
const MaxAuthors = 256

// unsureManagers are the managers whose fields do not prove a change by an owner: the names under which an API server gathers unknown
// managers, and Argo CD, which repeats live values.
var unsureManagers = map[string]bool{"ancient-changes": true, "before-first-apply": true, "": true, workload.ArgoCD: true}

// readWriters reads the managed fields of an object on which the ledger was begun. It returns false if they prove
// nothing: they are empty, or lack Flyball's write of the ledger.
func readWriters(raw []byte) (w writers, ok bool) {
	list := rawjson.GetBytes(raw, "metadata.managedFields").Array()
	version := ""
	for _, m := range list {
		if m.Get("manager").Str == workload.FieldManager && ownsLedger(m.Get("fieldsV1")) {
			version = m.Get("apiVersion").Str
		}
	}
	if version == "" {
		return w, false
	}
	root := ownedPlace{value: rawjson.ParseBytes(raw)}
	for _, m := range list {
		name, fields := m.Get("manager").Str, m.Get("fieldsV1")
		switch {
		case strings.HasPrefix(name, workload.FieldManager) && m.Get("apiVersion").Str == version:
			root.ours.nodes = append(root.ours.nodes, fields)
		case unsureManagers[name], m.Get("apiVersion").Str != version, ownsLedger(fields):
			root.unsure.nodes = append(root.unsure.nodes, fields) // a manager that also applies the ledger repeats old values
		default:
			root.others.nodes = append(root.others.nodes, fields)
		}
	}
	return writers{places: map[path.Pointer]*ownedPlace{"": &root}}, true
}

func ownsLedger(fields rawjson.Value) bool {
	for _, key := range []string{"f:metadata", "f:annotations", "f:" + v1alpha1.AnnotationLedger} {
		if fields = memberOf(fields, key); !fields.Exists() {
			return false
		}
	}
	return true
}

// memberOf returns the member of an object with the literal key.
func memberOf(object rawjson.Value, key string) (found rawjson.Value) {
	if !object.IsObject() {
		return found
	}
	object.ForEach(func(k, v rawjson.Value) bool {
		if k.Str == key {
			found = v
		}
		return !found.Exists()
	})
	return found
}

// author returns the known facts about the author of an entry. pointer is the place of the entry's field in the
// document.
func (w *writers) author(e *workload.Entry, pointer path.Pointer) workload.Author {
	var a workload.Author
	if isScalar(e.Set) {
		leaf := w.at(pointer)
		a.Other = len(leaf.others.nodes) > 0
		a.Known = a.Other || len(leaf.ours.nodes) > 0
	}
	if e.Made == 0 {
		return a
	}
	// A manager that has not written a whole container has not written a whole outer container either.
	in, isKnown := pointer, false
	for depth := len(pointer.Tokens()) - 1; depth >= int(e.Made); depth-- {
		member := in.Last()
		if in = in.Parent(); !w.areAlone(in, member, isKnown) {
			break
		}
		a.Alone, isKnown = Small(depth), true
	}
	return a
}

// at returns the place at a pointer. It stores all places on the way for later calls, because most pointers of entries
// begin alike.
func (w *writers) at(pointer path.Pointer) *ownedPlace {
	if p, ok := w.places[pointer]; ok {
		return p
	}
	around, token := w.at(pointer.Parent()), pointer.Last()
	around.read()
	isRoot := pointer.Parent() == ""
	p := &ownedPlace{value: around.members[token]}
	index, err := strconv.Atoi(token)
	isElement := err == nil && index >= 0 && index < len(around.elements)
	if isElement {
		p.value = around.elements[index]
	}
	for to, from := range map[*claims]*claims{&p.ours: &around.ours, &p.others: &around.others, &p.unsure: &around.unsure} {
		from.read()
		to.whole = from.whole || !isRoot && slices.ContainsFunc(from.nodes, isEmpty)
		for i, node := range from.nodes {
			next := from.inside[i]["f:"+token]
			if isElement {
				next = elementOf(node, index, p)
			}
			if next.Exists() {
				to.nodes = append(to.nodes, next)
			}
		}
	}
	w.places[pointer] = p
	return p
}

// read reads the values inside a place of the document.
func (p *ownedPlace) read() {
	switch {
	case p.isRead:
	case p.value.IsArray():
		p.elements = p.value.Array()
	default:
		p.members = byKey(p.value)
	}
	p.isRead = true
}

// read reads the managers' fields inside the place.
func (c *claims) read() {
	for i := len(c.inside); i < len(c.nodes); i++ {
		c.inside = append(c.inside, byKey(c.nodes[i]))
	}
}

// byKey returns an object's members by key; of repeated keys the first counts.
func byKey(object rawjson.Value) map[string]rawjson.Value {
	all := map[string]rawjson.Value{}
	if object.IsObject() {
		object.ForEach(func(key, value rawjson.Value) bool {
			if _, again := all[key.Str]; !again {
				all[key.Str] = value
			}
			return true
		})
	}
	return all
}

// areAlone reports whether Flyball has written everything in a container, and no other manager has written anything in
// it. If isKnown is true, the member named known counts as written by Flyball.
func (w *writers) areAlone(container path.Pointer, known string, isKnown bool) bool {
	p := w.at(container)
	if p.isAlone == nil {
		alone := !p.others.any() && !p.unsure.any() && (p.ours.whole || ownEverything(p.ours.nodes, p.value, known, isKnown, maxOwnedDepth))
		p.isAlone = &alone
	}
	return *p.isAlone
}

// maxOwnedDepth is the depth to which containers are searched. No real object nests deeper.
const maxOwnedDepth = 64

// ownEverything reports whether the managed fields of one place cover everything in it, down to a depth. A field that no
// manager owns may be older than Flyball's write, because managed fields can be removed. If isKnown is true, the member
// named known is not checked.
func ownEverything(nodes []rawjson.Value, value rawjson.Value, known string, isKnown bool, depth int) bool {
	if len(nodes) == 0 || !value.IsObject() || slices.ContainsFunc(nodes, isEmpty) {
		return len(nodes) > 0
	}
	if depth == 0 {
		return false
	}
	inside := map[string][]rawjson.Value{}
	for _, node := range nodes {
		node.ForEach(func(key, below rawjson.Value) bool {
			inside[key.Str] = append(inside[key.Str], below)
			return true
		})
	}
	all := true
	value.ForEach(func(key, below rawjson.Value) bool {
		all = isKnown && key.Str == known || ownEverything(inside["f:"+key.Str], below, "", false, depth-1)
		return all
	})
	return all
}

// isScalar reports whether a JSON value is no container. The owner of such a value owns all of it.
func isScalar(raw string) bool {
	return raw != "" && raw[0] != '{' && raw[0] != '['
}

func isEmpty(object rawjson.Value) bool {
	empty := object.IsObject()
	object.ForEach(func(_, _ rawjson.Value) bool { empty = false; return false })
	return empty
}

// elementOf returns the managed fields of one element of a list, which is named by its keys or by its index.
func elementOf(fields rawjson.Value, index int, element *ownedPlace) (found rawjson.Value) {
	element.read()
	fields.ForEach(func(k, v rawjson.Value) bool {
		switch {
		case k.Str == "i:"+strconv.Itoa(index):
			found = v
		case strings.HasPrefix(k.Str, "k:"):
			fits := true
			rawjson.Parse(k.Str[2:]).ForEach(func(key, want rawjson.Value) bool {
				fits = fits && path.Same(element.members[key.Str].Raw, want.Raw)
				return fits
			})
			if fits {
				found = v
			}
		}
		return !found.Exists()
	})
	return found
}
