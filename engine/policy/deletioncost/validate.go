package deletioncost

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
)

const (
	// maxSpreadBy is the maximum number of labels.
	maxSpreadBy = 4
	// maxWrites is the maximum number of writes per second.
	maxWrites = 1000
	// maxWeight is the maximum weight of an algorithm.
	maxWeight = 100
)

func validate(rules v1alpha1.DeletionCostRules, at *field.Path) field.ErrorList {
	errs := validateLabels(rules.SpreadBy, at.Child("spreadBy"))
	if rules.Algorithm != "" && !Known(rules.Algorithm) {
		errs = append(errs, field.NotSupported(at.Child("algorithm"), rules.Algorithm, Names()))
	}
	errs = append(errs, validateWeights(rules, at.Child("weights"))...)
	if w := rules.WritesPerSecond; w != nil && (*w < 1 || *w > maxWrites) {
		errs = append(errs, field.Invalid(at.Child("writesPerSecond"), *w, fmt.Sprintf("must be from 1 to %d", maxWrites)))
	}
	if going := rules.GoingNodes; going != nil {
		for i, key := range going.Taints {
			errs = append(errs, validateKey(key, at.Child("goingNodes", "taints").Index(i))...)
		}
		for key := range going.Labels {
			errs = append(errs, validateKey(key, at.Child("goingNodes", "labels").Key(key))...)
		}
	}
	return errs
}

func validateLabels(labels v1alpha1.NodeLabels, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(labels) > maxSpreadBy {
		errs = append(errs, field.TooMany(at, len(labels), maxSpreadBy))
	}
	for i, key := range labels {
		here := at
		if len(labels) > 1 {
			here = at.Index(i)
		}
		errs = append(errs, validateKey(key, here)...)
		if slices.Contains(labels[:i], key) {
			errs = append(errs, field.Duplicate(here, key))
		}
	}
	return errs
}

func validateKey(key string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, why := range validation.IsQualifiedName(key) {
		errs = append(errs, field.Invalid(at, key, why))
	}
	return errs
}

func validateWeights(rules v1alpha1.DeletionCostRules, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch combined := rules.Algorithm == Combined; {
	case combined && len(rules.Weights) == 0:
		errs = append(errs, field.Required(at, fmt.Sprintf("list the algorithms that %s adds up", Combined)))
	case !combined && len(rules.Weights) > 0:
		errs = append(errs, field.Forbidden(at, fmt.Sprintf("goes with algorithm: %s only", Combined)))
	}
	names := slices.DeleteFunc(Names(), func(name string) bool { return name == Combined })
	for i, w := range rules.Weights {
		here := at.Index(i)
		if !slices.Contains(names, w.Algorithm) {
			errs = append(errs, field.NotSupported(here.Child("algorithm"), w.Algorithm, names))
		}
		if slices.ContainsFunc(rules.Weights[:i], func(o v1alpha1.WeightedAlgorithm) bool { return o.Algorithm == w.Algorithm }) {
			errs = append(errs, field.Duplicate(here.Child("algorithm"), w.Algorithm))
		}
		if w.Weight < 0 || w.Weight > maxWeight {
			errs = append(errs, field.Invalid(here.Child("weight"), w.Weight, fmt.Sprintf("must be from 1 to %d", maxWeight)))
		}
	}
	return errs
}
