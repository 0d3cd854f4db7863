package policy

import (
	"slices"

	"flyball.dev/flyball/engine/workload"
)

// VerticalOff is the update mode in which a VerticalPodAutoscaler only recommends.
const VerticalOff = "Off"

// SeenVertical is a VerticalPodAutoscaler (autoscaling.k8s.io) of a target.
type SeenVertical struct {
	Name string
	// Mode is the update mode. In every mode except Off, the VerticalPodAutoscaler changes requests of pods itself.
	Mode string
	// Containers are the rules by container. The name "*" covers every container without a rule of its own.
	Containers []VerticalRule
	// Recommended is the recommendation by container; empty: none yet.
	Recommended map[string]VerticalRequests
	// LowConfidence is true if the VerticalPodAutoscaler has too few samples. NoPods is true if its selector matches no
	// pods. Message is its message about one of these problems or about a missing recommendation.
	LowConfidence, NoPods bool
	Message               string
}

// VerticalRule is a VerticalPodAutoscaler's rule for a container.
type VerticalRule struct {
	Container string
	// Off is true if the container is not changed. Resources are the resources that are changed; empty: CPU and memory.
	Off       bool
	Resources []workload.Resource
}

// VerticalRequests is a VerticalPodAutoscaler's recommendation for a container. Missing values are zero.
type VerticalRequests struct {
	// Target is the recommended value; values from Lower to Upper are acceptable. Uncapped is the target without the
	// owner's bounds.
	Target, Lower, Upper, Uncapped workload.Requests
}

// Changes reports whether the VerticalPodAutoscaler changes a request of a container itself.
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
