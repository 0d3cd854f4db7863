package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// +kubebuilder:validation:Enum=Priority;Highest

// Overlap decides which triggers count while several windows are open.
type Overlap string

// These are the rules for overlapping windows.
const (
	// OverlapPriority: only triggers of the highest priority count. Among several of them, the larger of each value
	// wins.
	OverlapPriority Overlap = "Priority"
	// OverlapHighest: all triggers count, and the larger of each value wins.
	OverlapHighest Overlap = "Highest"
)

// +kubebuilder:validation:XValidation:rule="has(self.min) || has(self.max) || has(self.replicas)",message="give min, max, replicas or several of them"
// +kubebuilder:validation:XValidation:rule="!has(self.min) || !has(self.max) || self.min <= self.max",message="min must not be above max"

// TriggerValues are the values of a trigger. Missing values stay as the owner has them.
type TriggerValues struct {
	// Min is the minimum, for kinds with bounds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	Min *int64 `json:"min,omitempty"`
	// Max is the maximum, for kinds with bounds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	Max *int64 `json:"max,omitempty"`
	// Replicas is the size. It is enforced, unless an autoscaler governs the object: then it is set once when the
	// values come into force, within the autoscaler's bounds, and the autoscaler continues from there.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	Replicas *int64 `json:"replicas,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="has(self.window) || has(self.calendars) && self.calendars.exists(c, c.effect == 'Open')",message="give window, or a calendar with the effect Open: the trigger has no time at which it begins"

// TimeTrigger is one window with its values.
type TimeTrigger struct {
	// Name is unique in its policy, and appears in status, events and messages.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Priority decides between triggers of this policy, by spec.overlap, and between policies on one target: the higher
	// wins, and at equal priority more capacity.
	// +optional
	// +kubebuilder:default=0
	Priority int32 `json:"priority,omitempty"`
	// Window is the time of the trigger. It may be absent where a calendar has the effect Open.
	// +optional
	Window Window `json:"window,omitzero"`
	// Calendars overrule the window on their days: with Open the trigger is in its window, with Closed it is not.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Calendars []WindowCalendar `json:"calendars,omitempty"`
	// During are the values inside the window.
	During TriggerValues `json:"during"`
	// After are the values from the window's end until the next window of any trigger of this policy. Without them the
	// originals are restored at the window's end.
	// +optional
	After *TriggerValues `json:"after,omitempty"`
	// Suspend disables the trigger, as if it were not listed.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// TriggerRules are the common fields of Trigger and ClusterTrigger.
type TriggerRules struct {
	// TimeZone of the windows is an IANA name, for example America/New_York. Default: UTC.
	// +optional
	// +kubebuilder:default=UTC
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// Overlap decides which triggers count while several windows are open: only triggers of the highest priority, or
	// all.
	// +optional
	// +kubebuilder:default=Priority
	Overlap Overlap `json:"overlap,omitempty"`
	// Triggers are the triggers, by name.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	Triggers []TimeTrigger `json:"triggers"`
}

// TriggerSpec sets bounds and sizes of the selected objects of its own namespace in windows of time.
type TriggerSpec struct {
	// Target selects the objects. Empty means everything in the namespace that has the fields the triggers set.
	// +optional
	// +kubebuilder:default={}
	Target       TargetSelector `json:"target,omitempty"`
	TriggerRules `json:",inline"`
	// Template is a complete manifest of the object to create if it is missing. Its kind must be the only kind in
	// target. The created object belongs to the Trigger and is deleted with it. An existing object of the same name
	// with another creator is used unchanged.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Template *runtime.RawExtension `json:"template,omitempty"`
}

// ClusterTriggerSpec sets bounds and sizes of the selected objects of many namespaces in windows of time.
type ClusterTriggerSpec struct {
	// Target selects the objects by namespaces, a namespace selector, or only cluster-scoped kinds, and optionally
	// more.
	Target       ClusterTargetSelector `json:"target"`
	TriggerRules `json:",inline"`
}

// AppliedValues are the values of a policy on one target.
type AppliedValues struct {
	// Kind and group of the object, for example HorizontalPodAutoscaler.autoscaling.
	Kind string `json:"kind"`
	// Namespace of the object. Empty for cluster-scoped kinds.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	Name string `json:"name"`
	// Min is the minimum set by the policy.
	// +optional
	Min *int64 `json:"min,omitempty"`
	// Max is the maximum set by the policy.
	// +optional
	Max *int64 `json:"max,omitempty"`
	// Replicas is the size set by the policy. For an autoscaler it is the size of the governed object.
	// +optional
	Replicas *int64 `json:"replicas,omitempty"`
}

// TriggerStatus is the status of a Trigger.
type TriggerStatus struct {
	PolicyStatus `json:",inline"`
	// ActiveTrigger is the trigger whose during or after values are in force. Several are joined by commas.
	// +optional
	ActiveTrigger string `json:"activeTrigger,omitempty"`
	// Applied lists the values on the first 20 targets, sorted by kind, namespace and name.
	// +optional
	// +listType=atomic
	Applied []AppliedValues `json:"applied,omitempty"`
}

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

// Trigger sets the minimum, maximum and size of objects of its own namespace in prioritised windows of time, and
// restores the originals afterwards.
type Trigger struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TriggerSpec `json:"spec"`
	// +optional
	Status TriggerStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// TriggerList is a list of Triggers.
type TriggerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Trigger `json:"items"`
}

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

// ClusterTrigger is a Trigger for many namespaces.
type ClusterTrigger struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterTriggerSpec `json:"spec"`
	// +optional
	Status TriggerStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterTriggerList is a list of ClusterTriggers.
type ClusterTriggerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterTrigger `json:"items"`
}
