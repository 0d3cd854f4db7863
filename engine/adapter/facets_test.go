package adapter

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

func holding() workload.Plan {
	return workload.Plan{Hold: &workload.Claim[bool]{Value: true, By: peaks, Since: monday}}
}

func noting(key, value string) workload.Plan {
	return workload.Plan{Annotations: map[string]workload.Claim[string]{key: {Value: value, By: peaks, Since: monday}}}
}

// TestFacetsAreReadAndWritten writes one facet, and restores it.
func TestFacetsAreReadAndWritten(t *testing.T) {
	tests := []struct {
		name     string
		adapter  string
		keys     Keys
		doc      []byte
		plan     workload.Plan
		want     string // the spec while claimed
		state    workload.State
		message  string
		impact   v1alpha1.Impact
		values   map[string]string
		metadata string // an annotation that is there while claimed
	}{
		{name: "suspend", adapter: cronJobYAML, doc: object(`{"suspend":false}`), plan: sleep(), want: `{"suspend":true}`,
			state: workload.StateAsleep, message: "suspend false -> true", values: map[string]string{"suspend": "true"}},
		{name: "suspended by its owner", adapter: cronJobYAML, doc: object(`{"suspend":true}`), plan: sleep(), want: `{"suspend":true}`,
			state: workload.StateAlreadyAsleep, message: "already asleep by its owner"},
		{name: "a size without counts", adapter: cronJobYAML, doc: object(`{}`), plan: size(workload.SizeAtMost, 1), want: `{}`,
			state: workload.StateUnable, message: "nothing on this object can be set that way"},
		{name: "exactly without counts", adapter: cronJobYAML, doc: object(`{}`), plan: size(workload.SizeExactly, 1), want: `{}`,
			state: workload.StateUnable, message: "nothing on this object can be set that way"},
		{name: "the first variant that fits", adapter: vmYAML, doc: object(`{"running":true}`), plan: sleep(), want: `{"running":false}`,
			state: workload.StateAsleep, message: "running true -> false", values: map[string]string{"suspend": "true"}},
		{name: "the second variant, with its impact", adapter: vmYAML, doc: object(`{"runStrategy":"Always"}`), plan: sleep(),
			want: `{"runStrategy":"Halted"}`, state: workload.StateAsleep, message: `runStrategy "Always" -> "Halted"`,
			impact: v1alpha1.ImpactRollout, values: map[string]string{"suspend": "true"}},
		{name: "a field is removed", adapter: applicationYAML, doc: object(`{"syncPolicy":{"automated":{"prune":true}}}`), plan: sleep(),
			want: `{"syncPolicy":{}}`, state: workload.StateAsleep, message: `automated {"prune":true} -> absent`,
			values: map[string]string{"suspend": "true"}},
		{name: "nothing to remove", adapter: applicationYAML, doc: object(`{}`), plan: sleep(), want: `{}`,
			state: workload.StateAlreadyAsleep, message: "already asleep by its owner", values: map[string]string{"suspend": "true"}},
		{name: "hold", adapter: deploymentYAML, doc: object(`{}`), plan: holding(), want: `{"paused":true}`, state: workload.StateSet,
			message: "paused absent -> true", values: map[string]string{"hold": "true"}},
		{name: "no hold", adapter: cronJobYAML, doc: object(`{}`), plan: holding(), want: `{}`, state: workload.StateUnable,
			message: "nothing on this object can be set that way"},
		{name: "a list as value replaces", adapter: nestedYAML, doc: object(`{"power":{"lock":{"by":"me","at":1}}}`), plan: holding(),
			want: `{"power":{"lock":["flyball"]}}`, state: workload.StateSet, message: `lock {"at":1,"by":"me"} -> ["flyball"]`,
			values: map[string]string{"hold": "true"}},
		{name: "both bounds", adapter: hpaYAML, doc: object(`{"minReplicas":2,"maxReplicas":6}`),
			plan: workload.Plan{Min: number(5), Max: number(20)},
			want: `{"minReplicas":5,"maxReplicas":20}`, state: workload.StateSet, message: "minReplicas 2 -> 5, maxReplicas 6 -> 20",
			values: map[string]string{"min": "5", "max": "20"}},
		{name: "min stays below the owner's max", adapter: hpaYAML, doc: object(`{"maxReplicas":6}`), plan: workload.Plan{Min: number(8)},
			want: `{"minReplicas":6,"maxReplicas":6}`, state: workload.StateSet, message: "minReplicas absent -> 6",
			values: map[string]string{"min": "6"}},
		{name: "max stays above the owner's min", adapter: hpaYAML, doc: object(`{"minReplicas":4,"maxReplicas":6}`),
			plan: workload.Plan{Max: number(2)},
			want: `{"minReplicas":4,"maxReplicas":4}`, state: workload.StateSet, message: "maxReplicas 6 -> 4",
			values: map[string]string{"max": "4"}},
		{name: "claims that cross leave more capacity", adapter: hpaYAML, doc: object(`{"maxReplicas":6}`),
			plan: workload.Plan{Min: number(5), Max: number(3)},
			want: `{"minReplicas":5,"maxReplicas":5}`, state: workload.StateSet, message: "minReplicas absent -> 5, maxReplicas 6 -> 5",
			values: map[string]string{"min": "5", "max": "5"}},
		{name: "the kind's minimum", adapter: hpaYAML, doc: object(`{"minReplicas":2,"maxReplicas":6}`),
			plan: workload.Plan{Min: number(0), Max: number(0)},
			want: `{"minReplicas":1,"maxReplicas":1}`, state: workload.StateSet, message: "minReplicas 2 -> 1, maxReplicas 6 -> 1",
			values: map[string]string{"min": "1", "max": "1"}},
		{name: "the default is the owner's already", adapter: hpaYAML, doc: object(`{"maxReplicas":6}`), plan: workload.Plan{Min: number(1)},
			want: `{"maxReplicas":6}`, state: workload.StateSet, values: map[string]string{"min": "1"}},
		{name: "bounds as strings, parents made", adapter: knativeYAML, doc: object(`{"template":{}}`),
			plan:  workload.Plan{Min: number(2), Max: number(4)},
			want:  `{"template":{"metadata":{"annotations":{"autoscaling.knative.dev/min-scale":"2","autoscaling.knative.dev/max-scale":"4"}}}}`,
			state: workload.StateSet, impact: v1alpha1.ImpactRollout, values: map[string]string{"min": "2", "max": "4"},
			message: `autoscaling.knative.dev/min-scale absent -> "2", autoscaling.knative.dev/max-scale absent -> "4"`},
		{name: "no limit does not limit", adapter: knativeYAML,
			doc:  object(`{"template":{"metadata":{"annotations":{"autoscaling.knative.dev/max-scale":"0"}}}}`),
			plan: workload.Plan{Min: number(7)}, state: workload.StateSet, impact: v1alpha1.ImpactRollout,
			want:    `{"template":{"metadata":{"annotations":{"autoscaling.knative.dev/min-scale":"7","autoscaling.knative.dev/max-scale":"0"}}}}`,
			message: `autoscaling.knative.dev/min-scale absent -> "7"`, values: map[string]string{"min": "7"}},
		{name: "a limit of 0 is not written as no limit", adapter: knativeYAML, doc: object(`{"template":{"metadata":{"annotations":{}}}}`),
			plan: workload.Plan{Max: number(0)}, state: workload.StateSet, impact: v1alpha1.ImpactRollout,
			want:    `{"template":{"metadata":{"annotations":{"autoscaling.knative.dev/max-scale":"1"}}}}`,
			message: `autoscaling.knative.dev/max-scale absent -> "1"`, values: map[string]string{"max": "1"}},
		{name: "an ill-typed bound is left alone", adapter: knativeYAML,
			doc:  object(`{"template":{"metadata":{"annotations":{"autoscaling.knative.dev/min-scale":"few"}}}}`),
			plan: workload.Plan{Min: number(7)}, state: workload.StateUnable,
			want:    `{"template":{"metadata":{"annotations":{"autoscaling.knative.dev/min-scale":"few"}}}}`,
			message: "nothing on this object can be set that way"},
		{name: "an annotation", adapter: deploymentYAML, keys: Keys{Set: []string{"a/b"}}, doc: object(`{}`), plan: noting("a/b", "<x>"),
			want: `{}`, state: workload.StateSet, message: `a/b absent -> "<x>"`, values: map[string]string{"a/b": "<x>"}, metadata: "a/b"},
		{name: "an annotation elsewhere", adapter: nestedYAML, keys: Keys{Set: []string{"a/b"}}, doc: object(`{}`), plan: noting("a/b", "1"),
			want: `{"pool":{"notes":{"a/b":"1"}}}`, state: workload.StateSet, message: `a/b absent -> "1"`, values: map[string]string{"a/b": "1"}},
		{name: "a parent that is no object", adapter: nestedYAML, keys: Keys{Set: []string{"a/b"}}, doc: object(`{"pool":"none"}`),
			plan: noting("a/b", "1"), want: `{"pool":"none"}`, state: workload.StateUnable, message: "nothing on this object can be set that way"},
		{name: "a parent that is null", adapter: nestedYAML, keys: Keys{Set: []string{"a/b"}}, doc: object(`{"pool":{"notes":null}}`),
			plan: noting("a/b", "1"),
			want: `{"pool":{"notes":{"a/b":"1"}}}`, state: workload.StateSet, message: `a/b absent -> "1"`, values: map[string]string{"a/b": "1"}},
		{name: "the default of a count", adapter: nestedYAML, doc: object(`{"pool":{"size":{}}}`), plan: sleep(),
			want: `{"pool":{"size":{"count":0}}}`, state: workload.StateAsleep, message: "count absent -> 0",
			values: map[string]string{"replicas/main": "0"}},
		{name: "a part that is not there is not made", adapter: nestedYAML, doc: object(`{"pool":{}}`), plan: sleep(),
			want: `{"pool":{}}`, state: workload.StateUnable, message: "nothing on this object can be set that way"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := mustCompile(t, test.adapter, test.keys)
			s := newServer(test.doc)
			before := s.spec()
			r := s.settle(t, a, test.plan)
			if !path.Equal(test.want, s.spec()) {
				t.Errorf("spec while claimed: want %s, got %s", test.want, s.spec())
			}
			if r.State != test.state || r.Message != test.message {
				t.Errorf("want %s %q, got %s %q", test.state, test.message, r.State, r.Message)
			}
			if test.impact == "" {
				test.impact = v1alpha1.ImpactNone
			}
			if diff := cmp.Diff(test.impact, r.Impact); diff != "" {
				t.Errorf("impact (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.values, r.Values); test.state != workload.StateAlreadyAsleep && diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
			if test.metadata != "" && !strings.Contains(string(s.doc), `"`+test.metadata+`":`) {
				t.Errorf("no annotation %s in %s", test.metadata, s.doc)
			}
			back := s.settle(t, a, workload.Plan{})
			if want := strings.ReplaceAll(before, `{"notes":null}`, "{}"); !path.Equal(want, s.spec()) {
				t.Errorf("spec given back: want %s, got %s", want, s.spec())
			}
			if back.State != workload.StateAwake || len(s.ledger(t, a)) > 0 {
				t.Errorf("given back: state %s, ledger %v", back.State, s.ledger(t, a))
			}
			if back.Patch != nil && (back.Direction != workload.DirectionUp || back.Impact != test.impact) {
				t.Errorf("given back: direction %s, impact %s", back.Direction, back.Impact)
			}
		})
	}
}

func TestFacetsTogether(t *testing.T) {
	a := mustCompile(t, nestedYAML, Keys{Set: []string{"n"}})
	plan := sleep()
	plan.Min, plan.Max, plan.Hold = number(1), number(4), holding().Hold
	plan.Annotations = noting("n", "v").Annotations
	s := newServer(object(`{"mode":"switch","pool":{"min":2,"max":9}}`))
	r := s.settle(t, a, plan)
	const want = `{"mode":"switch","pool":{"min":1,"max":4,"notes":{"n":"v"}},
		"power":{"main":{"on":false,"reason":"asleep"},"lock":["flyball"]}}`
	if !path.Equal(want, s.spec()) || s.writes != 1 {
		t.Fatalf("want %s in one write, got %s in %d", want, s.spec(), s.writes)
	}
	wantChanged := []string{"/spec/power/main/on", "/spec/power/main/reason", "/spec/power/lock", "/spec/pool/min", "/spec/pool/max",
		"/spec/pool/notes/n"}
	if diff := cmp.Diff(wantChanged, r.Changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if r.By != nights || r.State != workload.StateAsleep || r.Direction != workload.DirectionDown {
		t.Errorf("got %s, %s, %s", r.By, r.State, r.Direction)
	}
	// One facet ends: its containers stay while others are in them.
	plan.Size = nil
	s.settle(t, a, plan)
	if want := `{"mode":"switch","pool":{"min":1,"max":4,"notes":{"n":"v"}},"power":{"lock":["flyball"]}}`; !path.Equal(want, s.spec()) {
		t.Errorf("after the size: want %s, got %s", want, s.spec())
	}
	s.settle(t, a, workload.Plan{})
	if want := `{"mode":"switch","pool":{"min":2,"max":9}}`; !path.Equal(want, s.spec()) {
		t.Errorf("at the end: want %s, got %s", want, s.spec())
	}
}

func TestAnnotationsThatCannotBeSet(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{Set: []string{v1alpha1.AnnotationLedger}})
	for _, key := range []string{v1alpha1.AnnotationLedger, "not/projected"} {
		if _, err := a.Render(projected(t, a, object(`{}`)), noting(key, "{}")); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: error %v", key, err)
		}
	}
}

