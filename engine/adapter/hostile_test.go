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
