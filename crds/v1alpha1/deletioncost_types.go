package v1alpha1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeLabels are one node label, as a text, or several, as a list with the most important first. What is neither is kept in words and
// refused where the policy is compiled: a list of objects that does not decode would take all policies of the kind out of use.
type NodeLabels []string

// UnmarshalJSON reads a text or a list of texts, and keeps anything else as it is.
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
		*l = NodeLabels{"not a text: " + string(raw)} // no label has a space in it
	}
	return nil
}

// MarshalJSON writes one label as a text and several as a list.
func (l NodeLabels) MarshalJSON() ([]byte, error) {
	if len(l) == 1 {
		return json.Marshal(l[0])
	}
	return json.Marshal([]string(l))
}

// WeightedAlgorithm says how much an algorithm counts beside others.
type WeightedAlgorithm struct {
	// Algorithm by its name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Algorithm string `json:"algorithm"`
	// Weight is how much it counts.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight,omitempty"`
}

// GoingNodes says which nodes are about to go, or may go at any time.
type GoingNodes struct {
	// Taints are keys of taints of nodes that are about to go. Default: those of cordoned nodes, of nodes that are shut down, and
	// those that the cluster autoscaler and Karpenter set.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=317
	// +listType=set
	Taints []string `json:"taints,omitempty"`
	// Labels of nodes that may go at any time, such as spot nodes. Default: those of the big clouds and of Karpenter.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`
}

// DeletionCostRules are what a DeletionCost and a ClusterDeletionCost share.
type DeletionCostRules struct {
	// SpreadBy is the node label whose values keep as even a number of pods as they can, or a list of such labels with the most
	// important first: [topology.kubernetes.io/zone, kubernetes.io/hostname]. Default: topology.kubernetes.io/zone.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	SpreadBy NodeLabels `json:"spreadBy,omitempty"`
	// Algorithm says which pods go first: Spread keeps zones even; Youngest and Oldest go by age; NodeOccupancy empties nearly idle
	// nodes; NodeLifetime empties nodes that are about to go; Weighted adds up several.
	// +optional
	// +kubebuilder:default=Spread
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Algorithm string `json:"algorithm,omitempty"`
	// Weights are the algorithms that Weighted adds up.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=algorithm
	Weights []WeightedAlgorithm `json:"weights,omitempty"`
	// GoingNodes is what NodeLifetime looks at.
	// +optional
	GoingNodes *GoingNodes `json:"goingNodes,omitempty"`
	// WritesPerSecond is the most pods whose cost is set in a second. Default: one for each 100 pods, at least one.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	WritesPerSecond *int32 `json:"writesPerSecond,omitempty"`
	// DuringRollOut sets costs while a roll-out is under way too. By default nothing is written then: most of its pods are about to go.
	// +optional
	DuringRollOut bool `json:"duringRollOut,omitempty"`
	// Priority decides between policies of this kind that select one target: the higher wins; at equal priority the one whose name sorts first.
	// +optional
	// +kubebuilder:default=0
	Priority int32 `json:"priority,omitempty"`
	// Suspend switches the policy off: the costs that were set for it are removed.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// DeletionCostSpec orders the pods of selected objects of its own namespace for deletion.
type DeletionCostSpec struct {
	// Target selects the objects. Empty: everything in the namespace whose controller heeds the cost.
	// +optional
	// +kubebuilder:default={}
	Target            TargetSelector `json:"target,omitempty"`
	DeletionCostRules `json:",inline"`
}

// ClusterDeletionCostSpec orders the pods of selected objects of many namespaces for deletion.
type ClusterDeletionCostSpec struct {
	// Target selects the objects; it names namespaces or a namespace selector.
	Target            ClusterTargetSelector `json:"target"`
	DeletionCostRules `json:",inline"`
}

// SpreadStatus is how uneven targets are: the difference between the domains of the first label with the most and the fewest pods.
type SpreadStatus struct {
	// Now is that of the most uneven target.
	Now int32 `json:"now"`
	// Half is that of the target which would be the most uneven once each is scaled down to half.
	Half int32 `json:"half"`
}

// ForeignWriter is somebody else who sets deletion costs on pods of the targets.
type ForeignWriter struct {
	// Manager is the field manager.
	Manager string `json:"manager"`
	// Pods is how many pods have a cost of theirs; they are left alone.
	Pods int32 `json:"pods"`
}

// DeletionCostStatus is what a DeletionCost reports.
type DeletionCostStatus struct {
	PolicyStatus `json:",inline"`
	// Pods is how many pods are planned for.
	// +optional
	Pods int32 `json:"pods,omitempty"`
	// WritesLastHour is how many costs were set in the last hour, give or take ten minutes. After a restart of the manager, those of before count as
	// made when the last of them was.
	// +optional
	WritesLastHour int32 `json:"writesLastHour,omitempty"`
	// LastWriteTime is when a cost was set last.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	LastWriteTime *metav1.Time `json:"lastWriteTime,omitempty"`
	// Spread is how uneven targets are, over the first label of spreadBy.
	// +optional
	Spread *SpreadStatus `json:"spread,omitempty"`
	// ForeignWriters lists the first ten others who set costs on pods of the targets.
	// +optional
	// +listType=map
	// +listMapKey=manager
	ForeignWriters []ForeignWriter `json:"foreignWriters,omitempty"`
}

// DeletionCost gives the pods of objects of its own namespace a deletion cost, so that scaling down leaves zones even.
//
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
type DeletionCost struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec DeletionCostSpec `json:"spec"`
	// +optional
	Status DeletionCostStatus `json:"status,omitempty"`
}

// DeletionCostList is a list of DeletionCosts.
// +kubebuilder:object:root=true
type DeletionCostList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DeletionCost `json:"items"`
}

// ClusterDeletionCost is a DeletionCost over many namespaces.
//
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
type ClusterDeletionCost struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterDeletionCostSpec `json:"spec"`
	// +optional
	Status DeletionCostStatus `json:"status,omitempty"`
}

// ClusterDeletionCostList is a list of ClusterDeletionCosts.
// +kubebuilder:object:root=true
type ClusterDeletionCostList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterDeletionCost `json:"items"`
}