// TestAnAdapterEditedMeanwhile restores fields that the adapter no longer knows.
func TestAnAdapterEditedMeanwhile(t *testing.T) {
	before := mustCompile(t, nestedYAML, Keys{Set: []string{"n"}})
	after := mustCompile(t, "target: {group: example.com, kind: Nested, versions: [v1]}", Keys{})
	plan := sleep()
	plan.Hold, plan.Annotations = holding().Hold, noting("n", "v").Annotations
	s := newServer(object(`{"mode":"switch","pool":{"min":2}}`))
	s.settle(t, before, plan)
	if len(s.ledger(t, before)) != 4 {
		t.Fatalf("ledger %v", s.ledger(t, before))
	}
	s.settle(t, after, workload.Plan{})
	if want := `{"mode":"switch","pool":{"min":2}}`; !path.Equal(want, s.spec()) {
		t.Errorf("want %s, got %s", want, s.spec())
	}
}

// TestAForgedLedger checks that a writer of annotations cannot use Flyball's rights by a forged ledger.
func TestAForgedLedger(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{})
	for _, pointer := range []string{"/spec", "/metadata/name", "/metadata/annotations", "/metadata/annotations/flyball.dev~1tuned-by",
		"/metadata/ownerReferences/0",
		"/status/x", "/kind"} {
		r := rendered(t, a, withLedger(t, `{}`, entry(pointer, `"forged"`, "")), workload.Plan{})
		if r.Patch == nil || len(r.Changed) > 0 {
			t.Errorf("%s: want the entry dropped and nothing else, got %v, %v", pointer, r.Patch, r.Changed)
		}
		if diff := cmp.Diff([]string{pointer}, r.Ignored); diff != "" || r.Message != "the ledger's entry for "+pointer+
			" is not carried out: the field cannot be written" {
			t.Errorf("%s: %s, %q", pointer, diff, r.Message)
		}
	}
	// A whole element of a list is not written by its position.
	r := rendered(t, a, withLedger(t, `{"containers":[{"image":"a"}]}`, entry("/spec/containers/0", `{"image":"b"}`, `{"image":"a"}`)),
		workload.Plan{})
	if r.Patch == nil || len(r.Changed) > 0 || r.Message == "" {
		t.Errorf("an element: got %v, %v, %q", r.Patch, r.Changed, r.Message)
	}
	// A field that the adapter may have written before its edit is restored, also under a name like an index.
	r = rendered(t, a, withLedger(t, `{"x":{"0":2}}`, entry("/spec/x/0", "1", "2")), workload.Plan{})
	if len(r.Changed) != 1 || len(r.Ignored) > 0 {
		t.Errorf("a field: got %v, ignored %v", r.Changed, r.Ignored)
	}
	if r := rendered(t, a, withLedger(t, `{"replicas":0}`, entry("/spec/replicas", "3", "0")), workload.Plan{}); len(r.Ignored) > 0 {
		t.Errorf("ignored %v", r.Ignored)
	}
}

