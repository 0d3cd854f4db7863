package adapter

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// TestAnObjectOfAnotherProjection checks that an object of another projection has no facets and is never rendered.
func TestAnObjectOfAnotherProjection(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{})
	bare := &workload.Object{Name: "web", Ledger: workload.Ledger{entry("/spec/unknown", "1", "2"), entry("/spec/replicas", "3", "0")}}
	if o := a.Observe(bare); o.CanHold || len(o.Components) > 0 {
		t.Errorf("observed %+v", o)
	}
	for range len(a.Projection.Slots) + 1 { // one field too few is as bad as none
		if _, err := a.Render(bare, sleep()); err == nil || !strings.Contains(err.Error(), "not projected by this version") {
			t.Errorf("render: %v", err)
		}
		bare.Fields = append(bare.Fields, workload.Field{})
	}
	bare.Fields = nil
	if _, err := a.Bounds(bare, workload.Plan{}); err == nil || !strings.Contains(err.Error(), "not projected by this version") {
		t.Errorf("bounds: %v", err)
	}
}

// TestOriginalsOfContainers has conditions on containers of fields that Flyball set. A container that Flyball made is
// not the owner's.
func TestOriginalsOfContainers(t *testing.T) {
	const kind = `
target: {group: example.com, kind: Any, versions: [v1]}
hold: [{set: [{path: .spec.power.lock, value: 1}]}]
suspend: [{when: [%s], set: [{path: .spec.off, value: true}]}]
`
	for _, c := range []struct {
		name, when, spec string
		made             uint8
		want             bool
	}{
		{"the owner's, exists", "{path: .spec.power, op: Exists}", `{"power":{"lock":1}}`, 0, true},
		{"made, exists", "{path: .spec.power, op: Exists}", `{"power":{"lock":1}}`, 2, false},
		{"made further up, exists", "{path: .spec.power, op: Exists}", `{"power":{"lock":1}}`, 1, false},
		{"the owner's, empty", "{path: .spec.power, op: Eq, value: {}}", `{"power":{"lock":1}}`, 0, true},
		{"made, empty", "{path: .spec.power, op: NotExists}, {path: .spec.power, default: 5, op: Eq, value: 5}", `{"power":{"lock":1}}`, 2, true},
		{"made, with more in it", "{path: .spec.power, op: Eq, value: {x: 1}}", `{"power":{"lock":1,"x":1}}`, 2, true},
	} {
		a := mustCompile(t, sprintf(kind, c.when), Keys{})
		doc := withLedger(t, c.spec, madeEntry("/spec/power/lock", "1", c.made))
		if got := a.Observe(projected(t, a, doc)).CanSuspend; got != c.want {
			t.Errorf("%s: got %t", c.name, got)
		}
	}
}

// TestOwnersFieldInACreatedParentStays restores a field with made parents after its owner has added a field to one.
func TestOwnersFieldInACreatedParentStays(t *testing.T) {
	a := mustCompile(t, "target: {kind: K, versions: [v1]}\nhold: [{set: [{path: .spec.a.b.c, value: 1}]}]", Keys{})
	s := newServer(object(`{"kept":1}`))
	s.settle(t, a, holding())
	s.set("/spec/a/x", "2")
	s.settle(t, a, workload.Plan{})
	if want := `{"a":{"x":2},"kept":1}`; s.spec() != want {
		t.Errorf("got %s, want %s", s.spec(), want)
	}
}

// TestAnOwnersZeroStays restores a count of 0, for any bounds of its autoscaler.
func TestAnOwnersZeroStays(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{})
	s := newServer(object(`{"replicas":0}`))
	s.settle(t, a, size(workload.SizeExactly, 4))
	s.settle(t, a, inside(workload.Plan{}, 1, 9))
	if want := `{"replicas":0}`; s.spec() != want {
		t.Errorf("got %s, want %s", s.spec(), want)
	}
}

func TestNumbersInOtherSpellings(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{})
	if c := a.Observe(projected(t, a, object(`{"replicas":3.0}`))).Components; len(c) != 1 || c[0].Replicas != 3 {
		t.Errorf("3.0 is %v", c)
	}
	b := mustCompile(t, knativeYAML, Keys{})
	doc := object(`{"template":{"metadata":{"annotations":{"autoscaling.knative.dev/min-scale":"0"}}}}`)
	if o := b.Observe(projected(t, b, doc)); o.Bounds.Min == nil || *o.Bounds.Min != 0 {
		t.Errorf("a bound of 0 is %v", o.Bounds.Min)
	}
}

// TestOneBound has kinds with one end of a range.
func TestOneBound(t *testing.T) {
	for _, end := range []string{"min", "max"} {
		a := mustCompile(t, "target: {kind: K, versions: [v1]}\nbounds: {"+end+": {path: .spec.n}}\n"+
			"hold: [{when: [{path: .spec.mode, op: Eq, value: x}], set: [{path: .spec.paused, value: true}]}]", Keys{})
		obj := projected(t, a, object(`{"n":2,"mode":"x"}`))
		o := a.Observe(obj)
		low, high := a.Floors()
		b, err := a.Bounds(obj, workload.Plan{})
		isMin := end == "min"
		if !o.CanHold || (o.Bounds.Min != nil) != isMin || (o.Bounds.Max != nil) == isMin || (low != nil) != isMin || (high != nil) == isMin ||
			err != nil || (b.Min != nil) != isMin || (b.Max != nil) == isMin {
			t.Errorf("%s: observed %+v, bounds %+v, floors %v and %v, %v", end, o, b, low, high, err)
		}
		for pointer, want := range map[string]string{"/spec/n": end, "/spec/m": ""} {
			if got := a.BoundAt(pointer); got != want || a.IsBound(pointer) != (want != "") {
				t.Errorf("%s: %s is %q", end, pointer, got)
			}
		}
	}
}

