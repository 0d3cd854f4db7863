package adapter

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

func ptr(n int64) *int64 { return &n }

func TestObserveReadsTheStateOfAnObject(t *testing.T) {
	const nested = "/spec/power/main/on"
	const mapYAML = "target: {kind: K, versions: [v1]}\nscale: [{each: '.spec.map[*]', replicas: .n}]"
	tests := []struct {
		name    string
		adapter string
		doc     []byte
		want    workload.Observed
	}{
		{"a count", deploymentYAML, object(`{"replicas":3}`),
			workload.Observed{Components: []workload.Component{{Name: "main", Replicas: 3}}, CanHold: true}},
		{"the default", deploymentYAML, object(`{}`),
			workload.Observed{Components: []workload.Component{{Name: "main", Replicas: 1}}, CanHold: true}},
		{"asleep: the original", deploymentYAML, withLedger(t, `{"replicas":0}`, entry("/spec/replicas", "3", "0")),
			workload.Observed{Components: []workload.Component{{Name: "main", Replicas: 3}}, CanHold: true}},
		{"asleep: absent before", deploymentYAML, withLedger(t, `{"replicas":0}`, entry("/spec/replicas", "", "0")),
			workload.Observed{Components: []workload.Component{{Name: "main", Replicas: 1}}, CanHold: true}},
		{"changed by somebody else: theirs", deploymentYAML, withLedger(t, `{"replicas":5}`, entry("/spec/replicas", "3", "0")),
			workload.Observed{Components: []workload.Component{{Name: "main", Replicas: 5}}, CanHold: true}},
		{"no default in a part that is not there", nestedYAML, object(`{"pool":{}}`), workload.Observed{CanHold: true}},
		{"no default in a part that Flyball made", nestedYAML,
			withLedger(t, `{"pool":{"size":{"count":0}}}`, madeEntry("/spec/pool/size/count", "0", 3)), workload.Observed{CanHold: true}},
		{"the default in a part that its owner put beside what Flyball made", nestedYAML,
			withLedger(t, `{"pool":{"max":0,"size":{}}}`, madeEntry("/spec/pool/max", "0", 2)),
			workload.Observed{Components: []workload.Component{{Name: "main", Replicas: 2}}, CanHold: true}},
		{"the default in a part that Flyball made and its owner has set a field of", nestedYAML,
			withLedger(t, `{"pool":{"size":{"count":0}}}`, nullEntry("/spec/pool/size/count", "0", 3)),
			workload.Observed{Components: []workload.Component{{Name: "main", Replicas: 2}}, CanHold: true}},
		{"what 0 means", zeroYAML, object(`{"n":0}`),
			workload.Observed{Components: []workload.Component{{Name: "main", Replicas: 3, Minimum: 1}}}},
		{"a count that is not 0", zeroYAML, object(`{"n":2}`),
			workload.Observed{Components: []workload.Component{{Name: "main", Replicas: 2, Minimum: 1}}}},
		{"no guess at a string", deploymentYAML, object(`{"replicas":"three"}`), workload.Observed{CanHold: true}},
		{"no guess at a share", deploymentYAML, object(`{"replicas":"30%"}`), workload.Observed{CanHold: true}},
		{"a quantity", deploymentYAML, object(`{"replicas":"40Gi"}`),
			workload.Observed{CanHold: true, Components: []workload.Component{{Name: "main", Replicas: 40 << 30}}}},
		{"a quantity, rounded up", deploymentYAML, object(`{"replicas":"2500m"}`),
			workload.Observed{CanHold: true, Components: []workload.Component{{Name: "main", Replicas: 3}}}},
		{"a quantity of nothing", deploymentYAML, object(`{"replicas":"0"}`),
			workload.Observed{CanHold: true, Components: []workload.Component{{Name: "main"}}}},
		{"elements of a map, by their keys", mapYAML, object(`{"map":{"x":{"name":"a","n":3}}}`),
			workload.Observed{Components: []workload.Component{{Name: "x", Replicas: 3}}}},
		{"elements of a map, by a field", strings.Replace(mapYAML, "replicas", "nameFrom: .name, replicas", 1),
			object(`{"map":{"x":{"name":"a","n":3}}}`),
			workload.Observed{Components: []workload.Component{{Name: "a", Replicas: 3}}}},
		{"no guess at a negative quantity", deploymentYAML, object(`{"replicas":"-1"}`), workload.Observed{CanHold: true}},
		{"no quantity behind /scale", scaledYAML, object(`{"replicas":"3"}`), workload.Observed{CanHold: true}},
		{"no guess at a fraction", deploymentYAML, object(`{"replicas":1.5}`), workload.Observed{CanHold: true}},
		{"no guess at a negative count", deploymentYAML, object(`{"replicas":-1}`), workload.Observed{CanHold: true}},
		{"elements with their minimum", elasticYAML, object(`{"nodeSets":[{"name":"a","count":2},{"name":"b"}]}`),
			workload.Observed{Components: []workload.Component{{Name: "a", Replicas: 2, Minimum: 1}, {Name: "b", Replicas: 1, Minimum: 1}},
				CanHold: true}},
		{"bounds", hpaYAML, object(`{"minReplicas":2,"maxReplicas":6}`),
			workload.Observed{Bounds: workload.Bounds{Min: ptr(2), Max: ptr(6)}, WakesFromZero: true}},
		{"a bound by default, another absent", hpaYAML, object(`{}`), workload.Observed{Bounds: workload.Bounds{Min: ptr(1)}, WakesFromZero: true}},
		{"bounds in annotations", knativeYAML,
			object(`{"template":{"metadata":{"annotations":{"autoscaling.knative.dev/min-scale":"3","autoscaling.knative.dev/max-scale":"3e0"}}}}`),
			workload.Observed{Bounds: workload.Bounds{Min: ptr(3)}}},
		{"suspended by its owner", cronJobYAML, object(`{"suspend":true}`), workload.Observed{CanSuspend: true, Suspended: true}},
		{"suspended by Flyball", cronJobYAML, withLedger(t, `{"suspend":true}`, entry("/spec/suspend", "false", "true")),
			workload.Observed{CanSuspend: true}},
		{"a variant is chosen on the original", nestedYAML, withLedger(t, `{"mode":"switch","power":{"main":{"on":false}},"pool":{"size":{}}}`,
			entry(nested, "true", "false")),
			workload.Observed{Components: []workload.Component{{Name: "main", Replicas: 2}}, CanSuspend: true, CanHold: true}},
		{"no variant fits", nestedYAML, object(`{"mode":"other","pool":{"size":{}}}`),
			workload.Observed{Components: []workload.Component{{Name: "main", Replicas: 2}}, CanHold: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := mustCompile(t, test.adapter, Keys{})
			got := a.Observe(projected(t, a, test.doc))
			test.want.Ref = workload.Ref{GroupKind: a.GroupKind(), Namespace: "shop", Name: "web"}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestObserveIdentity(t *testing.T) {
	a := mustCompile(t, cronJobYAML, Keys{Match: []string{"team", "example.com/a"}})
	got := a.Observe(projected(t, a, []byte(`{"metadata":{"name":"n","namespace":"s","creationTimestamp":"2026-03-02T20:00:00Z",`+
		`"labels":{"b":"2","a":"1"},"annotations":{"team":"x","other":"y","example.com/a":"b"}}}`)))
	want := workload.Observed{
		Ref: workload.Ref{GroupKind: a.GroupKind(), Namespace: "s", Name: "n"}, Created: time.Date(2026, 3, 2, 20, 0, 0, 0, time.UTC),
		Labels:      workload.Pairs{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}},
		Annotations: workload.Pairs{{Key: "example.com/a", Value: "b"}, {Key: "team", Value: "x"}},
		CanSuspend:  true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOriginalsOfNeighbours reads fields around and inside the fields that Flyball changed.
func TestOriginalsOfNeighbours(t *testing.T) {
	const text = `
target: {group: example.com, kind: Around, versions: [v1]}
suspend:
- when: [%s]
  set: [{path: .spec.x, value: 1}]
`
	made := func(pointer, set string, m uint8) workload.Entry {
		e := entry(pointer, "", set)
		e.Made = m
		return e
	}
	tests := []struct {
		name, when string
		doc        []byte
		want       bool
	}{
		{"inside a field that was removed", "{path: .spec.auto.enabled, op: Eq, value: true}",
			withLedger(t, `{}`, entry("/spec/auto", `{"enabled":true}`, "")), true},
		{"inside a field that was removed: not there before", "{path: .spec.auto.enabled, op: Exists}",
			withLedger(t, `{}`, entry("/spec/auto", `{}`, "")), false},
		{"inside a field that was removed: null before", "{path: .spec.auto.enabled, op: Exists}",
			withLedger(t, `{}`, entry("/spec/auto", `{"enabled":null}`, "")), false},
		{"inside a field that Flyball set", "{path: .spec.auto.enabled, op: Exists}",
			withLedger(t, `{"auto":{"enabled":false}}`, entry("/spec/auto", "", `{"enabled":false}`)), false},
		{"around one that was set", "{path: .spec.auto, op: Eq, value: {enabled: true, k: 1}}",
			withLedger(t, `{"auto":{"k":1,"enabled":false}}`, entry("/spec/auto/enabled", "true", "false")), true},
		{"around one that was added", "{path: .spec.auto, op: Eq, value: {k: 1}}",
			withLedger(t, `{"auto":{"k":1,"enabled":false}}`, entry("/spec/auto/enabled", "", "false")), true},
		{"around one that was removed", "{path: .spec.auto, op: Eq, value: {a: {b: 2}, k: 1}}",
			withLedger(t, `{"auto":{"k":1,"a":{}}}`, entry("/spec/auto/a/b", "2", "")), true},
		{"a parent that Flyball made", "{path: .spec.auto, op: Exists}",
			withLedger(t, `{"auto":{"a":{"b":1}}}`, made("/spec/auto/a/b", "1", 2)), false},
		{"a parent that Flyball made, by value", "{path: .spec.auto, op: Ne, value: 0}",
			withLedger(t, `{"auto":{"a":{"b":1}}}`, made("/spec/auto/a/b", "1", 2)), false},
		{"a parent that was there", "{path: .spec.auto, op: Eq, value: {}}",
			withLedger(t, `{"auto":{"a":{"b":1}}}`, made("/spec/auto/a/b", "1", 3)), true},
		{"a field that somebody else changed", "{path: .spec.auto.enabled, op: Eq, value: true}",
			withLedger(t, `{"auto":{"enabled":true}}`, entry("/spec/auto", "", `{"enabled":false}`)), true},
		{"a name that only begins alike", "{path: .spec.automatic, op: Exists}", withLedger(t, `{"automatic":1}`, entry("/spec/auto", "1", "")),
			true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := mustCompile(t, sprintf(text, test.when), Keys{})
			if got := a.Observe(projected(t, a, test.doc)).CanSuspend; got != test.want {
				t.Errorf("want %t, got %t", test.want, got)
			}
		})
	}
}

func TestPredicatesCompareFields(t *testing.T) {
	const text = `
target: {group: example.com, kind: Any, versions: [v1]}
ready: [%s]
suspend: [{when: [%[1]s], set: [{path: .metadata.annotations.off, value: "true"}]}]
`
	doc := object(`{"n":3,"f":2.5,"neg":-4,"s":"a","l":["a",3],"o":{"x":1,"k":2},"z":null,"big":9007199254740993,` +
		`"c":[{"type":"Ready","status":"True"},{"type":"Done"}]}`)
	tests := []struct {
		predicate string
		want      bool
	}{
		{"{path: .spec.n, op: Exists}", true},
		{"{path: .spec.m, op: Exists}", false},
		{"{path: .spec.z, op: Exists}", false},
		{"{path: .spec.z, op: NotExists}", true},
		{"{path: .spec.n, op: Eq, value: 3.0}", true},
		{`{path: .spec.n, op: Eq, value: "3"}`, false},
		{"{path: .spec.o, op: Eq, value: {k: 2, x: 1}}", true},
		{"{path: .spec.n, op: Ne, value: 4}", true},
		{"{path: .spec.m, op: Ne, value: 4}", false},
		{"{path: .spec.m, default: 5, op: Ne, value: 4}", true},
		{"{path: .spec.n, op: Lt, value: 4}", true},
		{"{path: .spec.n, op: Lt, value: 3}", false},
		{"{path: .spec.n, op: Le, value: 3}", true},
		{"{path: .spec.n, op: Gt, value: 3}", false},
		{"{path: .spec.n, op: Ge, value: 3}", true},
		{"{path: .spec.f, op: Gt, value: 2}", true},
		{"{path: .spec.neg, op: Lt, value: -3}", true},
		{"{path: .spec.big, op: Gt, value: 9007199254740992}", true},
		{"{path: .spec.s, op: Gt, value: 2}", false},
		{"{path: .spec.m, op: Ge, value: 0}", false},
		{"{path: .spec.m, default: 0, op: Ge, value: 0}", true},
		{"{path: .spec.n, op: Ge, valueFrom: .spec.f}", true},
		{"{path: .spec.n, op: Ge, valueFrom: .spec.m}", false},
		{"{path: .spec.s, op: In, value: [b, a]}", true},
		{"{path: .spec.s, op: In, value: [b]}", false},
		{"{path: .spec.n, op: In, valueFrom: .spec.l}", true},
		{"{path: .spec.f, op: In, valueFrom: .spec.l}", false},
		{"{path: .spec.n, op: In, valueFrom: .spec.o}", false},
		{`{path: '.spec.c[?(@.type=="Ready")].status', op: Eq, value: "True"}`, true},
		{`{path: '.spec.c[?(@.type=="Done")].status', op: Exists}`, false},
		{`{path: '.spec.c[*].status', op: Exists}`, true},
	}
	for _, test := range tests {
		a := mustCompile(t, sprintf(text, test.predicate), Keys{})
		if got, why := a.Ready(doc); got != test.want || got != (why == "") {
			t.Errorf("%s: want %t, got %t, %q", test.predicate, test.want, got, why)
		}
		if got := a.Observe(projected(t, a, doc)).CanSuspend; got != test.want {
			t.Errorf("%s: want %t of what is kept, got %t", test.predicate, test.want, got)
		}
	}
}

func TestReadyNeedsEveryPredicate(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{})
	for doc, want := range map[string]string{
		`{"metadata":{"name":"n","generation":2},"spec":{"replicas":2},"status":{"observedGeneration":2,"availableReplicas":2}}`: "",
		`{"metadata":{"name":"n","generation":3},"spec":{"replicas":2},"status":{"observedGeneration":2,"availableReplicas":2}}`: ".status.observedGeneration Ge .metadata.generation does not hold: .status.observedGeneration is 2",
		`{"metadata":{"name":"n","generation":2},"spec":{"replicas":2},"status":{"observedGeneration":2,"availableReplicas":1}}`: ".status.availableReplicas Ge .spec.replicas does not hold: .status.availableReplicas is 1",
		`{"metadata":{"name":"n","generation":2},"spec":{"replicas":2},"status":{"observedGeneration":2}}`:                       ".status.availableReplicas Ge .spec.replicas does not hold: .status.availableReplicas is absent",
		`{"metadata":{"name":"n","generation":2},"spec":{"replicas":0},"status":{"observedGeneration":2}}`:                       "",
		`{"metadata":`: ".status.observedGeneration Ge .metadata.generation does not hold: .status.observedGeneration is absent",
	} {
		if got, why := a.Ready([]byte(doc)); got != (want == "") || why != want {
			t.Errorf("%s: want %q, got %t, %q", doc, want, got, why)
		}
	}
	if ready, why := mustCompile(t, cronJobYAML, Keys{}).Ready(object(`{}`)); !ready || why != "" {
		t.Errorf("a kind without ready: %t, %q", ready, why)
	}
	named := mustCompile(t,
		"target: {kind: K, versions: [v1]}\nready: [{path: .spec.a, op: NotExists}, {path: '.spec.l[*]', op: In, value: [1, 2]}]", Keys{})
	for spec, want := range map[string]string{
		`{"a":1}`:            ".spec.a NotExists does not hold: .spec.a exists",
		`{"l":[null,2]}`:     "",
		`{"a":null,"l":[3]}`: ".spec.l[*] In [1,2] does not hold: .spec.l[*] is 3",
	} {
		if _, why := named.Ready(object(spec)); why != want {
			t.Errorf("%s: want %q, got %q", spec, want, why)
		}
	}
}

// TestReadyKeepsNothing: fields that only ready reads cost no memory in an object.
func TestReadyKeepsNothing(t *testing.T) {
	spec := specOf(t, deploymentYAML)
	spec.Ready = nil
	without, errs := Compile("tests", spec, Keys{})
	if with := mustCompile(t, deploymentYAML, Keys{}); len(errs) > 0 || with.ProjectionID() != without.ProjectionID() {
		t.Errorf("ready changes what is kept of an object; %v", errs)
	}
}

func TestGovernsNamesTheGovernedObject(t *testing.T) {
	keda := `
target: {group: keda.sh, kind: ScaledObject, versions: [v1alpha1]}
governs: .spec.scaleTargetRef
governsKind: {group: apps, kind: Deployment}
`
	ref := func(group, kind, name string) workload.Ref {
		r := workload.Ref{Namespace: "shop", Name: name}
		r.Group, r.Kind = group, kind
		return r
	}
	tests := []struct {
		name, adapter, spec string
		want                workload.Ref
		ok                  bool
	}{
		{"in full", hpaYAML, `{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"StatefulSet","name":"db"}}`, ref("apps", "StatefulSet", "db"),
			true},
		{"the core group", hpaYAML, `{"scaleTargetRef":{"apiVersion":"v1","kind":"ReplicationController","name":"db"}}`,
			ref("", "ReplicationController", "db"), true},
		{"assumed kind", keda, `{"scaleTargetRef":{"name":"web"}}`, ref("apps", "Deployment", "web"), true},
		{"assumed group", keda, `{"scaleTargetRef":{"kind":"StatefulSet","name":"web"}}`, ref("apps", "StatefulSet", "web"), true},
		{"another group", keda, `{"scaleTargetRef":{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","name":"web"}}`,
			ref("argoproj.io", "Rollout", "web"), true},
		{"no kind", hpaYAML, `{"scaleTargetRef":{"name":"web"}}`, ref("", "", "web"), false},
		{"no name", keda, `{"scaleTargetRef":{"kind":"Deployment"}}`, ref("apps", "Deployment", ""), false},
		{"nonsense", keda, `{"scaleTargetRef":{"apiVersion":"a/b/c","name":"web"}}`, workload.Ref{}, false},
		{"a kind that governs nothing", cronJobYAML, `{}`, workload.Ref{}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := mustCompile(t, test.adapter, Keys{})
			got, ok := a.Governs(projected(t, a, object(test.spec)))
			if got != test.want || ok != test.ok {
				t.Errorf("want %v %t, got %v %t", test.want, test.ok, got, ok)
			}
		})
	}
}

// zeroYAML is a kind that takes a count of 0 for 3.
const zeroYAML = `
target: {group: example.com, kind: Zero, versions: [v1]}
scale: [{name: main, replicas: .spec.n, default: 1, zeroMeans: 3, minimum: 1}]
`

func nullEntry(pointer, set string, made uint8) workload.Entry {
	e := madeEntry(pointer, set, made)
	e.WasNull = true
	return e
}

func madeEntry(pointer, set string, made uint8) workload.Entry {
	e := entry(pointer, "", set)
	e.Made = made
	return e
}

// TestZeroMeansMore puts an object with a count of 0 to sleep, and restores the 0.
func TestZeroMeansMore(t *testing.T) {
	a := mustCompile(t, zeroYAML, Keys{})
	s := newServer(object(`{"n":0}`))
	if r := s.settle(t, a, sleep()); r.State != workload.StateAsleep || r.Message != "n 0 -> 1" {
		t.Errorf("asleep: %s, %q", r.State, r.Message)
	}
	if r := s.settle(t, a, workload.Plan{}); s.spec() != `{"n":0}` || r.Message != "n 1 -> 0" {
		t.Errorf("given back: %s, %q", s.spec(), r.Message)
	}
}

// TestCountInACreatedParentSettles has a count in a part of the owner, inside a container that Flyball made. The
// count is set, and the part is restored unchanged.
func TestCountInACreatedParentSettles(t *testing.T) {
	a := mustCompile(t, nestedYAML, Keys{})
	for _, part := range []string{`{"x":1}`, `{}`, `{"count":null}`} {
		bounded := workload.Plan{Max: &workload.Claim[int64]{By: nights, Since: monday}}
		s := newServer(object(`{"other":1}`))
		s.settle(t, a, bounded)
		s.set("/spec/pool/size", part)
		plan := sleep()
		plan.Max = bounded.Max
		s.settle(t, a, plan)
		if got := s.value("/spec/pool/size/count"); got != "0" {
			t.Errorf("%s: asleep: %s", part, got)
		}
		s.settle(t, a, workload.Plan{})
		if want := `{"other":1,"pool":{"size":` + part + `}}`; !path.Equal(s.spec(), want) || len(s.ledger(t, a)) > 0 {
			t.Errorf("given back: %s, want %s; left %+v", s.spec(), want, s.ledger(t, a))
		}
	}
}

// TestACountStaysAsleepWhenItsOwnerSetsAnother checks that the owner's field in a part that Flyball made stays the
// owner's after Flyball has set it.
func TestACountStaysAsleepWhenItsOwnerSetsAnother(t *testing.T) {
	const kind = `
target: {group: example.com, kind: Any, versions: [v1]}
scale: [{name: main, replicas: .spec.pool.count, default: 2}]
hold: [{set: [{path: .spec.pool.lock, value: true}]}]
bounds: {max: {path: .spec.pool.max}}
`
	a := mustCompile(t, kind, Keys{})
	s := newServer(object(`{"other":1}`))
	s.settle(t, a, holding())
	s.set("/spec/pool/max", "9")
	plan := sleep()
	plan.Hold, plan.Max = holding().Hold, &workload.Claim[int64]{By: nights, Since: monday, Value: 5}
	s.settle(t, a, plan)
	s.set("/spec/pool/max", "7")
	s.settle(t, a, plan)
	if got := s.value("/spec/pool/count"); got != "0" {
		t.Errorf("asleep: %s, want 0", s.spec())
	}
	s.settle(t, a, workload.Plan{})
	if want := `{"other":1,"pool":{"max":7}}`; !path.Equal(s.spec(), want) {
		t.Errorf("given back: %s, want %s", s.spec(), want)
	}
}
