package adapter

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"flyball.dev/flyball/engine/adapter/ledger"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// newTrackingServer returns a server that keeps managed fields and fills in defaults.
func newTrackingServer(doc []byte, defaults map[string]string) *server {
	s := &server{doc: must(jsonpatch.MergePatch(doc, []byte(`{"metadata":{"uid":"1"}}`))), version: 7, scalePath: "/spec/replicas",
		tracked: map[string]map[string]bool{}, defaults: defaults}
	s.written("owner", []byte(`{}`))
	return s
}

// written fills in defaults, and records the manager as the author of all changes since the document before.
func (s *server) written(manager string, before []byte) {
	if s.tracked != nil {
		for range 2 { // one default may ask for another
			for _, pointer := range slices.Sorted(maps.Keys(s.defaults)) {
				if at := s.value(pointer); strings.HasPrefix(at, "{") {
					filled := must(jsonpatch.MergePatch([]byte(s.defaults[pointer]), []byte(at)))
					s.doc = must(json.Marshal(withValue(decoded(s.doc), path.Pointer(pointer).Tokens(), string(filled))))
				}
			}
		}
		was, is := leaves(before), leaves(s.doc)
		for pointer, value := range is {
			if path.Same(was[pointer], value) {
				continue
			}
			for _, theirs := range s.tracked {
				delete(theirs, pointer)
			}
			if s.tracked[manager] == nil {
				s.tracked[manager] = map[string]bool{}
			}
			s.tracked[manager][pointer] = true
		}
		for _, theirs := range s.tracked {
			maps.DeleteFunc(theirs, func(pointer string, _ bool) bool { return is[pointer] == "" })
		}
	}
	s.stamp()
}

func decoded(doc []byte) (v any) {
	if err := json.Unmarshal(doc, &v); err != nil {
		panic(err)
	}
	return v
}

// leaves returns the values of a document that are no objects, by pointer, without the metadata that the server sets.
func leaves(doc []byte) map[string]string {
	all := map[string]string{}
	var add func(pointer path.Pointer, v any)
	add = func(pointer path.Pointer, v any) {
		members, ok := v.(map[string]any)
		if !ok {
			all[string(pointer)] = string(must(json.Marshal(v)))
			return
		}
		for key, member := range members {
			if key != "managedFields" && key != "resourceVersion" && key != "uid" {
				add(pointer.Append(key), member)
			}
		}
	}
	add("", decoded(doc))
	return all
}

// managedFields are the managed fields of the document.
func (s *server) managedFields() []any {
	var all []any
	for _, manager := range slices.Sorted(maps.Keys(s.tracked)) {
		fields := map[string]any{}
		for pointer := range s.tracked[manager] {
			at := fields
			for _, token := range path.Pointer(pointer).Tokens() {
				next, ok := at["f:"+token].(map[string]any)
				if !ok {
					next = map[string]any{}
					at["f:"+token] = next
				}
				at = next
			}
		}
		all = append(all, map[string]any{"manager": manager, "apiVersion": "v1", "fieldsV1": fields})
	}
	return all
}

// madeParent returns the pointer of the outermost parent that was made for an entry; "" if no parent was made.
func madeParent(e workload.Entry) string {
	if e.Made == 0 {
		return ""
	}
	var parent path.Pointer
	for _, token := range path.Pointer(e.Pointer).Tokens()[:e.Made] {
		parent = parent.Append(token)
	}
	return string(parent)
}

// isHollow reports whether a value is absent, or has only objects in it.
func isHollow(raw string) bool {
	var fields map[string]json.RawMessage
	if raw == "" {
		return true
	}
	if json.Unmarshal([]byte(raw), &fields) != nil {
		return false
	}
	for _, v := range fields {
		if !isHollow(string(v)) {
			return false
		}
	}
	return true
}

// holds reports whether the ledger has an entry with the same values whose field still has the set value.
func holds(v *ledger.View, e workload.Entry) bool {
	return slices.ContainsFunc(v.Entries, func(l ledger.TrackedField) bool {
		return l.State == ledger.FieldSet && l.Entry.Pointer == e.Pointer && l.Entry.Was == e.Was && l.Entry.WasNull == e.WasNull &&
			l.Entry.Set == e.Set
	})
}

// dropMade removes from the shadow the container that Flyball made for an entry. It keeps the container if the owner has
// fields in it (owners has the pointers of these fields), or if the ledger has an entry with an original in it. A server
// without managed fields knows no other fields of the owner.
func (x *trial) dropMade(e workload.Entry, owners []string) {
	parent := madeParent(e)
	if parent == "" || slices.ContainsFunc(owners, func(p string) bool { return strings.HasPrefix(p, parent+"/") }) ||
		slices.ContainsFunc(x.object(x.real).Ledger, func(o workload.Entry) bool {
			return o.Original() != "" &&
				strings.HasPrefix(o.Pointer, parent+"/")
		}) {
		return
	}
	if x.w.defaults != nil || isHollow(x.shadow.value(parent)) {
		x.shadow.set(parent, "")
	}
}

// dropUndone removes from the shadow a container that Flyball made, once the owner has removed the last field of his own
// in it: then nothing proves that he ever set one.
func (x *trial) dropUndone(pointer, value string) {
	if value != "" {
		return
	}
	for _, e := range x.object(x.real).Ledger {
		if strings.HasPrefix(pointer, madeParent(e)+"/") {
			x.dropMade(e, slices.Collect(maps.Keys(x.real.tracked["owner"])))
		}
	}
}
