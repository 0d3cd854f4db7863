package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Action is one thing that a change does to an object. A change is a set of actions: a template edit bundled with another
// replica count is both RollOut and Scale.
// +kubebuilder:validation:Enum=Create;Delete;RollOut;Scale
type Action string

// Actions.
const (
	ActionCreate  Action = "Create"
	ActionDelete  Action = "Delete"
	ActionRollOut Action = "RollOut"
	ActionScale   Action = "Scale"
)

// Enforcement is what happens to a change that a policy denies.
// +kubebuilder:validation:Enum=Deny;Warn;Audit
type Enforcement string

// Enforcements.
const (
	// EnforcementDeny refuses the change.
	EnforcementDeny Enforcement = "Deny"
	// EnforcementWarn lets it through with a warning, which kubectl shows.
	EnforcementWarn Enforcement = "Warn"
	// EnforcementAudit lets it through and only writes it down: audit annotation, metric and count.
	EnforcementAudit Enforcement = "Audit"
)

// LabelChanges is what happens to an edit of labels or annotations by which an object leaves what a policy selects.
// +kubebuilder:validation:Enum=Deny;Warn
type LabelChanges string

// Answers to an edit of labels.
const (
	// LabelChangesDeny refuses it.
	LabelChangesDeny LabelChanges = "Deny"
	// LabelChangesWarn lets it through with a warning; the next edit of the object is free of the policy.
	LabelChangesWarn LabelChanges = "Warn"
)

// FreezeMessage is what somebody who is refused is told.
type FreezeMessage struct {
	// Reason says why changes are frozen.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason,omitempty"`
	// DocsURL is where to read more.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	DocsURL string `json:"docsURL,omitempty"`
	// Contact is whom to ask: a name, a channel or an address.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Contact string `json:"contact,omitempty"`
}

// FreezeRules is what change freezes and maintenance windows of both scopes share.
type FreezeRules struct {
	// TimeZone is an IANA name, for example Europe/Berlin. A freeze uses it for messages, a maintenance window also for its
	// windows. Default: UTC.
	// +optional
	// +kubebuilder:default=UTC
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// Deny lists the actions that are denied. Default: all of them.
	// +optional
	// +kubebuilder:default={Create,Delete,RollOut,Scale}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	Deny []Action `json:"deny,omitempty"`
	// Enforcement says what happens to a denied change.
	// +optional
	// +kubebuilder:default=Deny
	Enforcement Enforcement `json:"enforcement,omitempty"`
	// LabelChanges says what happens, while changes are denied, to an edit of labels or annotations by which an object leaves
	// the selection of target. Only enforcement Deny refuses such an edit. Default: Deny for Cluster kinds whose target selects
	// by the labels or annotations of objects, Warn for all others.
	// +optional
	LabelChanges LabelChanges `json:"labelChanges,omitempty"`
	// GuardAhead is how long before it begins to deny, at startTime or when a window closes, the policy is guarded already: from
	// then on whoever deletes or weakens it needs the verb override on it, as while it denies. 0s: not before.
	// +optional
	// +kubebuilder:default="24h"
	GuardAhead Duration `json:"guardAhead,omitempty"`
	// Message is told to whoever is refused.
	// +optional
	Message *FreezeMessage `json:"message,omitempty"`
	// Suspend lists kinds whose objects, selected as by target, are put to sleep while changes are frozen: any adapted kind
	// with a suspend capability, such as CronJobs, Argo CD Applications and Flux Kustomizations. They are restored exactly.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Suspend []KindRef `json:"suspend,omitempty"`
}

// FreezePeriod is the time of a change freeze: from startTime until just before endTime.
type FreezePeriod struct {
	// StartTime is the first frozen instant.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	StartTime metav1.Time `json:"startTime"`
	// EndTime is the first instant after the freeze.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	EndTime metav1.Time `json:"endTime"`
}

