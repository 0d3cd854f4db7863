package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TunedTarget names a tuned object.
type TunedTarget struct {
	// Group of the object. Empty for the core group.
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

// GroupKind returns the kind of the object as a schema.GroupKind.
func (t TunedTarget) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: t.Group, Kind: t.Kind}
}

// RecommendationSpec identifies the subject of a Recommendation. Flyball writes it.
type RecommendationSpec struct {
	// Target is the object of the recommendation.
	Target TunedTarget `json:"target"`
	// Policy is the recommending policy, as Kind/namespace/name or Kind/name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=600
	Policy string `json:"policy"`
}

// RecommendedRequest is one request.
type RecommendedRequest struct {
	// Own is the owner's value. Absent if the owner has set none.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	Own *resource.Quantity `json:"own,omitempty"`
	// Recommended is the recommended value.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	Recommended resource.Quantity `json:"recommended"`
	// Applied is true if every pod of the target has the recommended value, not only its template. Without pods, it is
	// true if new pods will get the value. For a component other than a container, it is true if the target has the
	// value and its adapter reports that it has settled.
	Applied bool `json:"applied"`
	// Reason explains the recommended value.
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
	// Total is the number of pods.
	Total int32 `json:"total"`
	// Resized pods have the recommended requests.
	// +optional
	Resized int32 `json:"resized,omitempty"`
	// Waiting pods have not been changed yet.
	// +optional
	Waiting int32 `json:"waiting,omitempty"`
	// InProgress pods are being changed by their node.
	// +optional
	InProgress int32 `json:"inProgress,omitempty"`
	// Deferred pods wait for room on their node.
	// +optional
	Deferred int32 `json:"deferred,omitempty"`
	// Infeasible pods cannot be changed in place.
	// +optional
	Infeasible int32 `json:"infeasible,omitempty"`
	// Message explains the state of the first unfinished pod.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// NewContainer has the requests of one container of new pods.
type NewContainer struct {
	// Name of the container.
	Name string `json:"name"`
	// CPU is the request in cores. Absent means unchanged.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// Memory is the request in bytes. Absent means unchanged.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// NewPodsBoost is the additional CPU of pods for their start.
type NewPodsBoost struct {
	// Containers with the boost.
	// +listType=set
	Containers []string `json:"containers"`
	// CPU and Until are those of vertical.startupBoost of the policy.
	CPU   string `json:"cpu"`
	Until string `json:"until"`
	// Most is the room of the largest node: no pod gets a boost with a larger total request.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	Most *resource.Quantity `json:"most,omitempty"`
}

// NewPods has the changes of new pods.
type NewPods struct {
	// Containers to change.
	// +optional
	// +listType=map
	// +listMapKey=name
	Containers []NewContainer `json:"containers,omitempty"`
	// Limits is the rule for the limits beside these requests: see vertical.limits of the policy. Absent: Ratio.
	// +optional
	Limits VerticalLimits `json:"limits,omitempty"`
	// Boost is the additional CPU of these pods for their start.
	// +optional
	Boost *NewPodsBoost `json:"boost,omitempty"`
	// GoMaxProcs sets GOMAXPROCS in these containers, unless the owner has set it.
	// +optional
	GoMaxProcs bool `json:"goMaxProcs,omitempty"`
	// GoMemLimit sets GOMEMLIMIT in these containers, unless the owner has set it.
	// +optional
	GoMemLimit bool `json:"goMemLimit,omitempty"`
}

// TakenBack is a roll-out of requests that did not become ready, and was taken back.
type TakenBack struct {
	// Time of the return to the earlier requests.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	Time metav1.Time `json:"time"`
	// Containers with the requests that were tried and are not tried again.
	// +optional
	// +listType=map
	// +listMapKey=name
	Containers []NewContainer `json:"containers,omitempty"`
	// Message names the refused pods and the cause.
	Message string `json:"message"`
}

// RecommendedNumber is one number of an autoscaler.
type RecommendedNumber struct {
	// Own is the value of the autoscaler's owner. Absent if the owner has set none.
	// +optional
	Own *int32 `json:"own,omitempty"`
	// Recommended is the recommended value.
	Recommended int32 `json:"recommended"`
	// Applied is true if the autoscaler has the recommended value.
	Applied bool `json:"applied"`
	// Reason explains the recommended value.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// RecommendedAutoscaler has the numbers of the autoscaler that governs the target.
type RecommendedAutoscaler struct {
	// Kind and group of the autoscaler, for example HorizontalPodAutoscaler.autoscaling. Empty means that there is no
	// autoscaler.
	// +optional
	Kind string `json:"kind,omitempty"`
	// Name of the autoscaler, in the same namespace. Empty means that there is no autoscaler.
	// +optional
	Name string `json:"name,omitempty"`
	// Min is the current minimum.
	Min RecommendedNumber `json:"min"`
	// Max is the maximum.
	Max RecommendedNumber `json:"max"`
	// MinByHour are the predictable minima of the next 24 hours, from the current hour on.
	// +optional
	// +kubebuilder:validation:MaxItems=24
	// +listType=atomic
	MinByHour []int32 `json:"minByHour,omitempty"`
	// TimeZone is the time zone of the hours in minByHour.
	// +optional
	TimeZone string `json:"timeZone,omitempty"`
	// Utilisation is the target utilisation of CPU, in percent of the request.
	// +optional
	Utilisation *RecommendedNumber `json:"utilisation,omitempty"`
}

// RecommendedDemand is the demand behind the numbers: the CPU demand over all pods of the container that is scaled by
// replicas.
type RecommendedDemand struct {
	// Container that is scaled.
	Container string `json:"container"`
	// Expected is the demand of the newest sample.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	Expected resource.Quantity `json:"expected"`
	// Upper is the usual peak of this hour, or the present demand if that is higher.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	Upper resource.Quantity `json:"upper"`
	// Loss is the difference between the peaks of hours and those of earlier days, in thousandths (the mean pinball
	// loss of logarithms).
	Loss int64 `json:"lossPerMille"`
}

// RecommendationStatus has the recommended numbers. Numbers not known yet are absent.
type RecommendationStatus struct {
	// Phase of the target: Initializing, GatheringData, PartlyWorking, Working, Emergency or BackToNormal.
	// +optional
	Phase string `json:"phase,omitempty"`
	// PhaseReason explains the phase, or has the reason for waiting.
	// +optional
	PhaseReason string `json:"phaseReason,omitempty"`
	// Mode of the policy. With Off nothing is applied.
	// +optional
	Mode TortoiseMode `json:"mode,omitempty"`
	// DecidedTime is the time at which the numbers last changed.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	DecidedTime *metav1.Time `json:"decidedTime,omitempty"`
	// Waiting is the reason why pods do not get the requests yet: a freeze, a PodDisruptionBudget, other targets that
	// restart pods, or pods that differ from the template. Empty means none.
	// +optional
	Waiting string `json:"waiting,omitempty"`
	// Containers have the recommended requests.
	// +optional
	// +listType=map
	// +listMapKey=name
	Containers []RecommendedContainer `json:"containers,omitempty"`
	// Autoscaler has bounds and target utilisation. For a target without an autoscaler they are suggestions for a new
	// one, and nothing is applied.
	// +optional
	Autoscaler *RecommendedAutoscaler `json:"autoscaler,omitempty"`
	// Pods is the progress of in-place changes. Absent if requests change in the template.
	// +optional
	Pods *ResizedPods `json:"pods,omitempty"`
	// NewPods has the changes of new pods. Absent if new pods are created from their template unchanged.
	// +optional
	NewPods *NewPods `json:"newPods,omitempty"`
	// TakenBack is the last roll-out that did not become ready within ten minutes: pods have their earlier requests
	// again. It stays until the spec of the policy or the owner's requests change; until then these requests are not
	// tried again.
	// +optional
	TakenBack *TakenBack `json:"takenBack,omitempty"`
	// Demand is the demand behind the numbers.
	// +optional
	Demand *RecommendedDemand `json:"demand,omitempty"`
	// Reasons are all lines of the last decision with a change.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Reasons []string `json:"reasons,omitempty"`
}

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

// Recommendation has the recommended numbers of one target. It is deleted with the target.
type Recommendation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec RecommendationSpec `json:"spec"`
	// +optional
	Status RecommendationStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// RecommendationList is a list of Recommendations.
type RecommendationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Recommendation `json:"items"`
}

// UsageCheckpointSpec is the learnt usage of one target.
type UsageCheckpointSpec struct {
	// Target is the object whose usage was learnt.
	Target TunedTarget `json:"target"`
	// Policy is the policy that uses the checkpoint, as Kind/namespace/name or Kind/name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=600
	Policy string `json:"policy"`
	// TargetUID is the UID of the target. An object recreated under the same name has no checkpoint.
	// +kubebuilder:validation:MaxLength=128
	TargetUID string `json:"targetUID"`
	// RecalledTime is the time at which the target's history in Prometheus was read. Absent if it was not read yet; it
	// is read once the policy asks for it.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	RecalledTime *metav1.Time `json:"recalledTime,omitempty"`
	// Data is the learnt usage, compressed, in base64: at most 64 KiB before encoding.
	// +kubebuilder:validation:MaxLength=87384
	Data string `json:"data"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=fuc,categories=flyball
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.target.kind`
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.target.name`
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.policy`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// UsageCheckpoint keeps the learnt usage of one target across restarts. It is deleted with the target. Only Flyball
// writes it.
type UsageCheckpoint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec UsageCheckpointSpec `json:"spec"`
}

// +kubebuilder:object:root=true

// UsageCheckpointList is a list of UsageCheckpoints.
type UsageCheckpointList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []UsageCheckpoint `json:"items"`
}
