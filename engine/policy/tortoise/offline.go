package tortoise

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
)

// RulesOf returns a copy of the rules of a Tortoise or ClusterTortoise. It returns false for any other object.
func RulesOf(obj policy.Object) (v1alpha1.TortoiseRules, bool) {
	switch t := obj.(type) {
	case *v1alpha1.Tortoise:
		return *t.Spec.TortoiseRules.DeepCopy(), true
	case *v1alpha1.ClusterTortoise:
		return *t.Spec.TortoiseRules.DeepCopy(), true
	}
	return v1alpha1.TortoiseRules{}, false
}

// NewTuner compiles rules without an object, for a target that no policy selects.
func NewTuner(rules v1alpha1.TortoiseRules) (policy.Tuner, field.ErrorList) {
	r, errs := compileRules(rules, field.NewPath("spec"))
	return &tortoise{rules: r}, errs
}
