package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Overlap says which of the triggers count whose windows are open at the same time.
// +kubebuilder:validation:Enum=Priority;Highest
type Overlap string

// Rules for overlapping windows.
const (
	// OverlapPriority: those of the highest priority; where several have it, the larger of each value.
	OverlapPriority Overlap = "Priority"
	// OverlapHighest: all of them, the larger of each value.
	OverlapHighest Overlap = "Highest"
)

// TriggerValues are what a trigger sets; what is left out stays as its owner has it.
// +kubebuilder:validation:XValidation:rule="has(self.min) || has(self.max) || has(self.replicas)",message="give min, max, replicas or several of them"
// +kubebuilder:validation:XValidation:rule="!has(self.min) || !has(self.max) || self.min <= self.max",message="min must not be above max"
type TriggerValues struct {
	// Min is the lower bound, where the kind has bounds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	Min *int64 `json:"min,omitempty"`
	// Max is the upper bound, where the kind has bounds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	Max *int64 `json:"max,omitempty"`
	// Replicas is the size. It is held where nothing else governs the object's replicas. Where an autoscaler does, it is set
	// once, when the values come into force, inside the autoscaler's bounds, and the autoscaler goes on from there.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	Replicas *int64 `json:"replicas,omitempty"`
}

// TimeTrigger is one window with the values that hold in it.
type TimeTrigger struct {
	// Name is unique in its policy; status, events and messages use it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Priority decides between triggers of this policy, by spec.overlap, and between policies on one target: the higher wins;
	// at equal priority more capacity wins.
	// +optional
	// +kubebuilder:default=0
	Priority int32 `json:"priority,omitempty"`
	// Window says when.
	Window Window `json:"window"`
	// During are the values inside the window.
	During TriggerValues `json:"during"`
	// After are the values from the window's end until the next window of any trigger of this policy starts. Without it the
	// target's own values come back at the end.
	// +optional
	After *TriggerValues `json:"after,omitempty"`
	// Suspend takes the trigger out, as if it were not listed.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// TriggerRules are what a Trigger and a ClusterTrigger share.
type TriggerRules struct {
	// TimeZone of the windows is an IANA name, for example America/New_York. Default: UTC.
	// +optional
	// +kubebuilder:default=UTC
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// Overlap says which triggers count while several windows are open: those of the highest priority, or all of them.
	// +optional
	// +kubebuilder:default=Priority
	Overlap Overlap `json:"overlap,omitempty"`
	// Triggers by name.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	Triggers []TimeTrigger `json:"triggers"`
}

// TriggerSpec sets bounds and sizes of the selected objects of its own namespace in windows of time.
type TriggerSpec struct {
	// Target selects the objects. Empty: everything in the namespace that has what the triggers set.
	// +optional
	// +kubebuilder:default={}
	Target       TargetSelector `json:"target,omitempty"`
	TriggerRules `json:",inline"`
	// Template is the object to create if it is missing: a whole manifest of the one kind that the target lists. It belongs
	// to the Trigger and goes with it. An object of that name that somebody else made is used as it is.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Template *runtime.RawExtension `json:"template,omitempty"`
}

// ClusterTriggerSpec sets bounds and sizes of the selected objects of many namespaces in windows of time.
type ClusterTriggerSpec struct {
	// Target selects the objects; it names namespaces, a namespace selector, or only cluster-scoped kinds.
	Target       ClusterTargetSelector `json:"target"`
	TriggerRules `json:",inline"`
}

// AppliedValues are the values that a target has on behalf of a policy.
type AppliedValues struct {
	// Kind and group of the object, for example HorizontalPodAutoscaler.autoscaling.
	Kind string `json:"kind"`
	// Namespace of the object; empty for cluster-scoped kinds.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	Name string `json:"name"`
	// Min is the lower bound set.
	// +optional
	Min *int64 `json:"min,omitempty"`
	// Max is the upper bound set.
	// +optional
	Max *int64 `json:"max,omitempty"`
	// Replicas is the size set; for an autoscaler that of the object it governs.
	// +optional
	Replicas *int64 `json:"replicas,omitempty"`
}

// TriggerStatus is what a Trigger reports.
type TriggerStatus struct {
	PolicyStatus `json:",inline"`
	// ActiveTrigger names the trigger whose during or after values are in force; several are joined by commas.
	// +optional
	ActiveTrigger string `json:"activeTrigger,omitempty"`
	// Applied lists the values in place on the first 20 targets, in order of kind, namespace and name.
	// +optional
	// +listType=atomic
	Applied []AppliedValues `json:"applied,omitempty"`
}

// Trigger sets min, max and size of objects of its own namespace in prioritised windows of time, and gives back what was
// there before.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ftrg,categories=flyball
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.activeTrigger`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Targets",type=integer,JSONPath=`.status.targets.total`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.targets.failed`
// +kubebuilder:printcolumn:name="Next",type=string,format=date-time,JSONPath=`.status.nextTransitionTime`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Trigger struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TriggerSpec `json:"spec"`
	// +optional
	Status TriggerStatus `json:"status,omitempty"`
}

// TriggerList is a list of Triggers.
// +kubebuilder:object:root=true
type TriggerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Trigger `json:"items"`
}

// ClusterTrigger is a Trigger over many namespaces.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fctrg,categories=flyball
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.activeTrigger`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Targets",type=integer,JSONPath=`.status.targets.total`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.targets.failed`
// +kubebuilder:printcolumn:name="Next",type=string,format=date-time,JSONPath=`.status.nextTransitionTime`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterTrigger struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterTriggerSpec `json:"spec"`
	// +optional
	Status TriggerStatus `json:"status,omitempty"`
}

// ClusterTriggerList is a list of ClusterTriggers.
// +kubebuilder:object:root=true
type ClusterTriggerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterTrigger `json:"items"`
}
