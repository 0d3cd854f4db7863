package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// giveUpTries is the number of tries for a write of managedFields: a different writer, such as a controller that writes its
// status, moves the entries.
const giveUpTries = 5

// giveUp removes restored fields from Flyball's managed fields. The API server makes every writer of a field its owner,
// also for a restore, and would refuse the next server-side apply of a different value. meta is the object after the
// write. If neither a server-side applier nor Argo CD writes the object, giveUp writes nothing. After a failure, the
// next write of a ledger removes the remaining fields.
func (w *Writer) giveUp(ctx context.Context, resource schema.GroupVersionResource, meta *metav1.PartialObjectMetadata) error {
	if resource.Group == "" && resource.Resource == "pods" {
		return nil // Flyball's managed fields on pods show the pods to restore
	}
	client := w.client.Resource(resource).Namespace(meta.Namespace)
	var failed error
	for range giveUpTries {
		patch, err := givenUp(meta)
		if err != nil || patch == nil {
			return err
		}
		_, failed = client.Patch(ctx, meta.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: FieldManager})
		switch {
		case failed == nil || classify(failed, types.JSONPatchType) == Gone:
			return nil
		case classify(failed, types.JSONPatchType) != Stale:
			return failed
		}
		if meta, err = client.Get(ctx, meta.Name, metav1.GetOptions{}); err != nil {
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		}
	}
	return failed
}

// givenUp returns the JSON patch of managedFields after which Flyball owns only the fields of the ledger, and the
// ledger. It returns nil if that is so already, or if neither a different server-side applier nor Argo CD writes the object.
func givenUp(meta *metav1.PartialObjectMetadata) ([]byte, error) {
	applied := false
	for i := range meta.ManagedFields {
		e := &meta.ManagedFields[i]
		applied = applied || e.Manager == workload.ArgoCD || e.Operation == metav1.ManagedFieldsOperationApply && e.Manager != TemplateManager
	}
	if !applied {
		return nil, nil
	}
	kept, err := keptFields(meta.Annotations[v1alpha1.AnnotationLedger])
	if err != nil {
		return nil, nil //nolint:nilerr // nothing is written of a ledger that cannot be read
	}
	var steps []map[string]any
	for i := len(meta.ManagedFields) - 1; i >= 0; i-- { // from the end, so that no removal moves the later entries
		e := &meta.ManagedFields[i]
		if e.Manager != FieldManager || e.Operation != metav1.ManagedFieldsOperationUpdate || e.FieldsV1 == nil {
			continue
		}
		fields, changed, err := withoutSurplus(e.FieldsV1.GetRawBytes(), kept)
		if err != nil {
			return nil, err
		}
		if !changed {
			continue
		}
		place := fmt.Sprint("/metadata/managedFields/", i)
		steps = append(steps, map[string]any{"op": "test", "path": place, "value": e})
		if fields == nil {
			steps = append(steps, map[string]any{"op": "remove", "path": place})
		} else {
			steps = append(steps, map[string]any{"op": "replace", "path": place + "/fieldsV1", "value": json.RawMessage(fields)})
		}
	}
	if steps == nil {
		return nil, nil
	}
	return json.Marshal(steps)
}

// place is a field that Flyball still owns.
type place struct {
	// tokens are the tokens of the field's pointer. lists is the number of tokens that may be indexes of list elements.
	tokens []string
	lists  int
	// element is the name of the list element around the field, if any.
	element string
}

func newPlace(tokens []string, element string) place {
	p := place{tokens: tokens, element: element}
	for _, t := range tokens {
		if _, err := strconv.Atoi(t); err == nil {
			p.lists++
		}
	}
	return p
}

// keptFields returns the fields that Flyball still owns: the fields of the ledger, with the containers created for them,
// and the ledger itself. A size that was set once is left to others.
func keptFields(ledger string) ([]place, error) {
	if ledger == "" {
		return nil, nil
	}
	entries, _, err := workload.ParseLedger(ledger)
	if err != nil {
		return nil, err
	}
	kept := []place{newPlace([]string{"metadata", "annotations", v1alpha1.AnnotationLedger}, "")}
	for i := range entries {
		e := &entries[i]
		tokens := path.Pointer(e.Pointer).Tokens()
		if e.Made > 0 && int(e.Made) < len(tokens) {
			tokens = tokens[:e.Made]
		}
		if e.Once == "" || e.Pending {
			kept = append(kept, newPlace(tokens, e.Element))
		}
	}
	return kept, nil
}

// withoutSurplus removes all but the kept places from a FieldsV1 set. left is nil if nothing remains.
func withoutSurplus(fields []byte, kept []place) (left []byte, changed bool, err error) {
	var all fieldpath.Set
	if err := all.FromJSON(bytes.NewReader(fields)); err != nil {
		return nil, false, fmt.Errorf("read managedFields: %w", err)
	}
	owned := fieldpath.NewSet()
	for _, k := range kept {
		var around []fieldpath.Path
		found := false // true if the element with the name is in the set; if not, the list may have other keys
		for p := range all.All() {
			if k.overlaps(p) {
				around = append(around, p.Copy())
				found = found || k.isIn(p)
			}
		}
		for _, p := range around {
			if !found || k.isIn(p) || k.isAround(p) {
				owned.Insert(p)
			}
		}
	}
	if owned.Size() == all.Size() {
		return nil, false, nil
	}
	if owned.Empty() {
		return nil, true, nil
	}
	left, err = owned.ToJSON()
	return left, true, err
}

// overlaps reports whether a field is the place, lies inside it, or contains it. An element of a list has a key in the
// field and an index in the place. They cannot be compared, so every element counts as the same.
func (k place) overlaps(field fieldpath.Path) bool {
	for i := range min(len(field), len(k.tokens)) {
		if name := field[i].FieldName; name != nil && *name != k.tokens[i] {
			return false
		}
	}
	return true
}

// isIn reports whether a field is in the list element with the name k.element.
func (k place) isIn(field fieldpath.Path) bool {
	for _, e := range field {
		if e.Key == nil {
			continue
		}
		for _, key := range *e.Key {
			if k.element != "" && fmt.Sprint(key.Value.Unstructured()) == k.element {
				return true
			}
		}
	}
	return false
}

// isAround reports whether a field is outside of the innermost list element around the place.
func (k place) isAround(field fieldpath.Path) bool {
	elements := 0
	for _, e := range field[:min(len(field), len(k.tokens))] {
		if e.FieldName == nil {
			elements++
		}
	}
	return elements < k.lists
}