// TestImpactOfARestore checks that a restore has the impact of the variant that wrote the field, also if another
// variant fits now.
func TestImpactOfARestore(t *testing.T) {
	for _, c := range []struct {
		name, adapter, spec string
		entry               workload.Entry
		want                v1alpha1.Impact
	}{
		{"a variant that no longer fits", vmYAML, `{"running":true,"runStrategy":"Halted"}`, entry("/spec/runStrategy", `"Always"`, `"Halted"`),
			v1alpha1.ImpactRollout},
		{"a variant that restarts nothing", vmYAML, `{"running":false}`, entry("/spec/running", "true", "false"), v1alpha1.ImpactNone},
		{"no variant fits", strings.ReplaceAll(vmYAML, "- set:", "- when: [{path: .spec.x, op: Exists}]\n  set:"), `{"runStrategy":"Halted"}`,
			entry("/spec/runStrategy", `"Always"`, `"Halted"`), v1alpha1.ImpactRollout},
		{"an unwritten field of a kind without a template", cronJobYAML, `{"x":1}`, entry("/spec/x", "2", "1"), v1alpha1.ImpactNone},
		{"an unwritten field in the template", deploymentYAML, `{"template":{"x":1}}`, entry("/spec/template/x", "2", "1"),
			v1alpha1.ImpactRollout},
		{"the template itself", deploymentYAML, `{"template":1}`, entry("/spec/template", "2", "1"), v1alpha1.ImpactRollout},
		{"an unwritten field beside the template", deploymentYAML, `{"x":1}`, entry("/spec/x", "2", "1"), v1alpha1.ImpactNone},
	} {
		a := mustCompile(t, c.adapter, Keys{})
		r := rendered(t, a, withLedger(t, c.spec, c.entry), workload.Plan{})
		if len(r.Changed) != 1 || r.Impact != c.want {
			t.Errorf("%s: impact %s of %v, want %s", c.name, r.Impact, r.Changed, c.want)
		}
	}
}

// TestBothWaysIsDown checks the direction of a write that reduces one value and restores another: it is down.
func TestBothWaysIsDown(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{})
	r := rendered(t, a, withLedger(t, `{"replicas":0}`, entry("/spec/replicas", "3", "0")), holding())
	if len(r.Changed) != 2 || r.Direction != workload.DirectionDown {
		t.Errorf("%v is %s", r.Changed, r.Direction)
	}
}

// TestExistenceOfAnnotationsIsProjectedForKindsWithListsOnly checks that the existence of the map of annotations is
// kept only for a kind with lists.
func TestExistenceOfAnnotationsIsProjectedForKindsWithListsOnly(t *testing.T) {
	keys := Keys{Set: []string{"a", "b"}}
	if a := mustCompile(t, deploymentYAML, keys); a.AnnotationsMap != nil {
		t.Errorf("annotations %v", a.AnnotationsMap)
	}
	if a := mustCompile(t, elasticYAML, keys); a.AnnotationsMap == nil {
		t.Error("a JSON Patch does not know whether there are annotations")
	}
}

func TestTheLongestPath(t *testing.T) {
	mustCompile(t, "target: {kind: K, versions: [v1]}\nscale: [{name: main, replicas: "+strings.Repeat(".a", projection.MaxSteps)+"}]", Keys{})
}

func TestTheLongestTextsInMessages(t *testing.T) {
	const limit = 40
	for open, end := range map[string]string{`{"a":"`: `"}`, `["`: `"]`, `"`: `"`} {
		text := open + strings.Repeat("x", limit-len(open)-len(end)) + end
		if diff := cmp.Diff(text, path.Brief(text)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestNullsInsideOriginals checks that nulls inside of originals come back. The API server keeps them in a nullable
// object, but a merge patch cannot write them.
func TestNullsInsideOriginals(t *testing.T) {
	a := mustCompile(t, `
target: {group: example.com, kind: Any, versions: [v1]}
suspend: [{set: [{path: .spec.sync, value: null}, {path: .spec.mode, value: [asleep]}]}]
`, Keys{})
	const spec = `{"sync":{"prune":true,"retry":{"limit":null}},"mode":{"on":null}}`
	s := newServer(object(spec))
	s.settle(t, a, sleep())
	if want := `{"mode":["asleep"]}`; !path.Equal(want, s.spec()) {
		t.Fatalf("asleep: %s", s.spec())
	}
	if s.settle(t, a, workload.Plan{}); !path.Equal(spec, s.spec()) {
		t.Errorf("given back: %s", s.spec())
	}
	if bytes.Contains(s.doc, []byte("flyball.dev/ledger")) {
		t.Errorf("the ledger is left: %s", s.doc)
	}
}
