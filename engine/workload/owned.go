package workload

import (
	"strings"

	"github.com/tidwall/gjson"
)

// OwnsField reports whether a FieldsV1 set has the field at a JSON pointer. A field k is the key "f:k" there. Elements of
// lists are named by their keys, not by their index: a list on the way counts as owned where it stands itself.
func OwnsField(fields []byte, pointer string) bool {
	cur := gjson.ParseBytes(fields)
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		var next gjson.Result
		cur.ForEach(func(k, v gjson.Result) bool {
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
func ownsElements(set gjson.Result) bool {
	whole := true
	elements := false
	set.ForEach(func(k, _ gjson.Result) bool {
		whole = false
		elements = elements || strings.HasPrefix(k.String(), "k:") || strings.HasPrefix(k.String(), "v:") || strings.HasPrefix(k.String(), "i:")
		return !elements
	})
	return whole || elements
}
