package adapter

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// TestAHugeLedger has a huge ledger on a huge list. Its entries are not matched by value, which would take minutes.
// Nothing is written, and no original is lost.
func TestAHugeLedger(t *testing.T) {
	a := mustCompile(t, elasticYAML, Keys{})
	var sets []string
	var ledger workload.Ledger
	for i := range 2000 {
		sets = append(sets, fmt.Sprintf(`{"name":"n%d","count":1}`, i))
		e := entry(fmt.Sprintf("/spec/nodeSets/%d/count", i), "3", "1")
		e.Element = fmt.Sprintf("o%d", i)
		ledger = append(ledger, e)
	}
	text := must(ledger.Encode(workload.Origin{}))
	doc := object(`{"nodeSets":[`+strings.Join(sets, ",")+`]}`, v1alpha1.AnnotationLedger, text)
	obj := projected(t, a, doc)
	for _, at := range a.Projection.Locate(obj) {
		if at.Kind != projection.Unclear {
			t.Fatalf("an entry was matched: %+v", at)
		}
	}
	if r := rendered(t, a, doc, workload.Plan{}); r.Patch != nil || r.Failure == "" {
		t.Errorf("%s, patch %v", r.Failure, r.Patch)
	}
}

// Very many members are compared in their order, even if a new member comes first. To search for each member among all
// others would take many minutes.
func TestVeryManyMembers(t *testing.T) {
	a := mustCompile(t, knativeYAML, Keys{})
	const size = 150_000
	var rest strings.Builder
	for i := range size {
		fmt.Fprintf(&rest, `,"b%07d":""`, i)
	}
	with := func(members string) []byte {
		return []byte(`{"spec":{"template":{"metadata":{"annotations":{` + members + rest.String() + `}}}}}`)
	}
	for _, test := range []struct {
		before, after string
		want          workload.Change
	}{
		{`"a":""`, `"a":"","a2":""`, workload.ChangeRollOut},
		{`"a":"","a2":""`, `"a":""`, workload.ChangeRollOut},
		{`"a":""`, `"a":"","autoscaling.knative.dev/min-scale":"2"`, workload.ChangeScale},
		{`"a":"","a2":""`, `"a2":"","a":""`, 0},
	} {
		if got := a.Classify(with(test.before), with(test.after)); got != test.want {
			t.Errorf("from %s to %s: %v", test.before, test.after, got.Names())
		}
	}
}

// TestFilledObjects: a writer may fill an object and its ledger. The time to read and decide the object must grow with
// its size only, not with the number of entries times its size. Otherwise some of these objects would take for ever,
// while other objects of the kind wait.
func TestFilledObjects(t *testing.T) {
	a := mustCompile(t, elasticYAML, Keys{})
	text := strings.Repeat("x", 1<<20)
	made := func(made uint8, format string) func(i int) workload.Entry {
		return func(i int) workload.Entry {
			e := entry(fmt.Sprintf(format, i), "", "1")
			e.Made = made
			return e
		}
	}
	for _, c := range []struct {
		name    string
		entries int
		entry   func(i int) workload.Entry
		spec    string
		check   func(obj *workload.Object, awake, asleep Result) bool
	}{
		{"fields that no adapter writes", projection.MaxEntries, made(0, "/spec/x%d"), filled(20_000, `"x%d":7`),
			func(obj *workload.Object, awake, _ Result) bool {
				return obj.Fields[len(obj.Fields)-1].Raw == "7" && awake.Patch != nil
			}},
		{"deep fields in containers that were made", 300, made(2, "/spec/x%d"+strings.Repeat("/a", projection.MaxTokens-3)),
			filled(300, `"x%d":`+nested(50, "1")), func(obj *workload.Object, _, _ Result) bool {
				return len(obj.LedgerNotes.Members) == 300*50 && obj.LedgerNotes.Members["/spec/x5/a"] == 1
			}},
		{"containers that become empty", projection.MaxEntries, made(2, "/spec/x%d/b"), filled(projection.MaxEntries, `"x%d":{"b":1}`),
			func(_ *workload.Object, awake, _ Result) bool {
				return awake.Patch != nil && strings.Count(string(awake.Patch.Body), "null") == 1+projection.MaxEntries
			}},
		{"containers inside each other that become empty", 300, made(2, "/spec/x%d"+strings.Repeat("/a", 50)),
			filled(300, `"x%d":`+nested(50, "1")),
			func(_ *workload.Object, awake, _ Result) bool {
				return awake.Patch != nil && strings.Count(string(awake.Patch.Body), "null") == 1+300
			}},
		{"a container of which Flyball has written all", projection.MaxAuthors, made(1, "/spec/x%d/z"), filled(20_000, `"x%d":{}`),
			func(obj *workload.Object, _, _ Result) bool {
				return len(obj.LedgerNotes.Authors) == projection.MaxAuthors && obj.LedgerNotes.Authors[1].Alone == 1
			}},
		{"a large text deep inside", 1, made(1, "/spec/x%d"+strings.Repeat("/a", projection.MaxTokens-2)), `{"x0":` + nested(1000, `"`+text+`"`) + `}`,
			func(obj *workload.Object, _, _ Result) bool { return obj.LedgerNotes.Authors[0].Alone == 0 }},
		{"elements without a count", 1, made(0, "/spec/nodeSets/%d/count"), sets(5_000, `{"name":"n%d"}`),
			func(obj *workload.Object, _, _ Result) bool {
				return len(obj.Elements) == 5_000 && obj.Elements[4_999].Depth == 3
			}},
		{"elements", 0, nil, sets(10_000, `{"name":"","count":%d}`), func(_ *workload.Object, awake, asleep Result) bool {
			return awake.Patch == nil && asleep.Patch == nil && strings.Contains(asleep.Message, "at most 1024 are handled")
		}},
		{"elements whose counts are objects", 1000, func(i int) workload.Entry {
			e := entry(fmt.Sprintf("/spec/nodeSets/%d/count", i), "3", `{"a":"`+strings.Repeat("y", 100)+`"}`)
			e.Element = "n"
			return e
		}, sets(1000, `{"name":"n","count":{"b%d":"`+strings.Repeat("z", 900)+`"}}`),
			func(obj *workload.Object, _, _ Result) bool { return len(obj.Elements) == 1000 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ledger workload.Ledger
			for i := range c.entries {
				ledger = append(ledger, c.entry(i))
			}
			raw := writtenByFlyball(t, c.spec, ledger)
			obj := projected(t, a, raw)
			a.Observe(obj)
			a.Savings(obj)
			awake, asleep := rendered(t, a, raw, workload.Plan{}), rendered(t, a, raw, sleep())
			if len(obj.Ledger) != c.entries || obj.LedgerError != "" || !c.check(obj, awake, asleep) {
				t.Errorf("%d entries of %d, %s, or something else is not right: awake %s, asleep %s", len(obj.Ledger), c.entries, obj.LedgerError,
					path.Brief(awake.Message), path.Brief(asleep.Message))
			}
		})
	}
}

