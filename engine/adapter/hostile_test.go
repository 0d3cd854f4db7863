package adapter

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// TestLedgersThatSomebodyHasFilled: whoever may annotate an object may fill its ledger. Reading it takes a time that grows with the object, and not
// with how many entries there are times how large it is: that would take minutes or hours for each of these, and the other objects of the kind wait meanwhile.
func TestLedgersThatSomebodyHasFilled(t *testing.T) {
	a := compiled(t, elasticYAML, Keys{})
	for _, c := range []struct {
		name    string
		entries int
		entry   func(i int) workload.Entry
		spec    string
		check   func(obj *workload.Object) bool
	}{
		{"fields that no adapter writes", 5000, func(i int) workload.Entry { return entry(fmt.Sprintf("/spec/x%d", i), "1", "0") },
			filled(20_000, `"x%d":7`), func(obj *workload.Object) bool {
				return len(obj.Fields) >= 5000 && obj.Fields[len(obj.Fields)-1].Raw == "7"
			}},
		{"deep fields in containers that were made", 900, func(i int) workload.Entry {
			e := entry(fmt.Sprintf("/spec/x%d%s", i, strings.Repeat("/a", maxTokens-3)), "1", "0")
			e.Made = 2
			return e
		}, filled(900, `"x%d":`+strings.Repeat(`{"a":`, 50)+"1"+strings.Repeat("}", 50)), func(obj *workload.Object) bool {
			return len(obj.LedgerNotes.Members) == 900*50 && obj.LedgerNotes.Members["/spec/x5/a"] == 1
		}},
		{"elements without a count", 1, func(int) workload.Entry { return entry("/spec/nodeSets/0/count", "1", "0") },
			`{"nodeSets":[` + strings.TrimSuffix(strings.Repeat(`{"name":"n"},`, 20_000), ",") + `]}`, func(obj *workload.Object) bool {
				return len(obj.Elements) == 20_000 && obj.Elements[19_999].Depth == 3
			}},
		{"a container of which Flyball has written all", maxAuthors, func(i int) workload.Entry {
			e := entry(fmt.Sprintf("/spec/x%d/z", i), "1", "0")
			e.Made = 1
			return e
		}, filled(20_000, `"x%d":{}`), func(obj *workload.Object) bool {
			return len(obj.LedgerNotes.Authors) == maxAuthors && obj.LedgerNotes.Authors[1].Alone == 1
		}},
	} {
		var ledger workload.Ledger
		for i := range c.entries {
			ledger = append(ledger, c.entry(i))
		}
		obj := projected(t, a, writtenByFlyball(t, c.spec, ledger))
		if len(obj.Ledger) != c.entries || obj.LedgerError != "" || !c.check(obj) {
			t.Errorf("%s: %d entries of %d, %s, or something else is not right", c.name, len(obj.Ledger), c.entries, obj.LedgerError)
		}
	}
}

// TestALedgerOfLongPointers cannot be read: no adapter writes so deep.
func TestALedgerOfLongPointers(t *testing.T) {
	a := compiled(t, elasticYAML, Keys{})
	e := entry(strings.Repeat("/a", 50_000), "1", "0")
	e.Made = 1
	obj := projected(t, a, writtenByFlyball(t, `{}`, workload.Ledger{e}))
	if !strings.Contains(obj.LedgerError, "a pointer of 50000 tokens") || len(obj.Ledger) > 0 {
		t.Errorf("error %q, %d entries", obj.LedgerError, len(obj.Ledger))
	}
}

// filled is an object with so many members, which are numbered.
func filled(members int, format string) string {
	all := make([]string, members)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return "{" + strings.Join(all, ",") + "}"
}

// writtenByFlyball is an object with a ledger, of which managed fields say that Flyball has written everything.
func writtenByFlyball(t *testing.T, spec string, ledger workload.Ledger) []byte {
	t.Helper()
	var tree map[string]any
	if err := json.Unmarshal([]byte(spec), &tree); err != nil {
		t.Fatal(err)
	}
	var fields func(v any) map[string]any
	fields = func(v any) map[string]any {
		all := map[string]any{}
		if members, ok := v.(map[string]any); ok {
			for key, member := range members {
				all["f:"+key] = fields(member)
			}
		}
		return all
	}
	text, err := ledger.Encode(workload.Origin{UID: "u", Namespace: "shop", Of: workload.LedgerOf("Elasticsearch", "web")})
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(object(spec, v1alpha1.AnnotationLedger, text), &doc); err != nil {
		t.Fatal(err)
	}
	metadata := doc["metadata"].(map[string]any)
	metadata["uid"] = "u"
	metadata["managedFields"] = []any{map[string]any{"manager": workload.FieldManager, "apiVersion": "v1", "fieldsV1": map[string]any{
		"f:spec": fields(tree), "f:metadata": map[string]any{"f:annotations": map[string]any{"f:flyball.dev/ledger": map[string]any{}}},
	}}}
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
