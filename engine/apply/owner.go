package apply

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// OtherWriter returns the manager that last wrote one of the fields of an object, by managedFields; Flyball itself does
// not count. It reads the object's metadata, and is called only for a field that keeps being changed. The result is
// never empty.
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
			if workload.OwnsField(e.FieldsV1.GetRawBytes(), p) {
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