// TestOverlappingEntries has writes for two fields, one inside the other. Two adapters may have left such entries.
func TestOverlappingEntries(t *testing.T) {
	a := mustCompile(t, applicationYAML, Keys{})
	doc := withLedger(t, `{"syncPolicy":{"automated":{"enabled":false,"prune":true}}}`,
		entry("/spec/syncPolicy/automated/enabled", "", "false"))
	s := newServer(doc)
	r := rendered(t, a, s.doc, sleep())
	if diff := cmp.Diff([]string{"/spec/syncPolicy/automated/enabled"}, r.Changed); diff != "" {
		t.Fatalf("first write (-want +got):\n%s", diff)
	}
	s.settle(t, a, sleep())
	if want := `{"syncPolicy":{}}`; !path.Equal(want, s.spec()) {
		t.Errorf("asleep: want %s, got %s", want, s.spec())
	}
	s.settle(t, a, workload.Plan{})
	if want := `{"syncPolicy":{"automated":{"prune":true}}}`; !path.Equal(want, s.spec()) {
		t.Errorf("awake: want %s, got %s", want, s.spec())
	}
}

func TestRulesWithHeldBackNeighbours(t *testing.T) {
	// A kept entry inside a wanted field makes the wish wait, and loses nothing.
	a := mustCompile(t, applicationYAML, Keys{})
	doc := withLedger(t, `{"syncPolicy":{"automated":{"enabled":false}}}`, entry("/spec/syncPolicy/automated/enabled", "true", "false"))
	plan := sleep()
	plan.Size.By = peaks
	plan.Keep = map[workload.Policy]bool{nights: true}
	if r := rendered(t, a, doc, plan); r.Patch != nil {
		t.Errorf("patch %s", r.Patch.Body)
	}
}

