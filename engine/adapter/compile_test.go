package adapter

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
)

func TestCompileErrors(t *testing.T) {
	const head = "target: {group: example.com, kind: Any, versions: [v1]}\n"
	tests := []struct {
		name, spec string
		want       []string // how each error begins
	}{
		{"no kind, no version", "target: {group: example.com, kind: '', versions: []}", []string{
			"spec.target.kind: Required value", "spec.target.versions: Required value"}},
		{"a version twice", "target: {kind: Any, versions: [v1, v2, v1]}", []string{`spec.target.versions[2]: Duplicate value: "v1"`}},
		{"a path with a column", head + "scale: [{name: main, replicas: .spec..replicas}]", []string{
			`spec.scale[0].replicas: Invalid value: ".spec..replicas": column 6: recursion`}},
		{"no path", head + "scale: [{name: main, replicas: ''}]", []string{"spec.scale[0].replicas: Required value"}},
		{"the whole object", head + "scale: [{name: main, replicas: $}]", []string{
			`spec.scale[0].replicas: Invalid value: "$": must name a field, not the whole object`}},
		{"too deep", head + "scale: [{name: main, replicas: " + strings.Repeat(".a", 65) + "}]",
			[]string{"spec.scale[0].replicas: Invalid value: "}},
		{"a wildcard without each", head + `scale: [{name: main, replicas: ".spec.pools[*].n"}]`, []string{
			`spec.scale[0].replicas: Invalid value: ".spec.pools[*].n": must name one place: no [*] and no filter`}},
		{"no name", head + "scale: [{replicas: .spec.replicas}]", []string{"spec.scale[0].name: Required value: a name, unless each is set"}},
		{"two of a name", head + "scale: [{name: a, replicas: .spec.x}, {name: a, replicas: .spec.z}]",
			[]string{`spec.scale[1].name: Duplicate value: "a"`}},
		{"two of a path", head + "scale: [{name: a, replicas: .spec.x}, {name: b, replicas: .spec.x}]", []string{
			`spec.scale[1].replicas: Invalid value: ".spec.x": overlaps with .spec.x ` +
				`of spec.scale[0].replicas: one place must not be written twice`}},
		{"numbers below 0", head + "scale: [{name: a, replicas: .spec.x, default: -1, minimum: -2}]", []string{
			"spec.scale[0].default: Invalid value: -1: must be 0 or more", "spec.scale[0].minimum: Invalid value: -2: must be 0 or more"}},
		{"a default below the minimum", head + "scale: [{name: a, replicas: .spec.x, default: 1, minimum: 2}]", []string{
			"spec.scale[0].default: Invalid value: 1: must not be below the minimum of 2"}},
		{"a default bound below the minimum", head +
			"bounds: {min: {path: .spec.x, default: 0, minimum: 1}, max: {path: .spec.z, default: 0, minimum: 1, unlimited: 0}}", []string{
			"spec.bounds.min.default: Invalid value: 0: must not be below the minimum of 1"}},
		{"zero means nothing", head + "scale: [{name: a, replicas: .spec.x, zeroMeans: 0, minimum: 1}]", []string{
			"spec.scale[0].zeroMeans: Invalid value: 0: must be 1 or more"}},
		{"zero means more, and asleep is zero", head + "scale: [{name: a, replicas: .spec.x, zeroMeans: 3}]", []string{
			"spec.scale[0].zeroMeans: Invalid value: 3: needs a minimum of 1 or more"}},
		{"variants that are never used", head +
			"suspend: [{when: [{path: .spec.k, op: Exists}], set: [{path: .spec.x, value: 1}]}, {set: [{path: .spec.y, value: 1}]}, {set: " +
			"[{path: .spec.z, value: 1}]}]\n" +
			"hold: [{set: [{path: .spec.a, value: 1}]}, {when: [{path: .spec.k, op: Exists}], set: [{path: .spec.b, value: 1}]}]", []string{
			"spec.suspend[2]: Forbidden: is never used: the variant before it has no when", "spec.hold[1]: Forbidden: is never used"}},
		{"already asleep, and able to sleep", head + "unable: [{when: [{path: .spec.x, op: Exists}], because: it ended, alreadyAsleep: true, " +
			"claims: [Size]}]", []string{"spec.unable[0].alreadyAsleep: Invalid value: true: needs the claim Sleep"}},
		{"an unknown via", head + "scale: [{name: a, replicas: .spec.x, via: Put}]", []string{
			`spec.scale[0].via: Unsupported value: "Put": supported values: "Patch", "Scale"`}},
		{"two behind /scale", head + "scale: [{name: a, replicas: .spec.x, via: Scale}, {name: b, replicas: .spec.z, via: Scale}]", []string{
			`spec.scale[1].via: Invalid value: "Scale": an object has one /scale subresource`}},
		{"each behind /scale", head + `scale: [{each: ".spec.pools[*]", nameFrom: .name, replicas: .n, via: Scale}]`, []string{
			`spec.scale[0].via: Invalid value: "Scale": /scale has one count`}},
		{"another writer behind /scale", head +
			"scale: [{name: a, replicas: .spec.x, via: Scale}]\nbounds: {max: {path: .spec.x}}", []string{
			`spec.bounds.max.path: Invalid value: ".spec.x": overlaps with .spec.x of spec.scale[0].replicas`}},
		{"a condition with each", head + `scale: [{each: ".spec.pools[*]", nameFrom: .name, replicas: .n, when: [{path: .spec.a, op: Exists}]}]`,
			[]string{
				`spec.scale[0].when: Forbidden: cannot be used with each`}},
		{"paths of a condition", head + `scale: [{name: a, replicas: .spec.x, when: [{path: '.a[', op: Exists}, {path: .spec.b, op: Eq}]}]`,
			[]string{
				`spec.scale[0].when[0].path: Invalid value: ".a[": column 3`,
				"spec.scale[0].when[1].value: Required value: exactly one of value and valueFrom"}},
		{"each without elements", head + "scale: [{each: .spec.pools, nameFrom: .name, replicas: .n}]", []string{
			`spec.scale[0].each: Invalid value: ".spec.pools": must end in [*] or a filter`}},
		{"names without each", head + `scale: [{name: a, nameFrom: .name, replicas: .n}]`, []string{
			`spec.scale[0].nameFrom: Invalid value: ".name": goes together with each`}},
		{"each under metadata", head + `scale: [{each: ".metadata.ownerReferences[*]", nameFrom: .name, replicas: .n}]`, []string{
			`spec.scale[0].replicas: Invalid value: ".n": under .metadata only single annotations and labels can be written`}},
		{"wildcards under each", head + `scale: [{each: ".spec.pools[*]", nameFrom: ".names[*]", replicas: ".n[*]"}]`, []string{
			`spec.scale[0].nameFrom: Invalid value: ".names[*]": must name one place`,
			`spec.scale[0].replicas: Invalid value: ".n[*]": must name one place`}},
		{"status", head + "hold: [{set: [{path: .status.x, value: 1}]}]", []string{
			`spec.hold[0].set[0].path: Invalid value: ".status.x": .status cannot be written`}},
		{"identity", head +
			"hold: [{set: [{path: .kind, value: X}, {path: .metadata.name, value: x}, {path: .metadata.annotations, value: {}}, {path: " +
			".metadata.labels.a.b, value: x}]}]",
			[]string{`spec.hold[0].set[0].path: Invalid value: ".kind": .kind cannot be written`,
				`spec.hold[0].set[1].path: Invalid value: ".metadata.name": under .metadata only single annotations`,
				`spec.hold[0].set[2].path: Invalid value: ".metadata.annotations": under .metadata only single annotations`,
				`spec.hold[0].set[3].path: Invalid value: ".metadata.labels.a.b": under .metadata only single annotations`}},
		{"the ledger", head + "hold: [{set: [{path: \".metadata.annotations['flyball.dev/ledger']\", value: x}]}]", []string{
			`spec.hold[0].set[0].path: Invalid value: ".metadata.annotations['flyball.dev/ledger']": ` +
				`flyball.dev/ annotations and labels cannot be written`}},
		{"a list element as a whole", head + "hold: [{set: [{path: '.spec.args[0]', value: x}]}]", []string{
			`spec.hold[0].set[0].path: Invalid value: ".spec.args[0]": must end in a field`}},
		{"not a field first", head + "hold: [{set: [{path: '[0].a', value: x}]}]",
			[]string{`spec.hold[0].set[0].path: Invalid value: "[0].a": must begin with a field`}},
		{"one variant twice in a place", head + "suspend: [{set: [{path: .spec.a, value: 1}, {path: .spec.a.b, value: 2}]}]", []string{
			`spec.suspend[0].set[1].path: Invalid value: ".spec.a.b": overlaps with .spec.a of spec.suspend[0].set[0].path`}},
		{"two facets in one place", head + "suspend: [{set: [{path: .spec.a, value: null}]}]\nhold: [{set: [{path: .spec.a.b, value: 2}]}]",
			[]string{
				`spec.hold[0].set[0].path: Invalid value: ".spec.a.b": overlaps with .spec.a of spec.suspend[0].set[0].path: one place`}},
		{"annotations inside a field that is written", head + "suspend: [{set: [{path: .spec.a, value: null}]}]\nannotate: {path: .spec.a.notes}",
			[]string{
				`spec.annotate.path: Invalid value: ".spec.a.notes": overlaps with .spec.a of spec.suspend[0].set[0].path`}},
		{"annotations in metadata itself", head + "annotate: {path: .metadata}", []string{
			`spec.annotate.path: Invalid value: ".metadata": under .metadata only single annotations`}},
		{"nothing to set", head + "suspend: [{set: [], impact: Bad}]", []string{
			`spec.suspend[0].impact: Unsupported value: "Bad"`, "spec.suspend[0].set: Required value"}},
		{"an object, in which an owner's edit would be part of the value", head + "suspend: [{set: [{path: .spec.a, value: {b: {c: null}}}]}]",
			[]string{`spec.suspend[0].set[0].value: Invalid value: "{\"b\":{\"c\":null}}": must not be an object with members`}},
		{"a minimum that lifts counts of another list", head + `scale: [{each: '.spec.a[*]', replicas: .n}]` +
			"\nbounds: {each: '.spec.b[*]', min: {path: .low}, liftsCounts: true}", []string{
			"spec.bounds.liftsCounts: Invalid value: true: needs min, and the same each in scale and bounds"}},
		{"no bound", head + "bounds: {encoding: Roman}", []string{"spec.bounds: Required value: min, max or both",
			`spec.bounds.encoding: Unsupported value: "Roman"`}},
		{"one bound twice", head + "bounds: {min: {path: .spec.n, minimum: -1}, max: {path: .spec.n, unlimited: -1, default: -1}}", []string{
			"spec.bounds.min.minimum: Invalid value: -1", "spec.bounds.max.default: Invalid value: -1",
			"spec.bounds.max.unlimited: Invalid value: -1",
			`spec.bounds.max.path: Invalid value: ".spec.n": overlaps with .spec.n of spec.bounds.min.path`}},
		{"governsKind alone", head + "governsKind: {kind: Deployment}", []string{"spec.governs: Required value: governsKind needs it"}},
		{"governs with elements", head + `governs: ".spec.targets[*]"`,
			[]string{`spec.governs: Invalid value: ".spec.targets[*]": must name one place`}},
		{"owns without a way to hold", head + `owns: {each: ".status.r[*]"}`,
			[]string{"spec.owns: Forbidden: needs suspend or hold, and no scale"}},
		{"owns beside a count", head + `scale: [{name: a, replicas: .spec.x}]
hold: [{set: [{path: .spec.a, value: 1}]}]
owns: {each: ".status.r[*]"}`, []string{"spec.owns: Forbidden: needs suspend or hold, and no scale"}},
		{"owns without elements", head + "hold: [{set: [{path: .spec.a, value: 1}]}]\nowns: {each: .status.r, when: [{path: .a, op: Eq}]}",
			[]string{
				"spec.owns.when[0].value: Required value", `spec.owns.each: Invalid value: ".status.r": must end in [*] or a filter`}},
		{"owns with many identifiers", head + `hold: [{set: [{path: .spec.a, value: 1}]}]
owns: {each: ".status.r[*]", id: ".ids[*]"}`, []string{`spec.owns.id: Invalid value: ".ids[*]": must name one place`}},
		{"staysAtZero without governs",
			head + "hold: [{set: [{path: .spec.paused, value: true}]}]\nstaysAtZero: [{path: .spec.min, op: Eq, value: 0}]",
			[]string{"spec.staysAtZero: Forbidden: needs governs and hold"}},
		{"staysAtZero without hold", head + "governs: .spec.ref\nstaysAtZero: [{path: .spec.min, op: Eq, value: 0}]",
			[]string{"spec.staysAtZero: Forbidden: needs governs and hold"}},
		{"followed objects of no kind", head + "follows: {kind: '', name: .spec.queue}", []string{"spec.follows.kind: Required value"}},
		{"followed objects without a name", head + "follows: {kind: Queue, name: ''}", []string{"spec.follows.name: Required value"}},
		{"a controller without a kind", head + "ignoreControllers: [{kind: ''}]", []string{"spec.ignoreControllers[0].kind: Required value"}},
		{"governsKind without a kind", head + "governs: .spec.ref\ngovernsKind: {kind: ''}", []string{"spec.governsKind.kind: Required value"}},
		{"pods", head + `pods: {selector: ".spec[", template: ".spec.t[*]"}`, []string{
			`spec.pods.selector: Invalid value: ".spec[": column 6: `, `spec.pods.template: Invalid value: ".spec.t[*]": must name one place`}},
		{"an unknown op", head + "ready: [{path: .spec.n, op: Like, value: 1}]", []string{`spec.ready[0].op: Unsupported value: "Like"`}},
		{"Exists with a value", head + "ready: [{path: .spec.n, op: Exists, value: 1}, {path: .spec.n, op: NotExists, default: 1}]", []string{
			`spec.ready[0].op: Invalid value: "Exists": takes no value`, `spec.ready[1].op: Invalid value: "NotExists": takes no value`}},
		{"no operand, or two", head + "ready: [{path: .spec.n, op: Eq}, {path: .spec.n, op: Eq, value: 1, valueFrom: .spec.m}]", []string{
			"spec.ready[0].value: Required value: exactly one of value and valueFrom",
			"spec.ready[1].value: Required value: exactly one of value and valueFrom"}},
		{"an order of strings", head + "ready: [{path: .spec.n, op: Ge, value: high}]",
			[]string{`spec.ready[0].value: Invalid value: "\"high\"": Ge compares numbers`}},
		{"In without a list", head + "ready: [{path: .spec.n, op: In, value: a}]",
			[]string{`spec.ready[0].value: Invalid value: "\"a\"": In takes a list`}},
		{"paths of a predicate", head + "suspend: [{when: [{path: '.a[', op: Eq, valueFrom: '.b['}], set: [{path: .spec.a, value: 1}]}]",
			[]string{
				`spec.suspend[0].when[0].path: Invalid value: ".a[": column 3`, `spec.suspend[0].when[0].valueFrom: Invalid value: ".b[": column 3`}},
		{"changes", head + "changes: {rollout: ['.spec[', .spec.a, .spec.a], scale: [.spec.a], ignore: [.spec.a, $, .spec.b, .spec.b]}", []string{
			`spec.changes.rollout[0]: Invalid value: ".spec[": column 6`, `spec.changes.rollout[2]: Duplicate value: ".spec.a"`,
			`spec.changes.ignore[0]: Duplicate value: ".spec.a"`, `spec.changes.ignore[1]: Invalid value: "$": must name a field`,
			`spec.changes.ignore[3]: Duplicate value: ".spec.b"`}},
		{"requests", head + "changes: {delete: [.spec.a], ignore: [.spec.b], requests: [.spec.a, .spec.a, .spec.b, .spec.c, '.spec[']}", []string{
			`spec.changes.requests[1]: Duplicate value: ".spec.a"`,
			`spec.changes.requests[2]: Invalid value: ".spec.b": must be in create, delete, rollout or scale too`,
			`spec.changes.requests[3]: Invalid value: ".spec.c": must be in`, `spec.changes.requests[4]: Invalid value: ".spec[": column 6`}},
		{"subresources", head + "changes: {subresources: [status, scale, '', status]}", []string{
			`spec.changes.subresources[1]: Invalid value: "scale": is judged anyway`, `spec.changes.subresources[2]: Required value`,
			`spec.changes.subresources[3]: Duplicate value: "status"`}},
		{"createDeleteWhen", head + "changes: {createDeleteWhen: [{path: .spec.a, op: Eq}]}", []string{
			`spec.changes.createDeleteWhen[0].value: Required value: exactly one of value and valueFrom`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, errs := Compile("any", specOf(t, test.spec), Keys{})
			if a != nil {
				t.Error("an adapter beside errors")
			}
			var got []string
			for i, err := range errs {
				text := err.Error()
				if i < len(test.want) && strings.HasPrefix(text, test.want[i]) {
					text = test.want[i]
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompileInvalidJSON(t *testing.T) {
	spec := specOf(t, cronJobYAML)
	spec.Suspend[0].Set[0].Value.Raw = []byte("{")
	null := spec.Suspend[0].Set[0].Value.DeepCopy()
	null.Raw = nil
	bad := v1alpha1.Predicate{Path: ".spec.a", Op: v1alpha1.OpEq, Value: spec.Suspend[0].Set[0].Value.DeepCopy()}
	spec.Ready = []v1alpha1.ReadyPredicate{{Predicate: bad},
		{Predicate: v1alpha1.Predicate{Path: ".spec.a", Op: v1alpha1.OpEq, Value: null}},
		{Predicate: v1alpha1.Predicate{Path: ".spec.a", Op: v1alpha1.OpExists}, When: []v1alpha1.Predicate{bad}}}
	_, errs := Compile("cronjobs.batch", spec, Keys{})
	if len(errs) != 4 || errs[0].Field != "spec.suspend[0].set[0].value" || errs[1].Field != "spec.ready[0].value" ||
		errs[3].Field != "spec.ready[2].when[0].value" ||
		errs[1].Detail != "is not JSON" || errs[2].Detail != "null is no value: use Exists or NotExists" {
		t.Errorf("got %v", errs)
	}
}

func TestAccessorsDescribeTheCompiledAdapter(t *testing.T) {
	caps := func(text string) []v1alpha1.Capability { return mustCompile(t, text, Keys{}).Capabilities() }
	for text, want := range map[string][]v1alpha1.Capability{
		deploymentYAML: {v1alpha1.CapabilityScale, v1alpha1.CapabilityHold, v1alpha1.CapabilityResources, v1alpha1.CapabilityAnnotate,
			v1alpha1.CapabilityDeletionCost},
		allocatedYAML: {v1alpha1.CapabilityResources, v1alpha1.CapabilityUtilisation, v1alpha1.CapabilityAnnotate},
		cronJobYAML:   {v1alpha1.CapabilitySuspend, v1alpha1.CapabilityAnnotate},
		hpaYAML:       {v1alpha1.CapabilityBounds, v1alpha1.CapabilityAnnotate},
		"target: {kind: ConfigMap, versions: [v1]}": {v1alpha1.CapabilityAnnotate},
	} {
		if diff := cmp.Diff(want, caps(text)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	d, s := mustCompile(t, deploymentYAML, Keys{}), mustCompile(t, scaledYAML, Keys{})
	if d.UsesScale() || !s.UsesScale() || d.CanGovern() || !mustCompile(t, hpaYAML, Keys{}).CanGovern() {
		t.Error("wrong rights")
	}
	if d.Name() != "tests" || d.GroupKind().String() != "Deployment.apps" || !slices.Equal(d.Versions(), []string{"v1"}) ||
		d.Pods().Template != ".spec.template" || !d.Can(v1alpha1.CapabilityScale) || d.Can(v1alpha1.CapabilityBounds) {
		t.Error("wrong identity")
	}
}

func TestUsesListsPathsAndTypesOfAnAdapter(t *testing.T) {
	const text = `
target: {group: example.com, kind: Any, versions: [v1]}
scale: [{each: ".spec.pools[*]", nameFrom: .name, replicas: .n}, {name: main, when: [{path: .spec.a, op: Ne, value: x}], replicas: .spec.n}]
suspend: [{when: [{path: .spec.a, op: In, value: [1, x]}, {path: .spec.e, op: Exists}], set: [{path: .spec.b, value: null},
  {path: .spec.c, value: "x"}]}]
bounds: {min: {path: .spec.min}, encoding: String}
governs: .spec.ref
pods: {selector: .spec.selector, template: .spec.template}
ready: [{path: .status.n, op: Ge, valueFrom: .spec.n}]
changes: {ignore: [.spec.x]}
`
	type use struct {
		Field, Path string
		Write       bool
		Types       []path.Type
	}
	var got []use
	for _, u := range mustCompile(t, text, Keys{}).Uses() {
		got = append(got, use{u.Field, u.Path.String(), u.Write, u.Types})
	}
	number, text1, object := []path.Type{path.Number}, []path.Type{path.String}, []path.Type{path.Object}
	want := []use{
		{"spec.pods.selector", ".spec.selector", false, object},
		{"spec.pods.template", ".spec.template", false, object},
		{"spec.scale[0].each", ".spec.pools[*]", false, object},
		{"spec.scale[0].nameFrom", ".spec.pools[*].name", false, text1},
		{"spec.scale[0].replicas", ".spec.pools[*].n", true, number},
		{"spec.scale[1].when[0].path", ".spec.a", false, text1},
		{"spec.scale[1].replicas", ".spec.n", true, number},
		{"spec.suspend[0].when[0].path", ".spec.a", false, []path.Type{path.Number, path.String}},
		{"spec.suspend[0].when[1].path", ".spec.e", false, nil},
		{"spec.suspend[0].set[0].path", ".spec.b", true, nil},
		{"spec.suspend[0].set[1].path", ".spec.c", true, text1},
		{"spec.bounds.min.path", ".spec.min", true, text1},
		{"spec.governs", ".spec.ref", false, object},
		{"spec.governs", ".spec.ref.name", false, text1},
		{"spec.governs", ".spec.ref.kind", false, text1},
		{"spec.annotate.path", ".metadata.annotations", true, object},
		{"spec.ready[0].path", ".status.n", false, number},
		{"spec.ready[0].valueFrom", ".spec.n", false, number},
		{"spec.changes.ignore[0]", ".spec.x", false, nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProjectionID(t *testing.T) {
	id := func(text string, keys Keys) string { return mustCompile(t, text, keys).ProjectionID() }
	base := id(vmYAML, Keys{Match: []string{"a", "b"}, Set: []string{"c"}})
	same := map[string]string{
		"keys in another order": id(vmYAML, Keys{Match: []string{"b", "a", "b"}, Set: []string{"c"}}),
		"another value, impact": id(strings.NewReplacer("Halted", "Manual", "Rollout", "None").Replace(vmYAML),
			Keys{Match: []string{"a", "b"}, Set: []string{"c"}}),
		"a condition of ready":   id(vmYAML+"ready: [{path: .status.ready, op: Exists}]", Keys{Match: []string{"a", "b"}, Set: []string{"c"}}),
		"other rules of changes": id(vmYAML+"changes: {ignore: [.spec.x]}", Keys{Match: []string{"a", "b"}, Set: []string{"c"}}),
	}
	for name, got := range same {
		if got != base {
			t.Errorf("%s: changed", name)
		}
	}
	other := map[string]string{
		"a template":     id(vmYAML+"pods: {template: .spec.template}", Keys{Match: []string{"a", "b"}, Set: []string{"c"}}),
		"a key to match": id(vmYAML, Keys{Match: []string{"a"}, Set: []string{"c"}}),
		"a key to set":   id(vmYAML, Keys{Match: []string{"a", "b"}}),
		"a path":         id(strings.ReplaceAll(vmYAML, "runStrategy", "strategy"), Keys{Match: []string{"a", "b"}, Set: []string{"c"}}),
		"a condition": id(vmYAML+"scale: [{name: main, when: [{path: .spec.keep, op: Exists}], replicas: .spec.running}]",
			Keys{Match: []string{"a", "b"}, Set: []string{"c"}}),
		"a list of counts": id(vmYAML+"scale: [{each: '.spec.x[*]', nameFrom: .name, replicas: .n}]",
			Keys{Match: []string{"a", "b"}, Set: []string{"c"}}),
	}
	seen := map[string]string{base: "the base"}
	for name, got := range other {
		if before, ok := seen[got]; ok {
			t.Errorf("%s: the same as %s", name, before)
		}
		seen[got] = name
	}
}

func TestCompileKeepsNoReferenceToItsSpec(t *testing.T) {
	spec := specOf(t, hpaYAML)
	spec.GovernsKind = &v1alpha1.KindRef{Group: "apps", Kind: "Deployment"}
	a, errs := Compile("tests", spec, Keys{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	*spec.Bounds.Min.Default, spec.GovernsKind.Kind, spec.Target.Versions[0] = 9, "Other", "v9"
	obj := projected(t, a, object(`{"scaleTargetRef":{"name":"web"}}`))
	if ref, _ := a.Governs(obj); ref.Kind != "Deployment" || *a.Observe(obj).Bounds.Min != 1 || a.Versions()[0] != "v2" {
		t.Errorf("the adapter changed with its spec: %v, min %d, %v", ref, *a.Observe(obj).Bounds.Min, a.Versions())
	}
}
