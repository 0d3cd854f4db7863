package adapter

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// writers are the managed fields of an object, sorted by what they can say. A manager owns what its last write of a field has
// left; whoever writes another value takes the field from all others. So a field that somebody else owns was written by
// somebody else after Flyball's own write of it, which the ledger proves.
type writers struct {
	// places are those that were asked for, by pointer.
	places map[path.Pointer]*ownedPlace
}

// ownedPlace is what the document and managed fields have at one pointer.
type ownedPlace struct {
	value gjson.Result
	// ours is what the fields of Flyball say; others those of managers whose word counts; unsure those of which it is not known who wrote
	// them and when.
	ours, others, unsure claims
	// members are those of an object by key, elements those of a list. They are read when a place inside is asked for.
	members  map[string]gjson.Result
	elements []gjson.Result
	isRead   bool
	// isAlone has the answer of writers.areAlone.
	isAlone *bool
}

// claims are what the managed fields of some managers say of a place.
type claims struct {
	// nodes are the fields that name the place itself, and inside what they have in them, by key.
	nodes  []gjson.Result
	inside []map[string]gjson.Result
	// whole says that one of the managers has written all that is around it.
	whole bool
}

// any says whether the managers have written anything in the place.
func (c *claims) any() bool { return len(c.nodes) > 0 || c.whole }

// maxAuthors is how many entries of one ledger managed fields are read for. Nobody needs as many; of a ledger that somebody has
// filled with more, nothing is known.
const maxAuthors = 256

// unnamedManagers are the names under which an API server gathers what it does not know better.
var unnamedManagers = map[string]bool{"ancient-changes": true, "before-first-apply": true, "": true}

// readWriters reads the managed fields of an object on which the ledger was begun. It is false where they say nothing: there are none, or
// Flyball's write of the ledger is not among them.
func readWriters(raw []byte) (w writers, ok bool) {
	list := gjson.GetBytes(raw, "metadata.managedFields").Array()
	version := ""
	for _, m := range list {
		if m.Get("manager").Str == workload.FieldManager && ownsLedger(m.Get("fieldsV1")) {
			version = m.Get("apiVersion").Str
		}
	}
	if version == "" {
		return w, false
	}
	root := ownedPlace{value: gjson.ParseBytes(raw)}
	for _, m := range list {
		name, fields := m.Get("manager").Str, m.Get("fieldsV1")
		switch {
		case strings.HasPrefix(name, workload.FieldManager) && m.Get("apiVersion").Str == version:
			root.ours.nodes = append(root.ours.nodes, fields)
		case unnamedManagers[name], m.Get("apiVersion").Str != version, ownsLedger(fields):
			root.unsure.nodes = append(root.unsure.nodes, fields) // who applies the ledger, too, repeats what was there
		default:
			root.others.nodes = append(root.others.nodes, fields)
		}
	}
	return writers{places: map[path.Pointer]*ownedPlace{"": &root}}, true
}

func ownsLedger(fields gjson.Result) bool {
	for _, key := range []string{"f:metadata", "f:annotations", "f:" + v1alpha1.AnnotationLedger} {
		if fields = memberOf(fields, key); !fields.Exists() {
			return false
		}
	}
	return true
}

// memberOf is the member of an object under a key that is taken as it stands.
func memberOf(object gjson.Result, key string) (found gjson.Result) {
	if !object.IsObject() {
		return found
	}
	object.ForEach(func(k, v gjson.Result) bool {
		if k.Str == key {
			found = v
		}
		return !found.Exists()
	})
	return found
}

// author says what is known of the entry whose field is at a pointer of the document.
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
	// Whoever has not written all of a container has not written all of what is around it.
	in, isKnown := pointer, false
	for depth := len(pointer.Tokens()) - 1; depth >= int(e.Made); depth-- {
		member := in.Last()
		if in = in.Parent(); !w.areAlone(in, member, isKnown) {
			break
		}
		a.Alone, isKnown = small(depth), true
	}
	return a
}

// at finds a place. What it has met on the way is kept: entries share most of theirs.
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

// read reads what is in a place of the document.
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

// read reads what the managers have in the place.
func (c *claims) read() {
	for i := len(c.inside); i < len(c.nodes); i++ {
		c.inside = append(c.inside, byKey(c.nodes[i]))
	}
}

// byKey is an object's members under their keys; of repeated keys the first counts.
func byKey(object gjson.Result) map[string]gjson.Result {
	all := map[string]gjson.Result{}
	if object.IsObject() {
		object.ForEach(func(key, value gjson.Result) bool {
			if _, again := all[key.Str]; !again {
				all[key.Str] = value
			}
			return true
		})
	}
	return all
}

// areAlone says whether Flyball has written everything in a container, and nobody else anything. If isKnown is true, that is known of the member
// named known already.
func (w *writers) areAlone(container path.Pointer, known string, isKnown bool) bool {
	p := w.at(container)
	if p.isAlone == nil {
		alone := !p.others.any() && !p.unsure.any() && (p.ours.whole || ownEverything(p.ours.nodes, p.value, known, isKnown, maxOwnedDepth))
		p.isAlone = &alone
	}
	return *p.isAlone
}

// maxOwnedDepth is how deep containers are looked into. Nobody nests as deep.
const maxOwnedDepth = 64

// ownEverything says whether managed fields of one place name everything in it, down to a depth. What nobody owns is not known to have come with
// Flyball's write: somebody may have removed managed fields. One member is left out if it is known.
func ownEverything(nodes []gjson.Result, value gjson.Result, known string, isKnown bool, depth int) bool {
	if len(nodes) == 0 || !value.IsObject() || slices.ContainsFunc(nodes, isEmpty) {
		return len(nodes) > 0
	}
	if depth == 0 {
		return false
	}
	inside := map[string][]gjson.Result{}
	for _, node := range nodes {
		node.ForEach(func(key, below gjson.Result) bool {
			inside[key.Str] = append(inside[key.Str], below)
			return true
		})
	}
	all := true
	value.ForEach(func(key, below gjson.Result) bool {
		all = isKnown && key.Str == known || ownEverything(inside["f:"+key.Str], below, "", false, depth-1)
		return all
	})
	return all
}

// isScalar says whether a JSON text is a value whose owner is the owner of all of it.
func isScalar(raw string) bool {
	return raw != "" && raw[0] != '{' && raw[0] != '['
}

func isEmpty(object gjson.Result) bool {
	empty := object.IsObject()
	object.ForEach(func(_, _ gjson.Result) bool { empty = false; return false })
	return empty
}

// elementOf is what managed fields say of one element of a list: it is named by its keys or by its place.
func elementOf(fields gjson.Result, index int, element *ownedPlace) (found gjson.Result) {
	element.read()
	fields.ForEach(func(k, v gjson.Result) bool {
		switch {
		case k.Str == "i:"+strconv.Itoa(index):
			found = v
		case strings.HasPrefix(k.Str, "k:"):
			fits := true
			gjson.Parse(k.Str[2:]).ForEach(func(key, want gjson.Result) bool {
				fits = fits && same(element.members[key.Str].Raw, want.Raw)
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
