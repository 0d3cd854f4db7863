package reconcile

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// claimed is a field that the template does not decide.
type claimed struct {
	pointer path.Pointer
	// element is the name of the list element that the pointer leads through; empty: the pointer leads through no list.
	element string
}

// manifest returns a template in the form in which its owner applies it. Claimed fields get the live object's value, so
// applying the template neither changes them nor gives up their ownership. live is nil for a missing object.
func manifest(t *policy.Template, owner *world.Policy, live *unstructured.Unstructured, claims []claimed) (*unstructured.Unstructured,
	error) {
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(t.Manifest); err != nil {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	unstructured.RemoveNestedField(obj.Object, "metadata", "annotations", v1alpha1.AnnotationLedger)
	yes := true
	obj.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: owner.Kind.Name, Name: owner.ID.Name, UID: owner.Object.GetUID(), Controller: &yes,
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

// sameTemplate reports whether two templates ask for the same object with the same fields.
func sameTemplate(a, b *policy.Template) bool {
	return a == b || a != nil && b != nil && a.Ref() == b.Ref() && bytes.Equal(a.Manifest, b.Manifest)
}

// visible returns a fingerprint of the parts of a watched object that a template can set: while it is the same, none of
// these parts has changed. The status is left out, and so are labels and annotations of foreign writers. For a kind
// without generations, and for a template that sets other metadata, every version has its own fingerprint.
func visible(obj *workload.Object, t *policy.Template) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d %t", obj.UID, obj.Generation, obj.Deleting)
	if obj.Generation == 0 || t.Opaque {
		fmt.Fprintf(&b, " %s", obj.ResourceVersion)
	}
	if obj.OwnerReference != nil {
		fmt.Fprintf(&b, " %s %s", obj.OwnerReference.GroupKind, obj.OwnerReference.Name)
	}
	for _, set := range []struct {
		keys  []string
		pairs workload.Pairs
	}{{t.Labels, obj.Labels}, {t.Annotations, obj.Annotations}} {
		for _, key := range set.keys {
			value, ok := set.pairs.Lookup(key)
			fmt.Fprintf(&b, " %t%q", ok, value)
		}
	}
	return b.String()
}

// answerOf returns an applied template in the API server's spelling, as far as the object shows it. Labels and
// annotations are spelled as they were sent, because foreign writers may have added others. Claimed fields have the
// template's value.
func answerOf(got, sent *unstructured.Unstructured, t *policy.Template, claims []claimed) map[string]any {
	answer := runtime.DeepCopyJSON(got.Object)
	plain := &unstructured.Unstructured{}
	if err := plain.UnmarshalJSON(t.Manifest); err == nil { // this cannot fail: the manifest was parsed before
		for _, c := range claims {
			keepLive(answer, plain.Object, c.pointer.Tokens(), c.element)
		}
	}
	delete(answer, "status")
	metadata := map[string]any{}
	for _, key := range []string{"labels", "annotations"} {
		if m, ok, err := unstructured.NestedMap(sent.Object, "metadata", key); ok && err == nil {
			metadata[key] = m
		}
	}
	if owners, ok, err := unstructured.NestedSlice(got.Object, "metadata", "ownerReferences"); ok && err == nil {
		metadata["ownerReferences"] = owners
	}
	answer["metadata"] = metadata
	return answer
}

// isKept reports whether the live object still has everything that it had when the template was applied, except for
// claimed fields.
func (a *agreed) isKept(live *unstructured.Unstructured, claims []claimed) bool {
	if a.answer == nil {
		return false
	}
	answer := runtime.DeepCopyJSON(a.answer)
	for _, c := range claims {
		keepLive(answer, live.Object, c.pointer.Tokens(), c.element)
	}
	return covers(live.Object, answer)
}

// keepLive sets a field of the template to the value of the live object. Fields that the template omits stay omitted.
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

// calls reports whether a list element has a name, in any of its key fields. A name of several fields has its parts
// between slashes.
func calls(element any, name string) bool {
	if name == "" {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if !has(element, part) && !has(element, name) {
			return false
		}
	}
	return true
}

// has reports whether a text is among the values of an object, at any depth.
func has(element any, text string) bool {
	m, _ := element.(map[string]any)
	for _, v := range m {
		if v == text || has(v, text) {
			return true
		}
	}
	return false
}

// covers reports whether the live object has every value of the template.
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
