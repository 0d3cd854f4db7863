package deletioncost

import (
	"slices"

	"flyball.dev/flyball/engine/workload"
)

// DefaultGoingTaints are the taints of nodes about to be removed: cordoned, shut down, or chosen by an autoscaler.
var DefaultGoingTaints = []string{
	"node.kubernetes.io/unschedulable",
	"node.kubernetes.io/out-of-service",
	"node.cloudprovider.kubernetes.io/shutdown",
	"ToBeDeletedByClusterAutoscaler",
	"DeletionCandidateOfClusterAutoscaler",
	"karpenter.sh/disrupted",
}

// DefaultGoingLabels are the labels of nodes that may be removed at any time.
var DefaultGoingLabels = map[string]string{
	"karpenter.sh/capacity-type":            "spot",
	"eks.amazonaws.com/capacityType":        "SPOT",
	"cloud.google.com/gke-spot":             "true",
	"kubernetes.azure.com/scalesetpriority": "spot",
}

// lifetime puts pods on nodes about to be removed first, then pods on nodes that may be removed at any time,
// such as spot nodes.
func lifetime(pod *workload.Pod, p Params) int64 {
	n := pod.Node
	if n.Deleting || slices.ContainsFunc(n.Taints, func(key string) bool { return slices.Contains(p.GoingTaints, key) }) {
		return 0
	}
	for key, value := range p.GoingLabels {
		if n.Labels[key] == value {
			return 1
		}
	}
	return 2
}