// TestLedgersOfWhichNothingIsRead checks that the error of a refused ledger names the exceeded limit, and that none of
// its entries are kept.
func TestLedgersOfWhichNothingIsRead(t *testing.T) {
	a := mustCompile(t, elasticYAML, Keys{})
	for _, c := range []struct {
		spec    string
		entries int
		pointer func(i int) string
		want    string
	}{
		{`{}`, 1, func(int) string { return strings.Repeat("/a", 50_000) }, "a pointer of 50000 tokens"},
		{`{}`, projection.MaxEntries + 1, func(i int) string { return fmt.Sprintf("/spec/x%d", i) },
			"it has 2049 entries, where Flyball writes at most 2048"},
		{nested(100, `"`+strings.Repeat("x", 1000)+`"`), 100, func(i int) string { return "/spec" + strings.Repeat("/a", i) },
			"about places inside each other"},
	} {
		var ledger workload.Ledger
		for i := range c.entries {
			e := entry(c.pointer(i), "1", "0")
			e.Made = 1
			ledger = append(ledger, e)
		}
		raw := writtenByFlyball(t, c.spec, ledger)
		obj := projected(t, a, raw)
		if !strings.Contains(obj.LedgerError, c.want) || len(obj.Ledger) > 0 {
			t.Errorf("error %q, want %q; %d entries", obj.LedgerError, c.want, len(obj.Ledger))
		}
		if _, err := a.Render(obj, workload.Plan{}); !errors.Is(err, ErrLedger) {
			t.Errorf("rendered all the same: %v", err)
		}
	}
}

// TestElementsThatAFilterLeavesOut checks that elements that a filter leaves out are kept while an object sleeps, and do
// not count towards the limit of elements.
func TestElementsThatAFilterLeavesOut(t *testing.T) {
	a := mustCompile(t, twoFiltersYAML, Keys{})
	list := func(n int) string {
		var all []string
		for i := range projection.MaxElements + 100 {
			role := "none"
			if i < 600 {
				role = "worker"
			}
			all = append(all, fmt.Sprintf(`{"name":"n%d","role":%q,"n":%d}`, i, role, n))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	s := newServer(object(`{"pools":` + list(3) + `}`))
	for range 2 {
		if r := s.settle(t, a, sleep()); r.State != workload.StateAsleep || r.Failure != "" {
			t.Fatalf("%s: %s", r.State, path.Brief(r.Message))
		}
	}
	s.settle(t, a, workload.Plan{})
	if !path.Equal(s.value("/spec/pools"), list(3)) || len(s.ledger(t, a)) > 0 {
		t.Error("something was not given back")
	}
}

// nested returns a value inside the given number of objects.
func nested(depth int, value string) string {
	return strings.Repeat(`{"a":`, depth) + value + strings.Repeat("}", depth)
}

// sets returns a spec with n numbered node sets.
func sets(n int, format string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return `{"nodeSets":[` + strings.Join(all, ",") + `]}`
}

// filled returns an object with the given number of numbered members.
func filled(members int, format string) string {
	all := make([]string, members)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return "{" + strings.Join(all, ",") + "}"
}

// writtenByFlyball returns an object with a ledger. By its managed fields Flyball has written everything in it.
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
