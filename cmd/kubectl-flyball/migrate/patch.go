package migrate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// diff makes the patch that changes the present object to the object after.
func (w *takeover) diff(after []byte) error {
	before := []byte(w.live.Raw)
	var err error
	if after, err = withVersionOf(after, w.live); err != nil {
		return fmt.Errorf("%s: %w", w.Target, err)
	}
	patch, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return fmt.Errorf("%s: compare: %w", w.Target, err)
	}
	if bytes.Equal(patch, []byte("{}")) {
		return nil
	}
	for _, f := range w.Fields {
		if live := w.live.At(path.Pointer(f.Pointer).Tokens()).Raw; !equal(live, f.Set) && !w.replaces() {
			w.note("%s changes from %s to %s: %s asks for it", f.Pointer, brief(live), brief(f.Set), w.By)
			w.changes = append(w.changes, StateChange{Target: w.Target, Change: fmt.Sprintf("%s %s -> %s", f.Pointer, brief(live), brief(f.Set)),
				By: w.By})
		}
	}
	var m map[string]any
	if err := json.Unmarshal(patch, &m); err != nil {
		return fmt.Errorf("%s: compare: %w", w.Target, err)
	}
	metadata, _ := m["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		m["metadata"] = metadata
	}
	if version := w.live.Get("metadata.resourceVersion").Str; version != "" {
		metadata["resourceVersion"] = version
	}
	if fields := w.live.Get("metadata.managedFields"); fields.IsArray() && len(w.Fields) > 0 {
		if metadata["managedFields"], err = released(fields.Raw, w.Fields); err != nil {
			return fmt.Errorf("%s: %w", w.Target, err)
		}
	}
	w.Patch, err = json.Marshal(m)
	return err
}

// replaces reports whether Flyball puts the object to sleep by another field than the tool.
func (w *takeover) replaces() bool {
	return slices.ContainsFunc(w.open, func(o Original) bool { return o.Replaced })
}

// withVersionOf returns the object raw with the resourceVersion of the object live.
func withVersionOf(raw []byte, live Object) ([]byte, error) {
	var version any
	if v := live.Get("metadata.resourceVersion"); v.Exists() {
		version = v.Str
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": version}})
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergePatch(raw, patch)
}

// released returns managed fields in which only Flyball owns the fields of the ledger. If another manager still owned
// such a field, Flyball would believe that this manager has written the value later, and wants the object asleep.
func released(managedFields string, fields []Taken) ([]any, error) {
	var managers []any
	if err := json.Unmarshal([]byte(managedFields), &managers); err != nil {
		return nil, fmt.Errorf("read managed fields: %w", err)
	}
	var kept []any
	for _, m := range managers {
		manager, _ := m.(map[string]any)
		owned, _ := manager["fieldsV1"].(map[string]any)
		if name, _ := manager["manager"].(string); owned == nil || strings.HasPrefix(name, workload.FieldManager) {
			kept = append(kept, m)
			continue
		}
		for _, f := range fields {
			disown(owned, path.Pointer(f.Pointer).Tokens())
		}
		if len(owned) > 0 {
			kept = append(kept, m)
		}
	}
	return kept, nil
}

// disown removes a field from a set of managed fields, together with parents that become empty.
func disown(owned map[string]any, tokens []string) {
	key := "f:" + tokens[0]
	inner, ok := owned[key].(map[string]any)
	if !ok {
		return
	}
	if len(tokens) > 1 {
		if len(inner) == 0 {
			return // the manager owns the whole value around the field
		}
		disown(inner, tokens[1:])
		if len(inner) > 0 {
			return
		}
	}
	delete(owned, key)
}

// equal reports whether two JSON texts are equal. An empty text means an absent value.
func equal(a, b string) bool {
	return a == b || a != "" && b != "" && path.Equal(a, b)
}

// brief returns a JSON text for messages. For an empty text it returns "absent".
func brief(text string) string { return cmp.Or(text, "absent") }
