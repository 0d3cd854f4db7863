package workload_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/workload"
)

// document draws a JSON value of few names, so that a patch often names fields of the document. Some names need escapes.
func document(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kind := 4
		if depth == 0 {
			kind = rapid.IntRange(0, 3).Draw(t, "kind")
		} else if rapid.Bool().Draw(t, "leaf") {
			kind = rapid.IntRange(0, 3).Draw(t, "kind")
		}
		switch kind {
		case 0:
			return nil
		case 1:
			return rapid.IntRange(-9, 9).Draw(t, "number")
		case 2:
			return rapid.SampledFrom([]string{"", "a\"b", "\u00e9<>&", "{}"}).Draw(t, "text")
		case 3:
			return []any{rapid.IntRange(0, 9).Draw(t, "item")}
		}
		return object(depth-1).Draw(t, "object")
	})
}

func object(depth int) *rapid.Generator[map[string]any] {
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c.d/e", "a\"b", "\u00e9\n"}), document(depth), 0, 5)
}

// TestPatchedMerges compares the merge of texts with the merge of decoded documents by a library.
func TestPatchedMerges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, patch := encoded(t, object(3).Draw(t, "document")), encoded(t, object(3).Draw(t, "patch"))
		got, err := workload.Patched(raw, &workload.Patch{Body: patch})
		if err != nil {
			t.Fatal(err)
		}
		want, err := jsonpatch.MergePatch(raw, patch)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(decoded(t, want), decoded(t, got)); diff != "" {
			t.Errorf("%s\n%s\nmerged into %s\n%s", raw, patch, got, diff)
		}
	})
	_, err := workload.Patched([]byte(`{}`), &workload.Patch{Body: []byte(`{"spec":`)})
	if err == nil || !strings.Contains(err.Error(), `{"spec":`) {
		t.Errorf("a broken patch gives the error %v", err)
	}
}

func encoded(t *rapid.T, value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func decoded(t *rapid.T, raw []byte) (value any) {
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return value
}
