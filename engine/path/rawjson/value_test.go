package rawjson_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"flyball.dev/flyball/engine/path/rawjson"
)

// texts are values of every type, and what is not there.
var texts = []string{``, `null`, `true`, `"a\nb"`, `3`, `1e3`, `[]`, `[1, "b", {"c": null}]`, `{}`, `{"a": 1, "b\"": [2], "a": 3}`,
	`{"metadata": {"annotations": {"flyball.dev/ledger": "{}"}, "ownerReferences": [{"controller": true, "name": "web"}]}}`}

// TestCollectionsAreThoseOfTheReader proves that arrays and objects, which the package collects itself, have the values
// of the library's own collections.
func TestCollectionsAreThoseOfTheReader(t *testing.T) {
	for _, text := range texts {
		v, want := rawjson.Parse(text), gjson.Parse(text)
		var array, object = map[string][]string{}, map[string]map[string]string{"got": {}, "want": {}}
		for _, e := range v.Array() {
			array["got"] = append(array["got"], e.Raw)
		}
		for _, e := range want.Array() {
			array["want"] = append(array["want"], e.Raw)
		}
		for k, e := range v.Map() {
			object["got"][k] = e.Raw
		}
		for k, e := range want.Map() {
			object["want"][k] = e.Raw
		}
		if d := cmp.Diff(array["want"], array["got"]); d != "" {
			t.Errorf("elements of %s: %s", text, d)
		}
		if want.IsArray() {
			continue // the library makes an object of an array's elements
		}
		if d := cmp.Diff(object["want"], object["got"]); d != "" {
			t.Errorf("members of %s: %s", text, d)
		}
	}
}

func TestPathsOfKeys(t *testing.T) {
	object := []byte(texts[len(texts)-1])
	if got := rawjson.GetBytes(object, "metadata.annotations."+rawjson.Escape("flyball.dev/ledger")).Str; got != "{}" {
		t.Errorf("the ledger is %q", got)
	}
	if got := rawjson.GetBytes(object, "metadata.ownerReferences.#(controller==true)").Get("name").String(); got != "web" {
		t.Errorf("the owner is %q", got)
	}
}
