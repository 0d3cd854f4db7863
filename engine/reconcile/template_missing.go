package reconcile

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// TemplateEdits returns the edits that a TemplateKeeper will make on an existing object, and the edited object. Without edits, the
// object fits its template, or belongs to a different owner. Fields that are no longer in a template are not part of
// the edits, because only the API server knows whether they will be removed. An object that is not JSON, a broken ledger,
// and a template of a different version are errors.
func TemplateEdits(w *world.Snapshot, kind *world.LiveKind, owner *world.Policy, raw []byte) ([]adapter.Edit, []byte, error) {
	t := owner.Template
	live := &unstructured.Unstructured{}
	if err := live.UnmarshalJSON(raw); err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", t.Ref(), err)
	}
	if policyOf(live, []*world.Policy{owner}) == nil || live.GetDeletionTimestamp() != nil {
		return nil, raw, nil
	}
	if live.GetAPIVersion() != t.GroupVersion().String() {
		return nil, nil, fmt.Errorf("the template of %s is written in %s, and the object is read in %s", t.Ref(), t.GroupVersion(),
			live.GetAPIVersion())
	}
	seen, err := project(kind, t.Ref(), live)
	if err != nil {
		return nil, nil, err
	}
	claims, err := claimsOf(w, kind, t.Ref(), seen)
	if err != nil {
		return nil, nil, err
	}
	want, err := manifest(t, owner, live, claims)
	if err != nil {
		return nil, nil, err
	}
	unstructured.RemoveNestedField(want.Object, "metadata", "resourceVersion")
	unstructured.RemoveNestedField(want.Object, "metadata", "ownerReferences")
	p := putting{}
	after, err := json.Marshal(p.put(nil, live.Object, want.Object))
	if err != nil {
		return nil, nil, fmt.Errorf("put back the template of %s: %w", t.Ref(), err)
	}
	return p.edits, after, nil
}

// putting collects edits.
type putting struct{ edits []adapter.Edit }

// put returns a live value with the template's values set in it. It edits the live value.
func (p *putting) put(at []string, live, template any) any {
	switch t := template.(type) {
	case map[string]any:
		if l, ok := live.(map[string]any); ok {
			for _, key := range slices.Sorted(maps.Keys(t)) {
				l[key] = p.put(append(at[:len(at):len(at)], key), l[key], t[key])
			}
			return l
		}
	case []any:
		if l, ok := live.([]any); ok && len(l) == len(t) {
			for i := range t {
				l[i] = p.put(append(at[:len(at):len(at)], strconv.Itoa(i)), l[i], t[i])
			}
			return l
		}
	}
	if sameValue(live, template) {
		return live
	}
	p.edits = append(p.edits, adapter.Edit{Pointer: string(path.Pointer("").Append(at...)), From: textOf(live), To: textOf(template)})
	return template
}

// sameValue reports whether two scalars are equal, or two amounts in different spellings.
func sameValue(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, okX := amount(a)
	y, okY := amount(b)
	return okX && okY && x.Cmp(y) == 0
}

func amount(v any) (resource.Quantity, bool) {
	switch v.(type) {
	case string, int64, float64:
		return workload.ParseQuantity(fmt.Sprint(v))
	}
	return resource.Quantity{}, false
}

// textOf returns the JSON of a value, or "" if it is absent.
func textOf(v any) string {
	if v == nil {
		return ""
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}
