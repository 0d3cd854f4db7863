package inspect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
)

// pumps is the OpenAPI document of a kind, reduced to the parts that the test needs.
const pumps = `{"components":{"schemas":{"com.example.v1.Pump":{
"type":"object","x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1","kind":"Pump"}],
"properties":{"metadata":{"type":"object","properties":{"annotations":{"type":"object","additionalProperties":{"type":"string"}}}},"spec":{"type":"object","properties":{
	"mode":{"type":"string","enum":["running","suspended"]},
	"level":{"type":"integer","enum":[1,2]},
	"rows":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["zone","name"],"items":{"type":"object","properties":{"n":{"type":"integer"}}}},
	"parts":{"type":"array","items":{"type":"object","properties":{"n":{"anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true}}}}
}}}}}}}`

// The schema restricts values, indexes of lists, and the fields of judged changes.
func TestSchemaMatchesPathsAndTypes(t *testing.T) {
	const head = "target: {group: example.com, kind: Pump, versions: [v1]}\n"
	for _, c := range []struct {
		reason, spec  string
		missing, idle []string
	}{
		{"a value that is allowed", `suspend: [{set: [{path: .spec.mode, value: suspended}, {path: .spec.level, value: 2.0}]}]`, nil, nil},
		{"a value that is not", `suspend: [{set: [{path: .spec.mode, value: suspnded}]}]`,
			[]string{`spec.suspend[0].set[0].path: "suspnded" is not among the values of .spec.mode in the schema of example.com/v1 Pump: "running", "suspended"; did you mean "suspended"?`}, nil},
		{"a number that is not", `hold: [{set: [{path: .spec.level, value: 9}]}]`,
			[]string{`spec.hold[0].set[0].path: 9 is not among the values of .spec.level in the schema of example.com/v1 Pump: 1, 2`}, nil},
		{"a removal", `suspend: [{set: [{path: .spec.mode, value: null}]}]`, nil, nil},
		{"a comparison that never holds does no harm",
			`suspend: [{when: [{path: .spec.mode, op: In, value: [running, rnning]}], set: [{path: .spec.mode, value: suspended}]}]`, nil,
			[]string{`spec.suspend[0].when[0].path: "rnning" is not among the values of .spec.mode in the schema of example.com/v1 Pump: "running", "suspended"; did you mean "running"?`}},
		{"a field that changes sorts and an older version does not have",
			`changes: {rollout: [.spec.mode, .spec.modes.next], createDeleteWhen: [{path: .spec.owner, op: Exists}]}`, nil,
			[]string{"spec.changes.rollout[1]: .spec.modes is not in the schema of example.com/v1 Pump; did you mean .spec.mode?",
				"spec.changes.createDeleteWhen[0].path: .spec.owner is not in the schema of example.com/v1 Pump"}},
		{"a field that is written must be there, also where it is judged",
			"suspend: [{set: [{path: .spec.off, value: true}]}]\nchanges: {scale: [.spec.off]}",
			[]string{"spec.suspend[0].set[0].path: .spec.off is not in the schema of example.com/v1 Pump"},
			[]string{"spec.changes.scale[0]: .spec.off is not in the schema of example.com/v1 Pump"}},
		{"elements by their places", `scale: [{each: '.spec.parts[*]', replicas: .n}]`, nil, nil},
		{"elements by their places, which are known by keys", `scale: [{each: '.spec.rows[*]', replicas: .n}]`,
			[]string{"spec.scale[0].each: the elements of .spec.rows are known by zone and name, and not by their places, in the schema of " +
				"example.com/v1 Pump: set nameFrom"}, nil},
	} {
		var spec v1alpha1.AdapterSpec
		if err := yaml.Unmarshal([]byte(head+c.spec), &spec); err != nil {
			t.Fatal(err)
		}
		compiled, errs := adapter.Compile("pumps.example.com", spec, adapter.Keys{})
		if len(errs) > 0 {
			t.Fatalf("%s: %v", c.reason, errs)
		}
		report, err := match(&document{pumps}, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Pump"}, compiled.Uses())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.missing, lines(report.Missing)); diff != "" {
			t.Errorf("%s: missing (-want +got):\n%s", c.reason, diff)
		}
		if diff := cmp.Diff(c.idle, lines(report.Idle)); diff != "" {
			t.Errorf("%s: without effect (-want +got):\n%s", c.reason, diff)
		}
	}
}

func lines(findings []Finding) []string {
	var all []string
	for _, f := range findings {
		all = append(all, f.String())
	}
	return all
}

// TestOptionalItemsAreLeftOutWhereTheSchemaLacksThem checks the items of each list, and a predicate on the field of an item without place
// in the schema.
func TestOptionalItemsAreLeftOutWhereTheSchemaLacksThem(t *testing.T) {
	const text = `
target: {group: example.com, kind: Pump, versions: [v1]}
scale: [{name: main, optional: true, replicas: .spec.pistons}]
suspend:
- {optional: true, set: [{path: .spec.off, value: true}]}
- set: [{path: .spec.mode, value: suspended}]
unable:
- {optional: true, because: it is new, when: [{path: .status.fresh, op: Exists}]}
- {because: it rests, when: [{path: .spec.off, op: Eq, value: true}]}
ready: [{path: .spec.off, op: NotExists}, {path: .status.phase, optional: true, default: Running, op: Eq, value: Running}]`
	var spec v1alpha1.AdapterSpec
	if err := yaml.Unmarshal([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	compiled, errs := adapter.Compile("pumps.example.com", spec, adapter.Keys{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	report, err := match(&document{pumps}, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Pump"}, compiled.Uses())
	if err != nil || !report.Matched() {
		t.Fatalf("%v, missing %v", err, report.Missing)
	}
	if diff := cmp.Diff([]string{"spec.scale[0]", "spec.suspend[0]", "spec.unable[0]"}, report.LeftOut); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	rest := adapter.Without(spec, append(report.LeftOut, "spec.suspend[1]"))
	if len(rest.Scale) != 0 || len(rest.Suspend) != 1 || rest.Suspend[0].Optional || len(rest.Unable) != 1 || rest.Unable[0].Optional {
		t.Errorf("without them the spec has %+v, %+v and %+v", rest.Scale, rest.Suspend, rest.Unable)
	}
}
