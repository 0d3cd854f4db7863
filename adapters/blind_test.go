package adapters

import (
	"testing"

	"flyball.dev/flyball/engine/adapter"
)

// TestBlindScaledObjects checks that a ScaledObject is blind if it can read none of its triggers. A ScaledObject that
// can read some of them, or is paused, is not blind.
func TestBlindScaledObjects(t *testing.T) {
	library, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for i := range library {
		if library[i].Name != "scaledobjects.keda.sh" {
			continue
		}
		a, errs := adapter.Compile(library[i].Name, library[i].Spec, adapter.Keys{Amounts: true})
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		for conditions, want := range map[string]bool{
			``: false,
			`{"type":"Ready","status":"True","reason":"ScaledObjectReady"}`:                                                                   false,
			`{"type":"Ready","status":"Unknown","reason":"PartialTriggerError"}`:                                                              false,
			`{"type":"Ready","status":"False","reason":"TriggerError"}`:                                                                       true,
			`{"type":"Active","status":"False","reason":"TriggerError"},{"type":"Ready","status":"False","reason":"ScaledObjectCheckFailed"}`: true,
			`{"type":"Ready","status":"True","reason":"ScaledObjectReady"},{"type":"Active","status":"False","reason":"ScalerNotActive"}`:     false,
		} {
			obj, err := a.Project([]byte(`{"apiVersion":"keda.sh/v1alpha1","kind":"ScaledObject","metadata":{"namespace":"shop","name":"web"},
				"spec":{"scaleTargetRef":{"name":"web"}},"status":{"conditions":[` + conditions + `]}}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := a.Observe(obj).Blind; got != want {
				t.Errorf("with %s it is blind: %t", conditions, got)
			}
		}
		return
	}
	t.Fatal("there is no adapter of ScaledObjects")
}
