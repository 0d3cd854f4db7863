package adapters

import (
	"slices"
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/workload"
)

// scaledObjects returns the adapter of ScaledObjects, and a function that projects one with the conditions.
func scaledObjects(t *testing.T) (*adapter.Adapter, func(conditions string) *workload.Object) {
	t.Helper()
	library, err := All()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(library, func(a v1alpha1.Adapter) bool { return a.Name == "scaledobjects.keda.sh" })
	if i < 0 {
		t.Fatal("there is no adapter of ScaledObjects")
	}
	a, errs := adapter.Compile(library[i].Name, library[i].Spec, adapter.Keys{Amounts: true})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return a, func(conditions string) *workload.Object {
		obj, err := a.Project([]byte(`{"apiVersion":"keda.sh/v1alpha1","kind":"ScaledObject","metadata":{"namespace":"shop","name":"web"},
			"spec":{"scaleTargetRef":{"name":"web"}},"status":{"conditions":[` + conditions + `]}}`))
		if err != nil {
			t.Fatal(err)
		}
		return obj
	}
}

// TestHeldScaledObjectsAreSeenOncePaused checks that a target waits until KEDA has paused its ScaledObject, by a sign that all its releases
// give: after the first look at a paused object, KEDA up to 2.19.0 says of it what it says of a running one.
func TestHeldScaledObjectsAreSeenOncePaused(t *testing.T) {
	a, with := scaledObjects(t)
	ready := `{"type":"Ready","status":"True","message":"ScaledObject is defined correctly and is ready for scaling"}`
	for conditions, want := range map[string]bool{
		``: true, // no KEDA has looked at it
		ready + `,{"type":"Paused","status":"False"}`:                                                                          false,
		ready + `,{"type":"Paused","status":"True","message":"ScaledObject is paused"}`:                                        true,
		`{"type":"Ready","status":"True","message":"ScaledObject is paused"},{"type":"Paused","status":"True"}`:                true,
		`{"type":"Ready","status":"False","message":"no trigger can be read"},{"type":"Paused","status":"True"}`:               true,
		`{"type":"Ready","status":"True","message":"ScaledObject is paused"},{"type":"Paused","status":"False","message":"x"}`: false,
	} {
		if why := a.NotSeen(with(conditions)); (why == "") != want {
			t.Errorf("with %s the hold is not seen: %q", conditions, why)
		}
	}
}

// TestBlindScaledObjects checks that a ScaledObject is blind if it can read none of its triggers. A ScaledObject that
// can read some of them, or is paused, is not blind.
func TestBlindScaledObjects(t *testing.T) {
	a, with := scaledObjects(t)
	for conditions, want := range map[string]bool{
		``: false,
		`{"type":"Ready","status":"True","reason":"ScaledObjectReady"}`:                                                                   false,
		`{"type":"Ready","status":"Unknown","reason":"PartialTriggerError"}`:                                                              false,
		`{"type":"Ready","status":"False","reason":"TriggerError"}`:                                                                       true,
		`{"type":"Active","status":"False","reason":"TriggerError"},{"type":"Ready","status":"False","reason":"ScaledObjectCheckFailed"}`: true,
		`{"type":"Ready","status":"True","reason":"ScaledObjectReady"},{"type":"Active","status":"False","reason":"ScalerNotActive"}`:     false,
	} {
		if got := a.Observe(with(conditions)).Blind; got != want {
			t.Errorf("with %s it is blind: %t", conditions, got)
		}
	}
}
