package policy

import (
	"slices"

	"flyball.dev/flyball/engine/workload"
)

// VerticalOff is the update mode in which a VerticalPodAutoscaler recommends and changes nothing.
const VerticalOff = "Off"

// SeenVertical is a VerticalPodAutoscaler (autoscaling.k8s.io) of a target.
type SeenVertical struct {
	Name string
	// Mode is its update mode. In any but Off it changes what pods request itself.
	Mode string
	// Containers are its rules by container. The name "*" is every container that has none of its own.
	Containers []VerticalRule
	// Recommended is what it recommends, by container; empty: nothing yet.
	Recommended map[string]VerticalRequests
	// LowConfidence says that it has seen too little, NoPods that its selector matches none. Message is what it says to that, or to why nothing
	// is recommended.
	LowConfidence, NoPods bool
	Message               string
}

// VerticalRule is what a VerticalPodAutoscaler does with a container.
type VerticalRule struct {
	Container string
	// Off says that it leaves the container alone. Resources are those that it changes; empty: CPU and memory.
	Off       bool
	Resources []workload.Resource
}

// VerticalRequests is what a VerticalPodAutoscaler recommends for a container. What it does not speak of is zero.
type VerticalRequests struct {
	// Target is what it recommends, from Lower to Upper is what it would leave. Uncapped is the target without the bounds that its owner gave it.
	Target, Lower, Upper, Uncapped workload.Requests
}

// Changes says whether it changes a request of a container itself.
func (v SeenVertical) Changes(container string, of workload.Resource) bool {
	if v.Mode == VerticalOff {
		return false
	}
	rule := VerticalRule{}
	for _, r := range v.Containers {
		if r.Container == container {
			rule = r
			break
		}
		if r.Container == "*" {
			rule = r
		}
	}
	return !rule.Off && (len(rule.Resources) == 0 || slices.Contains(rule.Resources, of))
}
