package apply

import (
	"context"
	"strings"

	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// OtherWriter returns the other latest owner of one of the fields of an object, by its managedFields. It reads the
// object's metadata, and is called only for a field that keeps being changed. The result is never empty.
func (w *Writer) OtherWriter(ctx context.Context, resource schema.GroupVersionResource, obj *workload.Object, pointers []string) string {
	const unknown = "an unknown writer"
	meta, err := w.client.Resource(resource).Namespace(obj.Namespace).Get(ctx, obj.Name, metav1.GetOptions{})
	if err != nil {
		return unknown
	}
	return otherManager(meta.ManagedFields, pointers, unknown)
}

func otherManager(entries []metav1.ManagedFieldsEntry, pointers []string, none string) string {
	name := none
	var latest metav1.Time
	for _, e := range entries {
		if e.Manager == FieldManager || e.FieldsV1 == nil || (name != none && !latest.Before(e.Time)) {
			continue
		}
		for _, p := range pointers {
			if ownsField(e.FieldsV1.GetRawBytes(), p) {
				name = e.Manager
				if e.Time != nil {
					latest = *e.Time
				}
				break
			}
		}
	}
	return name
}

// ownsField looks a JSON pointer up in a FieldsV1 set, where a field k is the key "f:k". Elements of lists are named by
// their keys there, not by their index: a list on the way counts as owned where it stands itself.
func ownsField(fields []byte, pointer string) bool {
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
