package tortoise_test

import (
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/tortoise"
)

// TestRulesOfAPolicy checks that the rules are a copy: an edit of the rules does not change the object.
func TestRulesOfAPolicy(t *testing.T) {
	one, all := read(t, `{mode: Auto, replicas: {max: 9}}`), &v1alpha1.ClusterTortoise{}
	all.Spec.Mode = v1alpha1.TortoiseEmergency
	rules, ok := tortoise.RulesOf(one)
	if !ok || rules.Mode != v1alpha1.TortoiseAuto {
		t.Errorf("of a Tortoise they are %+v, %t", rules, ok)
	}
	if *rules.Replicas.Max = 5; *one.Spec.Replicas.Max != 9 {
		t.Error("an edit of the rules reaches the object")
	}
	if rules, ok := tortoise.RulesOf(all); !ok || rules.Mode != v1alpha1.TortoiseEmergency {
		t.Errorf("of a ClusterTortoise they are %+v, %t", rules, ok)
	}
	if _, ok := tortoise.RulesOf(&v1alpha1.Schedule{}); ok {
		t.Error("a Schedule has rules of a Tortoise")
	}
}

// TestATunerOfRulesAlone checks that a tuner needs no policy object. It refuses the same rules as a policy.
func TestATunerOfRulesAlone(t *testing.T) {
	tuner, errs := tortoise.NewTuner(v1alpha1.TortoiseRules{Mode: v1alpha1.TortoiseAuto, Priority: 7})
	if len(errs) > 0 || tuner.Mode() != "Auto" || tuner.Precedence() != 7 {
		t.Errorf("it has mode %s and precedence %d, %v", tuner.Mode(), tuner.Precedence(), errs)
	}
	if m, err := tuner.NewLearner(nil); err != nil || m == nil {
		t.Errorf("it makes %v, %v", m, err)
	}
	if _, errs := tortoise.NewTuner(v1alpha1.TortoiseRules{Mode: "Often"}); len(errs) != 1 || errs[0].Field != "spec.mode" {
		t.Errorf("an unknown mode: %v", errs)
	}
}
