package workload

import (
	"encoding/json"
	"fmt"
	"unsafe"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/engine/path/rawjson"
)

// Patched returns an object after a patch, but not after the patch that follows it. The patch is a merge patch unless its type is JSON
// patch. The object must be valid JSON. A JSON patch with a failed test, and a patch that is not JSON, are errors.
func Patched(raw []byte, p *Patch) ([]byte, error) {
	if p.Subresource == "scale" {
		return scaled(raw, p)
	}
	if p.Type == types.JSONPatchType {
		ops, err := jsonpatch.DecodePatch(p.Body)
		if err != nil {
			return nil, err
		}
		return ops.Apply(raw)
	}
	if !rawjson.ValidBytes(p.Body) {
		return nil, fmt.Errorf("the merge patch is not JSON: %.100s", p.Body)
	}
	return Merged(raw, p.Body), nil
}

// scaled returns an object after a write through /scale.
func scaled(raw []byte, p *Patch) ([]byte, error) {
	var scale struct {
		Spec struct {
			Replicas int64 `json:"replicas"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(p.Body, &scale); err != nil {
		return nil, err
	}
	var edit any
	for _, pointer := range p.Counts {
		edit = SetAt(edit, pointer.Tokens(), scale.Spec.Replicas)
	}
	patch, err := json.Marshal(edit)
	if err != nil {
		return nil, err
	}
	return Merged(raw, patch), nil
}

// SetAt sets a field of an object and creates missing parent objects. It changes the given object and returns it.
func SetAt(obj any, tokens []string, value any) any {
	if len(tokens) == 0 {
		return value
	}
	fields, ok := obj.(map[string]any)
	if !ok {
		fields = map[string]any{}
	}
	fields[tokens[0]] = SetAt(fields[tokens[0]], tokens[1:], value)
	return fields
}

// view reads bytes as a text without a copy.
func view(raw []byte) string { return unsafe.String(unsafe.SliceData(raw), len(raw)) }

// Merged returns a document after a merge patch of RFC 7396. A simulation of thousands of targets spends most of its time
// here, so the parts that the patch does not name are copied as text and are not decoded.
func Merged(raw, patch []byte) []byte {
	return appendMerged(make([]byte, 0, len(raw)+len(patch)), rawjson.Parse(view(raw)), rawjson.Parse(view(patch)))
}

func appendMerged(out []byte, doc, patch rawjson.Value) []byte {
	if !patch.IsObject() {
		return append(out, patch.Raw...)
	}
	fields := map[string]rawjson.Value{} // the fields of the patch that are still to be merged
	patch.ForEach(func(key, value rawjson.Value) bool {
		fields[key.Str] = value
		return true
	})
	out = append(out, '{')
	empty := len(out)
	name := func(key rawjson.Value) {
		if len(out) > empty {
			out = append(out, ',')
		}
		out = append(append(out, key.Raw...), ':')
	}
	if doc.IsObject() {
		doc.ForEach(func(key, value rawjson.Value) bool {
			edit, edited := fields[key.Str]
			delete(fields, key.Str)
			switch {
			case !edited:
				name(key)
				out = append(out, value.Raw...)
			case edit.Type != rawjson.Null:
				name(key)
				out = appendMerged(out, value, edit)
			}
			return true
		})
	}
	patch.ForEach(func(key, value rawjson.Value) bool {
		if _, missing := fields[key.Str]; missing && value.Type != rawjson.Null {
			name(key)
			out = appendMerged(out, rawjson.Value{}, value)
		}
		return true
	})
	return append(out, '}')
}
