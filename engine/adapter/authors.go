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
	// ours are the fields of Flyball; others those of managers whose word counts; unsure those of which it is not known who wrote
	// them and when.
	ours, others, unsure []gjson.Result
}

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
	for _, m := range list {
		name, fields := m.Get("manager").Str, m.Get("fieldsV1")
		switch {
		case strings.HasPrefix(name, workload.FieldManager) && m.Get("apiVersion").Str == version:
			w.ours = append(w.ours, fields)
		case unnamedManagers[name], m.Get("apiVersion").Str != version, ownsLedger(fields):
			w.unsure = append(w.unsure, fields) // who applies the ledger, too, repeats what was there
		default:
			w.others = append(w.others, fields)
		}
	}
	return w, true
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
func (w *writers) author(raw []byte, e *workload.Entry, pointer string) workload.Author {
	var a workload.Author
	tokens := path.Pointer(pointer).Tokens()
	doc := gjson.ParseBytes(raw)
	if isScalar(e.Set) {
		a.Other = anyOwns(w.others, doc, tokens, ownsLeaf)
		a.Known = a.Other || anyOwns(w.ours, doc, tokens, ownsLeaf)
	}
	if e.Made == 0 {
		return a
	}
	for depth := int(e.Made); depth < len(tokens); depth++ {
		in := tokens[:depth]
		if w.ownAll(doc, in) && !anyOwns(w.others, doc, in, ownsIn) && !anyOwns(w.unsure, doc, in, ownsIn) {
			a.Alone = small(depth)
			break
		}
	}
	return a
}

// ownAll says whether Flyball owns everything in a container. What nobody owns is not known to have come with its write: somebody may have
// removed managed fields.
func (w *writers) ownAll(doc gjson.Result, tokens []string) bool {
	at := doc
	for _, token := range tokens {
		at = memberOf(at, token)
	}
	if !at.IsObject() || isEmpty(at) {
		return anyOwns(w.ours, doc, tokens, ownsIn)
	}
	all := true
	at.ForEach(func(key, _ gjson.Result) bool {
		all = w.ownAll(doc, append(slices.Clip(tokens), key.Str))
		return all
	})
	return all
}

// isScalar says whether a JSON text is a value whose owner is the owner of all of it.
func isScalar(raw string) bool {
	return raw != "" && raw[0] != '{' && raw[0] != '['
}

func anyOwns(managers []gjson.Result, doc gjson.Result, tokens []string, owns func(fields, doc gjson.Result, tokens []string) bool) bool {
	for _, fields := range managers {
		if owns(fields, doc, tokens) {
			return true
		}
	}
	return false
}

// ownsLeaf says whether the fields name the place itself, and not only something around it.
func ownsLeaf(fields, doc gjson.Result, tokens []string) bool {
	_, rest := follow(fields, doc, tokens)
	return len(rest) == 0
}

// ownsIn says whether the fields name anything in the place, or all that is around it.
func ownsIn(fields, doc gjson.Result, tokens []string) bool {
	node, rest := follow(fields, doc, tokens)
	return len(rest) == 0 || len(rest) < len(tokens) && isEmpty(node)
}

func isEmpty(object gjson.Result) bool {
	empty := object.IsObject()
	object.ForEach(func(_, _ gjson.Result) bool { empty = false; return false })
	return empty
}

// follow goes down into managed fields as far as they name the way. The document tells which element an index is.
func follow(fields, doc gjson.Result, tokens []string) (node gjson.Result, rest []string) {
	for i, token := range tokens {
		next := memberOf(fields, "f:"+token)
		value := memberOf(doc, token)
		if doc.IsArray() {
			index, _ := strconv.Atoi(token)
			if value = doc.Get(strconv.Itoa(index)); value.Exists() {
				next = elementOf(fields, index, value)
			}
		}
		if !next.Exists() {
			return fields, tokens[i:]
		}
		fields, doc = next, value
	}
	return fields, nil
}

// elementOf is what managed fields say of one element of a list: it is named by its keys or by its place.
func elementOf(fields gjson.Result, index int, element gjson.Result) (found gjson.Result) {
	fields.ForEach(func(k, v gjson.Result) bool {
		switch {
		case k.Str == "i:"+strconv.Itoa(index):
			found = v
		case strings.HasPrefix(k.Str, "k:"):
			fits := true
			gjson.Parse(k.Str[2:]).ForEach(func(key, want gjson.Result) bool {
				fits = fits && same(memberOf(element, key.Str).Raw, want.Raw)
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
