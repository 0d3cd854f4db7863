package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:validation:Enum=Awake;Asleep;Hold

// OverrideEffect is the state that an Override asks for.
type OverrideEffect string

// Effects of Overrides.
const (
	// OverrideAwake has schedules yield: the target is as its owner has it.
	OverrideAwake OverrideEffect = "Awake"
	// OverrideAsleep puts the target to sleep.
	OverrideAsleep OverrideEffect = "Asleep"
	// OverrideHold holds the target: its roll-out or its operator stops.
	OverrideHold OverrideEffect = "Hold"
)

// OverrideRules are the common fields of Override and ClusterOverride.
type OverrideRules struct {
	// Effect is Awake, Asleep or Hold. Asleep and Hold need the author's right to patch the targets.
	Effect OverrideEffect `json:"effect"`
	// For is the time from the creation of the object to the end of the effect, for example 3h.
	// +optional
	For Duration `json:"for,omitempty"`
	// Until is the end of the effect: an RFC 3339 instant, a date and time in timeZone, or a date with the whole day meant.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="!self.matches('^ *(0000-|0001-01-01|9999-12-31)')",message="give 0001-01-02 to 9999-12-30"
	Until string `json:"until,omitempty"`
	// TimeZone of until is an IANA name, for example Europe/Skopje. Default: UTC.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// Policies lists the schedules that yield, as name, Kind/name or Kind/namespace/name. Empty: all.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=342
	// +kubebuilder:validation:items:Pattern=`^((Schedule|ClusterSchedule)/([a-z0-9-]+/)?)?[a-z0-9.-]+$`
	// +listType=set
	Policies []string `json:"policies,omitempty"`
	// Reason explains the override.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason"`
}

// +kubebuilder:validation:XValidation:rule="has(self.for) != has(self.until)",message="give exactly one of for and until"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || has(self.until)",message="timeZone is the zone of until: leave it out with for"

// OverrideSpec overrides schedules for a time in its own namespace.
type OverrideSpec struct {
	// Target selects the objects, not by annotations. Empty: everything in the namespace for which the effect is possible.
	// +optional
	// +kubebuilder:default={}
	// +kubebuilder:validation:XValidation:rule="!has(self.annotations)",message="annotations: select by kinds, names and labels"
	// +kubebuilder:validation:XValidation:rule="!has(self.annotationSelector)",message="annotationSelector: select by kinds, names and labels"
	Target        TargetSelector `json:"target,omitempty"`
	OverrideRules `json:",inline"`
}

// +kubebuilder:validation:XValidation:rule="has(self.for) != has(self.until)",message="give exactly one of for and until"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || has(self.until)",message="timeZone is the zone of until: leave it out with for"

// ClusterOverrideSpec overrides schedules for a time in many namespaces.
type ClusterOverrideSpec struct {
	// Target selects the objects; it names namespaces, a namespace selector, or only cluster-scoped kinds.
	// +kubebuilder:validation:XValidation:rule="!has(self.annotations)",message="annotations: select by kinds, names and labels"
	// +kubebuilder:validation:XValidation:rule="!has(self.annotationSelector)",message="annotationSelector: select by kinds, names and labels"
	Target        ClusterTargetSelector `json:"target"`
	OverrideRules `json:",inline"`
}

// OverrideStatus is the status of an override.
type OverrideStatus struct {
	PolicyStatus `json:",inline"`
	// EndTime is the end of the effect.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// Reached lists the first targets on which the override has its effect.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Reached []ReachedTarget `json:"reached,omitempty"`
}

// ReachedTarget is a target on which an override has its effect.
type ReachedTarget struct {
	// Kind of the target, with its group.
	Kind string `json:"kind"`
	// Namespace of the target; absent for cluster-scoped kinds.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the target.
	Name string `json:"name"`
	// Yielding names the schedules that yield; absent: no schedule selects the target.
	// +optional
	Yielding string `json:"yielding,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=fov,categories=flyball
// +kubebuilder:printcolumn:name="Effect",type=string,JSONPath=`.spec.effect`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Targets",type=integer,JSONPath=`.status.targets.total`
// +kubebuilder:printcolumn:name="Overridden",type=integer,JSONPath=`.status.targets.overridden`
// +kubebuilder:printcolumn:name="End",type=string,format=date-time,JSONPath=`.status.endTime`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.spec.reason`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// Override keeps objects of its own namespace awake, asleep or held for a time. It beats every schedule.
type Override struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec OverrideSpec `json:"spec"`
	// +optional
	Status OverrideStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// OverrideList is a list of Overrides.
type OverrideList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Override `json:"items"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fcov,categories=flyball
// +kubebuilder:printcolumn:name="Effect",type=string,JSONPath=`.spec.effect`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Targets",type=integer,JSONPath=`.status.targets.total`
// +kubebuilder:printcolumn:name="Overridden",type=integer,JSONPath=`.status.targets.overridden`
// +kubebuilder:printcolumn:name="End",type=string,format=date-time,JSONPath=`.status.endTime`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.spec.reason`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// ClusterOverride is an Override over many namespaces.
type ClusterOverride struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterOverrideSpec `json:"spec"`
	// +optional
	Status OverrideStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterOverrideList is a list of ClusterOverrides.
type ClusterOverrideList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterOverride `json:"items"`
}

// +kubebuilder:validation:XValidation:rule="has(self.maxDuration) || has(self.effects)",message="give maxDuration, effects or both"

// OverrideBounds limits the Overrides to which a schedule yields.
type OverrideBounds struct {
	// MaxDuration is the longest time, from the creation of an Override, for which the schedule yields to it, for example 12h.
	// Default: no limit.
	// +optional
	MaxDuration Duration `json:"maxDuration,omitempty"`
	// Effects lists the effects to which the schedule yields. Default: all.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +listType=set
	Effects []OverrideEffect `json:"effects,omitempty"`
}