// ChangeFreezeSpec denies changes to the selected objects of its own namespace from startTime until endTime.
// +kubebuilder:validation:XValidation:rule="self.endTime > self.startTime",message="endTime must be after startTime"
type ChangeFreezeSpec struct {
	// Target selects the objects. Empty: everything adapted in the namespace.
	// +optional
	// +kubebuilder:default={}
	Target       TargetSelector `json:"target,omitempty"`
	FreezePeriod `json:",inline"`
	FreezeRules  `json:",inline"`
}

// ClusterChangeFreezeSpec denies changes to the selected objects of many namespaces from startTime until endTime.
// +kubebuilder:validation:XValidation:rule="self.endTime > self.startTime",message="endTime must be after startTime"
type ClusterChangeFreezeSpec struct {
	// Target selects the objects; it names namespaces, a namespace selector, or only cluster-scoped kinds.
	Target       ClusterTargetSelector `json:"target"`
	FreezePeriod `json:",inline"`
	FreezeRules  `json:",inline"`
}

// MaintenanceWindowSpec denies changes to the selected objects of its own namespace outside its windows.
type MaintenanceWindowSpec struct {
	// Target selects the objects. Empty: everything adapted in the namespace.
	// +optional
	// +kubebuilder:default={}
	Target TargetSelector `json:"target,omitempty"`
	// Windows are when changes are allowed; outside all of them they are denied.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Windows     []Window `json:"windows"`
	FreezeRules `json:",inline"`
}

// ClusterMaintenanceWindowSpec denies changes to the selected objects of many namespaces outside its windows.
type ClusterMaintenanceWindowSpec struct {
	// Target selects the objects; it names namespaces, a namespace selector, or only cluster-scoped kinds.
	Target ClusterTargetSelector `json:"target"`
	// Windows are when changes are allowed; outside all of them they are denied.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Windows     []Window `json:"windows"`
	FreezeRules `json:",inline"`
}

// DeniedCounts counts refused requests by action. A request with two denied actions counts under both.
type DeniedCounts struct {
	// Create counts creations.
	// +optional
	Create int64 `json:"create,omitempty"`
	// Delete counts deletions.
	// +optional
	Delete int64 `json:"delete,omitempty"`
	// RollOut counts roll-outs.
	// +optional
	RollOut int64 `json:"rollOut,omitempty"`
	// Scale counts scalings.
	// +optional
	Scale int64 `json:"scale,omitempty"`
}

// LastDenial is the last request that a policy refused, or would have refused if it were enforced.
type LastDenial struct {
	// Time of the request.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	Time metav1.Time `json:"time"`
	// User who asked.
	User string `json:"user"`
	// Kind and group of the object, for example Deployment.apps.
	Kind string `json:"kind"`
	// Namespace of the object; empty for cluster-scoped kinds.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	Name string `json:"name"`
	// Actions that were denied. None: it was an edit of labels by which the object would have left the policy.
	// +optional
	// +listType=atomic
	Actions []Action `json:"actions,omitempty"`
}

// FreezeStatus is what change freezes and maintenance windows report. Its state is one of Frozen, Open, Scheduled (a freeze
// to come), Ended, Invalid and Restoring. Instants are fixed: nothing here is rewritten as time goes by.
type FreezeStatus struct {
	PolicyStatus `json:",inline"`
	// Active is true while changes are denied.
	// +optional
	Active bool `json:"active"`
	// NextFreezeTime is when changes are denied next; absent when they are denied now or never again.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	NextFreezeTime *metav1.Time `json:"nextFreezeTime,omitempty"`
	// NextOpenTime is when changes are allowed next by this policy; absent when they are allowed now or never again.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	NextOpenTime *metav1.Time `json:"nextOpenTime,omitempty"`
	// Denied counts the requests refused, or that would have been refused if the policy were enforced. Dry runs do not count.
	// +optional
	Denied *DeniedCounts `json:"denied,omitempty"`
	// LastDenial is the last of them.
	// +optional
	LastDenial *LastDenial `json:"lastDenial,omitempty"`
}
