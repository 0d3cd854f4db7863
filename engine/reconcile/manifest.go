package reconcile

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/policy"
)

// claimed is a field that somebody else than the template decides.
type claimed struct {
	pointer path.Pointer
	// element is the name of the list element that the pointer goes through; empty: none.
	element string
}

// manifest is a template as it is to be applied for its owner. Fields that are claimed have the value that they have in
// the live object, so that applying changes nothing of them and does not let go of them either. live is nil for an object
// that does not exist.
func manifest(t *policy.Template, owner client.Object, live *unstructured.Unstructured, claims []claimed) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(t.Manifest); err != nil {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	unstructured.RemoveNestedField(obj.Object, "metadata", "annotations", v1alpha1.AnnotationLedger)
	yes := true
	obj.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "Trigger", Name: owner.GetName(), UID: owner.GetUID(), Controller: &yes,
	}})
	if live == nil {
		return obj, nil
	}
	obj.SetResourceVersion(live.GetResourceVersion())
	for _, c := range claims {
		keepLive(obj.Object, live.Object, c.pointer.Tokens(), c.element)
	}
	return obj, nil
}

// keepLive gives a field of the template the value of the live object. What the template does not speak of stays unspoken.
func keepLive(template, live any, tokens []string, element string) {
	switch t := template.(type) {
	case map[string]any:
		l, _ := live.(map[string]any)
		now, isLive := l[tokens[0]]
		inner, isSaid := t[tokens[0]]
		switch {
		case !isSaid:
		case len(tokens) > 1:
			keepLive(inner, now, tokens[1:], element)
		case isLive:
			t[tokens[0]] = now
		default:
			delete(t, tokens[0])
		}
	case []any:
		l, _ := live.([]any)
		i, err := strconv.Atoi(tokens[0])
		if err != nil || i >= len(l) || len(tokens) < 2 {
			return
		}
		for _, inner := range t {
			if calls(inner, element) {
				keepLive(inner, l[i], tokens[1:], element)
			}
		}
	}
}

// calls says whether a list element bears a name, whatever its key is called.
func calls(element any, name string) bool {
	m, _ := element.(map[string]any)
	for _, v := range m {
		if v == name {
			return name != ""
		}
	}
	return false
}

// covers says whether the live object has everything that the template says.
func covers(live, template any) bool {
	switch t := template.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return false
		}
		for key, v := range t {
			if !covers(l[key], v) {
				return false
			}
		}
		return true
	case []any:
		l, ok := live.([]any)
		return ok && slices.EqualFunc(l, t, covers)
	default:
		return reflect.DeepEqual(live, template)
	}
}
