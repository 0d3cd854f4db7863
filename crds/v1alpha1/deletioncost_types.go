package v1alpha1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeLabels are one node label as a string, or several as a list, most important first. Any other value is kept as
// text and refused when the policy is compiled: a decoding error would make all policies of the kind unreadable.
type NodeLabels []string

// UnmarshalJSON accepts a string or a list of strings, and keeps any other value as text.
func (l *NodeLabels) UnmarshalJSON(raw []byte) error {
	var one *string
	var several []string
	switch {
	case json.Unmarshal(raw, &one) == nil:
		if *l = nil; one != nil {
			*l = NodeLabels{*one}
		}
	case json.Unmarshal(raw, &several) == nil:
		*l = several
	default:
		*l = NodeLabels{"not a text: " + string(raw)} // a label has no space, so this is refused later
	}
	return nil
}

// MarshalJSON encodes one label as a string and several as a list.
func (l NodeLabels) MarshalJSON() ([]byte, error) {
	if len(l) == 1 {
		return json.Marshal(l[0])
	}
	return json.Marshal([]string(l))
}

// WeightedAlgorithm is an algorithm with its weight.
type WeightedAlgorithm struct {
	// Algorithm is the name of the algorithm.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Algorithm string `json:"algorithm"`
	// Weight is the weight of the algorithm in the sum.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight,omitempty"`
}

// GoingNodes describes nodes that are about to be removed, or may be removed at any time.
type GoingNodes struct {
	// Taints are keys of taints of nodes that are about to be removed. Default: the taints of cordoned nodes and of
	// nodes being shut down, and the taints set by the cluster autoscaler and Karpenter.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=317
	// +listType=set
	Taints []string `json:"taints,omitempty"`
	// Labels of nodes that may be removed at any time, such as spot nodes. Default: the labels of large cloud providers
	// and of Karpenter.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`
}

// DeletionCostRules are the common fields of DeletionCost and ClusterDeletionCost.
type DeletionCostRules struct {
	// SpreadBy is the node label over whose values pods are kept as even as possible, or a list of labels, most
	// important first: [topology.kubernetes.io/zone, kubernetes.io/hostname]. Default: topology.kubernetes.io/zone.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	SpreadBy NodeLabels `json:"spreadBy,omitempty"`
	// Algorithm decides which pods are deleted first: Spread keeps zones even; Youngest and Oldest go by age;
	// NodeOccupancy empties nearly idle nodes; NodeLifetime empties nodes that are about to be removed; Weighted adds
	// up several algorithms.
	// +optional
	// +kubebuilder:default=Spread
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Algorithm string `json:"algorithm,omitempty"`
	// Weights are the algorithms for Weighted.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=algorithm
	Weights []WeightedAlgorithm `json:"weights,omitempty"`
	// GoingNodes configures NodeLifetime.
	// +optional
	GoingNodes *GoingNodes `json:"goingNodes,omitempty"`
	// WritesPerSecond is the maximum number of pods whose cost is set per second. Default: one per 100 pods, at least
	// one.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	WritesPerSecond *int32 `json:"writesPerSecond,omitempty"`
	// DuringRollOut also sets costs during a roll-out. By default it does not, because most pods are about to be
	// deleted then.
	// +optional
	DuringRollOut bool `json:"duringRollOut,omitempty"`
	// Priority decides between policies of this kind that select the same target: the highest wins, and at equal
	// priority the first name in alphabetical order.
	// +optional
	// +kubebuilder:default=0
	Priority int32 `json:"priority,omitempty"`
	// Suspend switches the policy off and removes the costs it has set.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// DeletionCostSpec orders the pods of selected objects of its own namespace for deletion.
type DeletionCostSpec struct {
	// Target selects the objects. Empty means everything in the namespace whose controller honours the cost.
	// +optional
	// +kubebuilder:default={}
	Target            TargetSelector `json:"target,omitempty"`
	DeletionCostRules `json:",inline"`
}

// ClusterDeletionCostSpec orders the pods of selected objects of many namespaces for deletion.
type ClusterDeletionCostSpec struct {
	// Target selects the objects by namespaces or a namespace selector, and optionally more.
	Target            ClusterTargetSelector `json:"target"`
	DeletionCostRules `json:",inline"`
}

// SpreadStatus is the unevenness of targets: the difference between the domains with the most and the fewest pods, for
// the first label.
type SpreadStatus struct {
	// Now is the difference for the most uneven target.
	Now int32 `json:"now"`
	// Half is the largest difference that would remain after scaling each target down to half.
	Half int32 `json:"half"`
}

// ForeignWriter is another writer of deletion costs on pods of the targets.
type ForeignWriter struct {
	// Manager is the field manager.
	Manager string `json:"manager"`
	// Pods is the number of pods with a cost from this writer. Flyball leaves them alone.
	Pods int32 `json:"pods"`
}

// DeletionCostStatus is the status of a DeletionCost.
type DeletionCostStatus struct {
	PolicyStatus `json:",inline"`
	// Pods is the number of pods in the plan.
	// +optional
	Pods int32 `json:"pods,omitempty"`
	// WritesLastHour is the number of costs set in the last hour, exact to ten minutes. After a restart of the manager,
	// all earlier writes count as made at the time of the last.
	// +optional
	WritesLastHour int32 `json:"writesLastHour,omitempty"`
	// LastWriteTime is the time of the last write of a cost.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	LastWriteTime *metav1.Time `json:"lastWriteTime,omitempty"`
	// Spread is the unevenness of targets for the first label of spreadBy.
	// +optional
	Spread *SpreadStatus `json:"spread,omitempty"`
	// ForeignWriters lists the first ten other writers of costs on pods of the targets.
	// +optional
	// +listType=map
	// +listMapKey=manager
	ForeignWriters []ForeignWriter `json:"foreignWriters,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=fdc,categories=flyball
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Algorithm",type=string,JSONPath=`.spec.algorithm`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Targets",type=integer,JSONPath=`.status.targets.total`
// +kubebuilder:printcolumn:name="Pods",type=integer,JSONPath=`.status.pods`
// +kubebuilder:printcolumn:name="Spread",type=integer,JSONPath=`.status.spread.now`
// +kubebuilder:printcolumn:name="At half",type=integer,JSONPath=`.status.spread.half`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// DeletionCost sets deletion costs on the pods of objects in its own namespace, so that scaling down keeps zones even.
type DeletionCost struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec DeletionCostSpec `json:"spec"`
	// +optional
	Status DeletionCostStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// DeletionCostList is a list of DeletionCosts.
type DeletionCostList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DeletionCost `json:"items"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fcdc,categories=flyball
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Algorithm",type=string,JSONPath=`.spec.algorithm`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Targets",type=integer,JSONPath=`.status.targets.total`
// +kubebuilder:printcolumn:name="Pods",type=integer,JSONPath=`.status.pods`
// +kubebuilder:printcolumn:name="Spread",type=integer,JSONPath=`.status.spread.now`
// +kubebuilder:printcolumn:name="At half",type=integer,JSONPath=`.status.spread.half`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// ClusterDeletionCost is a DeletionCost for many namespaces.
type ClusterDeletionCost struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterDeletionCostSpec `json:"spec"`
	// +optional
	Status DeletionCostStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterDeletionCostList is a list of ClusterDeletionCosts.
type ClusterDeletionCostList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterDeletionCost `json:"items"`
}
