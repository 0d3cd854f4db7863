package source

import (
	"fmt"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/spelling"
	"flyball.dev/flyball/engine/workload"
)

// RefOf names an object that is given as JSON.
func RefOf(raw []byte) workload.Ref {
	root := gjson.ParseBytes(raw)
	gv, _ := schema.ParseGroupVersion(root.Get("apiVersion").Str) // the API server and the reader have checked it
	return workload.Ref{GroupKind: schema.GroupKind{Group: gv.Group, Kind: root.Get("kind").Str},
		Namespace: root.Get("metadata.namespace").Str, Name: root.Get("metadata.name").Str}
}

// Missing is the error about an object that is not there, with which one was probably meant; a MissingRights where objects of its kind may not be read.
func (w *World) Missing(ref workload.Ref) error {
	if hidden := w.hidden(ref.GroupKind); len(hidden) > 0 {
		return hidden
	}
	return fmt.Errorf("there is no %s%s", ref, w.Near(ref))
}

// hidden are the rights without which objects of a kind are not seen.
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

// Near says which object was probably meant by one that is not there; empty: none comes near.
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
	return spelling.Meant(ref.Name, names)
}