// TestSuspendedPolicyKeepsItsFields returns the state of an object that a suspended policy keeps.
func TestSuspendedPolicyKeepsItsFields(t *testing.T) {
	element := entry("/spec/nodeSets/0/count", "3", "1")
	element.Element = "hot"
	tests := []struct {
		name, adapter, spec string
		entry               workload.Entry
		want                workload.State
	}{
		{"a switch", cronJobYAML, `{"suspend":true}`, entry("/spec/suspend", "", "true"), workload.StateAsleep},
		{"a count", deploymentYAML, `{"replicas":0}`, entry("/spec/replicas", "", "0"), workload.StateAsleep},
		{"a count as its owner has it by a default of today", deploymentYAML, `{"replicas":1}`, entry("/spec/replicas", "", "1"),
			workload.StateSet},
		{"a count raised", deploymentYAML, `{"replicas":6}`, entry("/spec/replicas", "", "6"), workload.StateSet},
		{"a count in a list", elasticYAML, `{"nodeSets":[{"name":"hot","count":1}]}`, element, workload.StateAsleep},
		{"a hold", deploymentYAML, `{"paused":true}`, entry("/spec/paused", "", "true"), workload.StateSet},
		{"a field that the adapter does not know", deploymentYAML, `{"x":1}`, entry("/spec/x", "", "1"), workload.StateSet},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := mustCompile(t, test.adapter, Keys{})
			r := rendered(t, a, withLedger(t, test.spec, test.entry), workload.Plan{Keep: map[workload.Policy]bool{nights: true}})
			if r.Patch != nil || r.State != test.want {
				t.Errorf("want %s and no patch, got %s, %v", test.want, r.State, r.Patch)
			}
		})
	}
}

