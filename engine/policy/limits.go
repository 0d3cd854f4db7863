package policy

import (
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// LimitRules are the rules for limits, by their names in the API.
var LimitRules = map[v1alpha1.VerticalLimits]workload.LimitRule{
	"": workload.LimitsFollow, v1alpha1.LimitsRatio: workload.LimitsFollow, v1alpha1.LimitsKeep: workload.LimitsStay,
	v1alpha1.LimitsNone: workload.LimitsGo,
}

// LimitsName returns the name of a rule for limits in the API; empty: the rule is the default.
func LimitsName(rule workload.LimitRule) v1alpha1.VerticalLimits {
	switch rule {
	case workload.LimitsStay:
		return v1alpha1.LimitsKeep
	case workload.LimitsGo:
		return v1alpha1.LimitsNone
	}
	return ""
}
