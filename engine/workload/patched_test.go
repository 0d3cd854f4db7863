package workload_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/path"
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

func encoded(t rapid.TB, value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func decoded(t rapid.TB, raw []byte) (value any) {
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return value
}

// TestEachFormOfPatchIsApplied applies patches that are no merge patches, and patches that cannot be read.
func TestEachFormOfPatchIsApplied(t *testing.T) {
	const doc = `{"spec":{"replicas":3,"a/b":{"n":1}},"status":{"replicas":3}}`
	for _, tc := range []struct {
		reason string
		patch  workload.Patch
		want   string // empty: an error
	}{
		{"a write through /scale sets each count", workload.Patch{Subresource: "scale", Body: []byte(`{"spec":{"replicas":5}}`),
			Counts: []path.Pointer{"/spec/replicas", "/spec/a~1b/n", "/spec/new/n"}},
			`{"spec":{"replicas":5,"a/b":{"n":5},"new":{"n":5}},"status":{"replicas":3}}`},
		{"a write through /scale that is not JSON", workload.Patch{Subresource: "scale", Body: []byte(`{"spec":`)}, ""},
		{"a JSON patch", workload.Patch{Type: types.JSONPatchType,
			Body: []byte(`[{"op":"test","path":"/spec/replicas","value":3},{"op":"replace","path":"/spec/replicas","value":0}]`)},
			`{"spec":{"replicas":0,"a/b":{"n":1}},"status":{"replicas":3}}`},
		{"a JSON patch with a failed test", workload.Patch{Type: types.JSONPatchType,
			Body: []byte(`[{"op":"test","path":"/spec/replicas","value":4},{"op":"replace","path":"/spec/replicas","value":0}]`)}, ""},
		{"a JSON patch that is no list", workload.Patch{Type: types.JSONPatchType, Body: []byte(`{"spec":{}}`)}, ""},
	} {
		got, err := workload.Patched([]byte(doc), &tc.patch)
		if (err == nil) != (tc.want != "") {
			t.Errorf("%s: the error is %v", tc.reason, err)
		} else if err == nil && !path.Equal(string(got), tc.want) {
			t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
		}
	}
}

// TestFieldsAreSetWithTheirMissingParents: a value on the way that is no object is replaced by one.
func TestFieldsAreSetWithTheirMissingParents(t *testing.T) {
	for _, tc := range []struct {
		before string
		tokens []string
		want   string
	}{
		{`{"spec":{"a":1}}`, []string{"spec", "b"}, `{"spec":{"a":1,"b":7}}`},
		{`{"spec":{"a":1}}`, []string{"spec", "a"}, `{"spec":{"a":7}}`},
		{`{}`, []string{"spec", "a/b", "c"}, `{"spec":{"a/b":{"c":7}}}`},
		{`{"spec":5}`, []string{"spec", "a"}, `{"spec":{"a":7}}`},
		{`null`, []string{"spec"}, `{"spec":7}`},
		{`{"spec":5}`, nil, `7`},
	} {
		if got := string(encoded(t, workload.SetAt(decoded(t, []byte(tc.before)), tc.tokens, 7))); got != tc.want {
			t.Errorf("%s with %q: got %s, want %s", tc.before, tc.tokens, got, tc.want)
		}
	}
}