func TestLongValuesAreShortInMessages(t *testing.T) {
	long := strings.Repeat("é", 30)
	for was, want := range map[string]string{
		`{"by":"` + long + `"}`: "{...}", `["` + long + `"]`: "[...]", `"` + long + `"`: `"` + long[:38] + "...",
	} {
		a := mustCompile(t, nestedYAML, Keys{})
		r := rendered(t, a, object(`{"power":{"lock":`+was+`}}`), holding())
		if diff := cmp.Diff("lock "+want+` -> ["flyball"]`, r.Message); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestFacetsAlreadyInPlaceAreNotWritten has kinds where the presence of an annotation is the switch, whatever its
// value.
func TestFacetsAlreadyInPlaceAreNotWritten(t *testing.T) {
	const kind = `
target: {group: example.com, kind: Any, versions: [v1]}
suspend:
- set: [{path: ".metadata.annotations['example.com/paused']", value: "true"}]
  already: [{path: ".metadata.annotations['example.com/paused']", op: Exists}]
hold:
- set: [{path: .spec.automated, value: null}, {path: .spec.lock, value: 1}]
  already: [{path: .spec.automated, op: NotExists}]
`
	a := mustCompile(t, kind, Keys{})
	for _, c := range []struct {
		name      string
		doc       []byte
		plan      workload.Plan
		suspended bool
		writes    int
		state     workload.State
	}{
		{"suspended by another value", object(`{"automated":{}}`, "example.com/paused", "since Monday"), sleep(), true, 0,
			workload.StateAlreadyAsleep},
		{"suspended by the same value", object(`{"automated":{}}`, "example.com/paused", "true"), sleep(), true, 0, workload.StateAlreadyAsleep},
		{"not suspended", object(`{"automated":{}}`), sleep(), false, 1, workload.StateAsleep},
		{"held by absence", object(`{}`), holding(), false, 0, workload.StateSet},
		{"not held", object(`{"automated":{}}`), holding(), false, 1, workload.StateSet},
	} {
		if got := a.Observe(projected(t, a, c.doc)).Suspended; got != c.suspended {
			t.Errorf("%s: suspended %t", c.name, got)
		}
		s := newServer(c.doc)
		before := s.spec()
		if r := s.settle(t, a, c.plan); s.writes != c.writes || r.State != c.state {
			t.Errorf("%s: %d writes, %s", c.name, s.writes, r.State)
		}
		// Flyball's values do not count as the owner's.
		if got := a.Observe(projected(t, a, s.doc)).Suspended; got != c.suspended {
			t.Errorf("%s, carried out: suspended %t", c.name, got)
		}
		if s.settle(t, a, workload.Plan{}); s.spec() != before || s.writes != 2*c.writes {
			t.Errorf("%s: given back %s in %d writes", c.name, s.spec(), s.writes)
		}
	}
}

// TestWritesAreClassifiedByTheRulesOfFreezes checks the actions of writes by the rules of freezes: to hold only
// stops work, but to restore a
// held object can let a roll-out go.
func TestWritesAreClassifiedByTheRulesOfFreezes(t *testing.T) {
	everything := workload.Plan{Size: sleep().Size, Hold: holding().Hold}
	for _, c := range []struct {
		name, adapter, spec string
		plan                workload.Plan
		does, back          workload.Change
	}{
		{"a hold", deploymentYAML, `{"replicas":3}`, holding(), nothing, rollout},
		{"a switch", cronJobYAML, `{}`, sleep(), scaled, scaled},
		{"a count", deploymentYAML, `{"replicas":3}`, sleep(), scaled, scaled},
		{"a count by place, and holds", pathsThroughLists, `{"groups":[{"head":{"replicas":3}},{"x":1}]}`, everything, scaled, both},
	} {
		a := mustCompile(t, c.adapter, Keys{})
		s := newServer(object(c.spec))
		if r := s.settle(t, a, c.plan); r.Actions != c.does || len(r.Changed) == 0 {
			t.Errorf("%s of %v is %v", c.name, r.Changed, r.Actions.Names())
		}
		if r := s.settle(t, a, workload.Plan{}); r.Actions != c.back {
			t.Errorf("%s given back is %v", c.name, r.Actions.Names())
		}
	}
}
