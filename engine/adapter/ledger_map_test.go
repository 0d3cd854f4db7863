package adapter

import (
	"encoding/json"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// TestTheMapOfTheLedgerIsNotRemoved checks that a restore removes keys from a map of annotations that Flyball made, but
// never the map, because the ledger is in it. The API server would refuse a patch that removes the map and then the
// ledger. A ledger that still has entries would be lost with the map.
func TestTheMapOfTheLedgerIsNotRemoved(t *testing.T) {
	var spec v1alpha1.AdapterSpec
	if err := yaml.UnmarshalStrict([]byte(`
target: {group: example.com, kind: Farm, versions: [v1]}
bounds: {each: '.spec.groups[*]', nameFrom: .name, max: {path: .max}}
hold: [{set: [{path: .spec.paused, value: true}]}]
`), &spec); err != nil {
		t.Fatal(err)
	}
	const note = "team.example.com/asleep"
	a, errs := Compile("farms.example.com", spec, Keys{Set: []string{note}})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	by := workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}
	most := &workload.Claim[int64]{Value: 3, By: by}
	held := &workload.Claim[bool]{Value: true, By: by}
	notes := map[string]workload.Claim[string]{note: {Value: "nightly", By: by}}
	for name, c := range map[string]struct{ asleep, then workload.Plan }{
		"a list and an annotation are given back together": {asleep: workload.Plan{Max: most, Annotations: notes}},
		"the annotation goes, and the list stays":          {workload.Plan{Max: most, Annotations: notes}, workload.Plan{Max: most}},
		"the annotation goes, and the hold stays":          {workload.Plan{Hold: held, Annotations: notes}, workload.Plan{Hold: held}},
	} {
		t.Run(name, func(t *testing.T) {
			doc := []byte(
				`{"apiVersion":"example.com/v1","kind":"Farm","metadata":{"namespace":"shop","name":"f","uid":"1","resourceVersion":"7"},"spec":{"groups":[{"name":"a","max":9}]}}`)
			doc = afterPlan(t, a, doc, c.asleep)
			managers := `{"metadata":{"managedFields":[{"manager":"flyball","operation":"Update","apiVersion":"example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":` +
				`{".":{},"f:flyball.dev/ledger":{},"f:team.example.com/asleep":{}}},"f:spec":{"f:groups":{},"f:paused":{}}}}]}}`
			doc = afterPlan(t, a, must(jsonpatch.MergePatch(doc, []byte(managers))), c.then)
			var got struct {
				Metadata struct{ Annotations map[string]string }
			}
			if err := json.Unmarshal(doc, &got); err != nil {
				t.Fatal(err)
			}
			_, hasLedger := got.Metadata.Annotations[v1alpha1.AnnotationLedger]
			if wants := c.then.Max != nil || c.then.Hold != nil; hasLedger != wants || got.Metadata.Annotations[note] != "" {
				t.Errorf("annotations are %v", got.Metadata.Annotations)
			}
		})
	}
}

// afterPlan returns the object after the patch of a plan.
func afterPlan(t *testing.T, a *Adapter, doc []byte, plan workload.Plan) []byte {
	t.Helper()
	obj, err := a.Project(doc)
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Render(obj, plan)
	if err != nil || r.Patch == nil {
		t.Fatalf("no patch: %v", err)
	}
	if r.Patch.Type == types.MergePatchType {
		return must(jsonpatch.MergePatch(doc, r.Patch.Body))
	}
	patch, err := jsonpatch.DecodePatch(r.Patch.Body)
	if err != nil {
		t.Fatal(err)
	}
	after, err := patch.Apply(doc)
	if err != nil {
		t.Fatalf("apply %s: %v", r.Patch.Body, err)
	}
	return after
}
