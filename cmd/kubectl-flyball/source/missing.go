package source

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// RefOf returns the reference of an object given as JSON.
func RefOf(raw []byte) workload.Ref {
	root := rawjson.ParseBytes(raw)
	gv, _ := schema.ParseGroupVersion(root.Get("apiVersion").Str) // cannot fail: the API server or the reader has checked the text
	return workload.Ref{GroupKind: schema.GroupKind{Group: gv.Group, Kind: root.Get("kind").Str},
		Namespace: root.Get("metadata.namespace").Str, Name: root.Get("metadata.name").Str}
}

// Missing returns the error for an object that does not exist. The error suggests the nearest name. If objects of the
// kind may not be read, Missing returns a MissingRights.
func (w *World) Missing(ref workload.Ref) error {
	if hidden := w.hidden(ref.GroupKind); len(hidden) > 0 {
		return hidden
	}
	return fmt.Errorf("there is no %s%s", ref, w.Near(ref))
}

// hidden returns the missing rights to read objects of a kind.
func (w *World) hidden(gk schema.GroupKind) (hidden MissingRights) {
	for _, k := range w.Kinds {
		for _, r := range w.Unseen {
			if k.GroupKind == gk && k.Resource.GroupResource() == r.Resource {
				hidden.Add(r)
			}
		}
	}
	return hidden
}

// Near returns a hint with the name that is nearest to the name of a missing object. It returns "" if no name is near.
func (w *World) Near(ref workload.Ref) string {
	var names []string
	for _, raw := range w.Objects {
		have := RefOf(raw)
		switch {
		case have.GroupKind != ref.GroupKind:
		case have.Namespace == ref.Namespace:
			names = append(names, have.Name)
		case have.Name == ref.Name:
			return fmt.Sprintf("; there is one in namespace %s: add -n %s", have.Namespace, have.Namespace)
		}
	}
	return workload.Meant(ref.Name, names)
}
