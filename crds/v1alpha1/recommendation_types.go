package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TunedTarget names the object that something was learnt of, and the policy that asked for it.
type TunedTarget struct {
	// Group of the object; empty for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// Kind of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Name of the object, in the same namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// GroupKind is the kind of the object as API machinery has it.
func (t TunedTarget) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: t.Group, Kind: t.Kind}
}

// RecommendationSpec says what a Recommendation is about. Flyball writes it.
type RecommendationSpec struct {
	// Target is the object that the numbers are for.
	Target TunedTarget `json:"target"`
	// Policy is the one that recommends, as Kind/namespace/name or Kind/name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=600
	Policy string `json:"policy"`
}

// RecommendedRequest is one request.
type RecommendedRequest struct {
	// Own is what the owner of the target asks for; absent where that is nothing.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	Own *resource.Quantity `json:"own,omitempty"`
	// Recommended is what should be asked for.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	Recommended resource.Quantity `json:"recommended"`
	// Applied is true where every pod of the target has the recommended value, not only its template. Without pods, the next ones will. Of
	// a component that is no container of a pod, it is true once the target has it and its adapter says that it has settled.
	Applied bool `json:"applied"`
	// Reason says why it is that.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// RecommendedContainer has the requests of one container.
type RecommendedContainer struct {
	// Name of the container, or of another component that requests resources.
	Name string `json:"name"`
	// CPU in cores.
	// +optional
	CPU *RecommendedRequest `json:"cpu,omitempty"`
	// Memory in bytes.
	// +optional
	Memory *RecommendedRequest `json:"memory,omitempty"`
}

// ResizedPods counts pods whose requests are changed in place.
type ResizedPods struct {
	// Total is how many pods there are.
	Total int32 `json:"total"`
	// Resized pods have what is recommended.
	// +optional
	Resized int32 `json:"resized,omitempty"`
	// Waiting pods have still to be changed.
	// +optional
	Waiting int32 `json:"waiting,omitempty"`
	// InProgress pods are being changed by their node.
	// +optional
	InProgress int32 `json:"inProgress,omitempty"`
	// Deferred pods have to wait for room on their node.
	// +optional
	Deferred int32 `json:"deferred,omitempty"`
	// Infeasible pods cannot be changed in place.
	// +optional
	Infeasible int32 `json:"infeasible,omitempty"`
	// Message says of the first pod that is not through why.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// NewContainer is what a container of a pod gets as the pod is created.
type NewContainer struct {
	// Name of the container.
	Name string `json:"name"`
	// CPU is the request in cores; absent: it stays as it is.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// Memory is the request in bytes; absent: it stays as it is.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// NewPods is what pods get as they are created.
type NewPods struct {
	// Containers that are changed.
	// +optional
	// +listType=map
	// +listMapKey=name
	Containers []NewContainer `json:"containers,omitempty"`
	// Limits says what becomes of the limits beside these requests: see vertical.limits of the policy. Absent: Ratio.
	// +optional
	Limits VerticalLimits `json:"limits,omitempty"`
	// GoMaxProcs sets GOMAXPROCS in these containers, unless the owner has.
	// +optional
	GoMaxProcs bool `json:"goMaxProcs,omitempty"`
	// GoMemLimit sets GOMEMLIMIT in these containers, unless the owner has.
	// +optional
	GoMemLimit bool `json:"goMemLimit,omitempty"`
}

// RecommendedNumber is one number of an autoscaler.
type RecommendedNumber struct {
	// Own is what the owner of the autoscaler asks for; absent where that is nothing.
	// +optional
	Own *int32 `json:"own,omitempty"`
	// Recommended is what should be asked for.
	Recommended int32 `json:"recommended"`
	// Applied is true where the autoscaler has the recommended value.
	Applied bool `json:"applied"`
	// Reason says why it is that.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// RecommendedAutoscaler has the numbers of the autoscaler that governs the target.
type RecommendedAutoscaler struct {
	// Kind and group of the autoscaler, for example HorizontalPodAutoscaler.autoscaling; empty: there is none.
	// +optional
	Kind string `json:"kind,omitempty"`
	// Name of the autoscaler, in the same namespace; empty: there is none.
	// +optional
	Name string `json:"name,omitempty"`
	// Min is the minimum now.
	Min RecommendedNumber `json:"min"`
	// Max is the maximum.
	Max RecommendedNumber `json:"max"`
	// MinByHour are the minima of the next 24 hours as far as they can be told, from the current hour on.
	// +optional
	// +kubebuilder:validation:MaxItems=24
	// +listType=atomic
	MinByHour []int32 `json:"minByHour,omitempty"`
	// TimeZone is the one whose hours those are.
	// +optional
	TimeZone string `json:"timeZone,omitempty"`
	// Utilisation is the target for CPU, in percent of the request.
	// +optional
	Utilisation *RecommendedNumber `json:"utilisation,omitempty"`
}

// RecommendedDemand is what the numbers are for: the CPU demand over all pods of the container that is scaled by replicas.
type RecommendedDemand struct {
	// Container that is scaled.
	Container string `json:"container"`
	// Expected demand now.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	Expected resource.Quantity `json:"expected"`
	// Upper is what demand is not above until a pod that starts now serves.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	Upper resource.Quantity `json:"upper"`
	// Loss is how far the forecast misses, in thousandths (the mean pinball loss of logarithms): the lower, the surer.
	Loss int64 `json:"lossPerMille"`
}

// RecommendationStatus has the numbers. Those that were not found yet are absent.
type RecommendationStatus struct {
	// Phase of the target: Initializing, GatheringData, PartlyWorking, Working, Emergency or BackToNormal.
	// +optional
	Phase string `json:"phase,omitempty"`
	// PhaseReason says what led there, or what is waited for.
	// +optional
	PhaseReason string `json:"phaseReason,omitempty"`
	// Mode of the policy: with Off nothing is applied.
	// +optional
	Mode TortoiseMode `json:"mode,omitempty"`
	// DecidedTime is when the numbers became what they are.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	DecidedTime *metav1.Time `json:"decidedTime,omitempty"`
	// Waiting says what keeps requests from the pods: a freeze, a PodDisruptionBudget, other targets that restart pods, or that not all pods
	// have what is in the template; empty: nothing.
	// +optional
	Waiting string `json:"waiting,omitempty"`
	// Containers have the requests.
	// +optional
	// +listType=map
	// +listMapKey=name
	Containers []RecommendedContainer `json:"containers,omitempty"`
	// Autoscaler has bounds and target utilisation. Without an autoscaler they are what one would be given, and nothing is applied.
	// +optional
	Autoscaler *RecommendedAutoscaler `json:"autoscaler,omitempty"`
	// Pods is what has become of the pods that are changed in place; absent where requests change in the template.
	// +optional
	Pods *ResizedPods `json:"pods,omitempty"`
	// NewPods is what pods of the target get as they are created; absent: what their template says.
	// +optional
	NewPods *NewPods `json:"newPods,omitempty"`
	// Demand is what the numbers are for.
	// +optional
	Demand *RecommendedDemand `json:"demand,omitempty"`
	// Reasons are all lines of the last decision that changed something.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Reasons []string `json:"reasons,omitempty"`
}

// Recommendation has what was found for one target. It goes with the target.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=frec,categories=flyball
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.target.kind`
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.target.name`
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.status.mode`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="CPU",type=string,JSONPath=`.status.containers[0].cpu.recommended`
// +kubebuilder:printcolumn:name="Memory",type=string,JSONPath=`.status.containers[0].memory.recommended`
// +kubebuilder:printcolumn:name="Min",type=integer,JSONPath=`.status.autoscaler.min.recommended`
// +kubebuilder:printcolumn:name="Max",type=integer,JSONPath=`.status.autoscaler.max.recommended`
// +kubebuilder:printcolumn:name="Waiting",type=string,JSONPath=`.status.waiting`,priority=1
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.policy`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Recommendation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec RecommendationSpec `json:"spec"`
	// +optional
	Status RecommendationStatus `json:"status,omitempty"`
}

// RecommendationList is a list of Recommendations.
// +kubebuilder:object:root=true
type RecommendationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Recommendation `json:"items"`
}

// UsageCheckpointSpec is what was learnt of one target.
type UsageCheckpointSpec struct {
	// Target is the object that it was learnt of.
	Target TunedTarget `json:"target"`
	// Policy is the one that it was learnt for, as Kind/namespace/name or Kind/name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=600
	Policy string `json:"policy"`
	// TargetUID is that of the target: an object that was made anew under the same name is another one.
	// +kubebuilder:validation:MaxLength=128
	TargetUID string `json:"targetUID"`
	// RecalledTime is when the history that Prometheus has of the target was taken over; absent: it was not, and is asked for once the
	// policy says so.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	RecalledTime *metav1.Time `json:"recalledTime,omitempty"`
	// Data is what was learnt, compressed, in base 64: 64 KiB at most before that.
	// +kubebuilder:validation:MaxLength=87384
	Data string `json:"data"`
}

// UsageCheckpoint keeps what was learnt of one target over restarts. It goes with the target. Nobody but Flyball writes it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=fuc,categories=flyball
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.target.kind`
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.target.name`
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.policy`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type UsageCheckpoint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec UsageCheckpointSpec `json:"spec"`
}

// UsageCheckpointList is a list of UsageCheckpoints.
// +kubebuilder:object:root=true
type UsageCheckpointList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []UsageCheckpoint `json:"items"`
}
