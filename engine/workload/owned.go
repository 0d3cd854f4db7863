package workload

import (
	"strings"

	"flyball.dev/flyball/engine/path/rawjson"
)

// OwnsField reports whether a FieldsV1 set has the field at a JSON pointer. The set has the key "f:name" for a field
// "name". It identifies elements of lists by their keys and not by their index. So a field in a list counts as owned if
// the set has any element of the list. A field in a value that the set has as a whole counts as owned too.
func OwnsField(fields []byte, pointer string) bool {
	cur := rawjson.ParseBytes(fields)
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		var next rawjson.Value
		cur.ForEach(func(k, v rawjson.Value) bool {
			if k.String() == "f:"+token {
				next = v
				return false
			}
			return true
		})
		if !next.Exists() {
			return ownsElements(cur)
		}
		cur = next
	}
	return true
}

// ownsElements reports whether a set stands for a whole value or for elements of a list.
func ownsElements(set rawjson.Value) bool {
	whole := true
	elements := false
	set.ForEach(func(k, _ rawjson.Value) bool {
		whole = false
		elements = elements || strings.HasPrefix(k.String(), "k:") || strings.HasPrefix(k.String(), "v:") || strings.HasPrefix(k.String(), "i:")
		return !elements
	})
	return whole || elements
}
