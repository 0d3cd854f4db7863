package status

import (
	"testing"

	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// An object that its owner paused in the night has its count again and no pods, which only the pause explains.
func TestReadySaysThatAPausedControllerDoesNotAct(t *testing.T) {
	var spec v1alpha1.AdapterSpec
	if err := yaml.UnmarshalStrict([]byte(`{target: {group: example.com, kind: Farm, versions: [v1]}, scale: [{name: main, replicas: .spec.n}],
unable: [{when: [{path: .spec.paused, op: Eq, value: true}], because: its owner has paused it, paused: true}]}`), &spec); err != nil {
		t.Fatal(err)
	}
	a, errs := adapter.Compile("farms.example.com", spec, adapter.Keys{})
	if errs != nil {
		t.Fatal(errs)
	}
	p := &world.Policy{Policy: decide.Policy{Policy: &policy.Policy{ID: policyID}}}
	for raw, want := range map[string]string{
		`{"spec":{"n":3,"paused":true}}`: "1 target is as it should be; pods of 1 target do not follow, because their controllers do not act: " +
			"/shop/web: its owner has paused it",
		`{"spec":{"n":3}}`: "1 target is as it should be",
	} {
		obj, err := a.Projection.Project([]byte(`{"apiVersion":"example.com/v1","kind":"Farm","metadata":{"name":"web"},` + raw[1:]))
		if err != nil {
			t.Fatal(err)
		}
		v := &decide.Verdict{Kind: &decide.Kind{Adapter: a}, Object: obj, Result: adapter.Result{State: workload.StateAwake},
			Opinions: []decide.Opinion{{Policy: &p.Policy, Class: workload.ClassAwake}}}
		all := newCounts()
		all.move(object("web"), record{}, Marks(v, Outcome{})[0])
		if _, _, message := (&view{policy: p, counts: *all}).ready(); message != want {
			t.Errorf("%s: %s; want %s", raw, message, want)
		}
	}
}
