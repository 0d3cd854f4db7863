package adapter

import (
	"fmt"
	"strings"
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// TestAHugeLedger on a huge list is not matched, which would take minutes: nothing is written, and nothing is lost.
func TestAHugeLedger(t *testing.T) {
	a := compiled(t, elasticYAML, Keys{})
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
	for _, at := range a.locate(obj) {
		if at.kind != unclear {
			t.Fatalf("an entry was matched: %+v", at)
		}
	}
	if r := rendered(t, a, doc, workload.Plan{}); r.Patch != nil || r.Failure == "" {
		t.Errorf("%s, patch %v", r.Failure, r.Patch)
	}
}

// Very many members, of which one comes first that was not there, are compared in their order: looking for each among all would take
// many minutes.
func TestVeryManyMembers(t *testing.T) {
	a := compiled(t, knativeYAML, Keys{})
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
