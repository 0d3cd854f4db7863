package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:validation:Enum=Create;Delete;RollOut;Scale

// Action is one effect of a change on an object. A change is a set of actions: an edit of both the template and the
// replicas is RollOut and Scale.
type Action string

// These are all actions.
const (
	ActionCreate  Action = "Create"
	ActionDelete  Action = "Delete"
	ActionRollOut Action = "RollOut"
	ActionScale   Action = "Scale"
)

// +kubebuilder:validation:Enum=Deny;Warn;Audit

// Enforcement is the response to a change that a policy denies.
type Enforcement string

// These are the responses to a denied change.
const (
	// EnforcementDeny refuses the change.
	EnforcementDeny Enforcement = "Deny"
	// EnforcementWarn admits the change with a warning, which kubectl shows.
	EnforcementWarn Enforcement = "Warn"
	// EnforcementAudit admits the change and only records it: audit annotation, metric and count.
	EnforcementAudit Enforcement = "Audit"
)

// +kubebuilder:validation:Enum=Deny;Warn

// LabelChanges is the response to an edit of labels or annotations through which an object leaves the selection of a
// policy.
type LabelChanges string

// These are the responses to an edit of labels.
const (
	// LabelChangesDeny refuses the edit.
	LabelChangesDeny LabelChanges = "Deny"
	// LabelChangesWarn admits the edit with a warning. The policy does not apply to the next edit of the object.
	LabelChangesWarn LabelChanges = "Warn"
)

// FreezeMessage is information for users whose change is refused.
type FreezeMessage struct {
	// Reason explains the freeze.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason,omitempty"`
	// DocsURL is the URL of further information.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	DocsURL string `json:"docsURL,omitempty"`
	// Contact is the contact for questions: a name, a channel or an address.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Contact string `json:"contact,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="has(self.namespace) == (self.kind == 'ServiceAccount')",message="a ServiceAccount has a namespace, and User and Group have none"

// FreezeSubject is a user, a group or a service account, as in a RoleBinding.
type FreezeSubject struct {
	// Kind is User, Group or ServiceAccount.
	// +kubebuilder:validation:Enum=User;Group;ServiceAccount
	Kind string `json:"kind"`
	// Namespace of a service account.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// Name of the user, group or service account.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// FreezeRules are the common fields of change freezes and maintenance windows of both scopes.
type FreezeRules struct {
	// TimeZone is an IANA name, for example Europe/Berlin. It is used for windows and in messages. Default: UTC.
	// +optional
	// +kubebuilder:default=UTC
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// Deny lists the denied actions. Default: all actions. With an empty list the policy denies nothing and only suspends.
	// +optional
	// +kubebuilder:default={Create,Delete,RollOut,Scale}
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	Deny []Action `json:"deny,omitzero"`
	// Subjects are the users, groups and service accounts whose changes are judged. Empty: those of everybody.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Subjects []FreezeSubject `json:"subjects,omitempty"`
	// ExcludeSubjects are the users, groups and service accounts whose changes are not judged. It overrides subjects.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	ExcludeSubjects []FreezeSubject `json:"excludeSubjects,omitempty"`
	// Enforcement is the response to a denied change.
	// +optional
	// +kubebuilder:default=Deny
	Enforcement Enforcement `json:"enforcement,omitempty"`
	// LabelChanges is the response, while changes are denied, to an edit of labels or annotations through which an
	// object leaves the selection of target, or the entries of suspend, and so wakes. Only enforcement Deny refuses such
	// an edit. Default: Deny for Cluster kinds that select by labels or annotations of objects and deny some action, Warn
	// for all others.
	// +optional
	LabelChanges LabelChanges `json:"labelChanges,omitempty"`
	// GuardAhead is the time before the policy begins to deny changes (at startTime, or when a window closes) from which on
	// the policy is guarded. To delete or weaken a guarded policy, the verb override on the policy is needed, as while it
	// denies changes. 0s: only while it denies changes.
	// +optional
	// +kubebuilder:default="24h"
	GuardAhead Duration `json:"guardAhead,omitempty"`
	// LetFinish is how long after each begin of the freeze, or closing of the window, controllers may finish roll-outs that
	// had begun: service accounts of other namespaces write the status of an object that is not ready, such as the steps
	// of a canary, and an Argo Rollout's controller scales the ReplicaSets of the Rollout. All other edits stay denied, also of
	// status fields that request an action. Default: not at all.
	// +optional
	LetFinish Duration `json:"letFinish,omitempty"`
	// Message is shown to users whose change is refused.
	// +optional
	Message *FreezeMessage `json:"message,omitempty"`
}

// FreezeSuspend is a kind whose objects sleep while changes are frozen. Its other fields narrow the selection of target for
// these objects.
type FreezeSuspend struct {
	KindRef `json:",inline"`
	// Names lists names and globs of the objects to put to sleep. Empty: all that target selects.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	Names []string `json:"names,omitempty"`
	// ExcludeNames lists names and globs of objects that stay awake. It overrides names.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	ExcludeNames []string `json:"excludeNames,omitempty"`
	// Selector matches the labels of the objects to put to sleep. Empty: all that target selects.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// ClusterFreezeSuspend is a FreezeSuspend that may also narrow the namespaces of target.
type ClusterFreezeSuspend struct {
	FreezeSuspend `json:",inline"`
	// Namespaces lists names and globs of the namespaces in which objects sleep. Empty: all that target reaches.
	// +optional
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	Namespaces []string `json:"namespaces,omitempty"`
	// NamespaceSelector matches the labels of the namespaces in which objects sleep. With namespaces, either is enough.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// ExcludeNamespaces lists names and globs of namespaces in which objects stay awake. It overrides the two fields above.
	// +optional
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	ExcludeNamespaces []string `json:"excludeNamespaces,omitempty"`
}

// Period is a time of denied changes.
type Period struct {
	// StartTime is the first frozen instant. In a spec it goes with endTime.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	StartTime metav1.Time `json:"startTime,omitzero"`
	// EndTime is the first instant after the freeze. In a spec it goes with startTime.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	EndTime metav1.Time `json:"endTime,omitzero"`
}

// FreezePeriod is the time of a change freeze: from startTime until just before endTime, in each of its windows, and on the
// days of its calendars.
type FreezePeriod struct {
	Period `json:",inline"`
	// Windows are times at which changes are denied, again and again: every Friday from 15:00, the last days of each month.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Windows []Window `json:"windows,omitempty"`
	// Calendars overrule startTime, endTime and windows on their days: with Frozen changes are denied, with Open they are not.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Calendars []FreezeCalendar `json:"calendars,omitempty"`
}

// +kubebuilder:validation:Enum=Frozen;Open

// FreezeEffect is the effect of a calendar's days on a freeze or maintenance window.
type FreezeEffect string

// These are the effects of a calendar on changes.
const (
	// EffectFrozen denies changes.
	EffectFrozen FreezeEffect = "Frozen"
	// EffectChangesOpen lets changes through.
	EffectChangesOpen FreezeEffect = "Open"
)

// FreezeCalendar uses a Calendar in a freeze or maintenance window. Where two calendars disagree at an instant, Frozen wins.
type FreezeCalendar struct {
	// Name of the Calendar.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Effect is the state on the calendar's days. On these days it replaces the windows.
	Effect FreezeEffect `json:"effect"`
}

// Use returns the name of the Calendar and its effect.
func (c FreezeCalendar) Use() (name string, effect FreezeEffect) { return c.Name, c.Effect }

// +kubebuilder:validation:XValidation:rule="has(self.startTime) == has(self.endTime)",message="startTime and endTime go together"
// +kubebuilder:validation:XValidation:rule="!has(self.startTime) || !has(self.endTime) || self.endTime > self.startTime",message="endTime must be after startTime"
// +kubebuilder:validation:XValidation:rule="has(self.startTime) || has(self.endTime) || has(self.windows) && size(self.windows) > 0 || has(self.calendars) && self.calendars.exists(c, c.effect == 'Frozen')",message="give startTime and endTime, windows, or a calendar with the effect Frozen: the freeze has no time at which it denies changes"

// ChangeFreezeSpec denies changes to the selected objects of its own namespace from startTime until endTime, and at times
// that recur.
type ChangeFreezeSpec struct {
	// Target selects the objects. Empty means everything adapted in the namespace.
	// +optional
	// +kubebuilder:default={}
	Target       TargetSelector `json:"target,omitempty"`
	FreezePeriod `json:",inline"`
	FreezeRules  `json:",inline"`
	// Suspend lists kinds whose objects, selected by target, are put to sleep while changes are frozen: any adapted
	// kind with the suspend capability, such as CronJobs, Argo CD Applications and Flux Kustomizations. They are
	// restored exactly. Names and labels of an entry narrow the selection of target for its kind.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Suspend []FreezeSuspend `json:"suspend,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="has(self.startTime) == has(self.endTime)",message="startTime and endTime go together"
// +kubebuilder:validation:XValidation:rule="!has(self.startTime) || !has(self.endTime) || self.endTime > self.startTime",message="endTime must be after startTime"
// +kubebuilder:validation:XValidation:rule="has(self.startTime) || has(self.endTime) || has(self.windows) && size(self.windows) > 0 || has(self.calendars) && self.calendars.exists(c, c.effect == 'Frozen')",message="give startTime and endTime, windows, or a calendar with the effect Frozen: the freeze has no time at which it denies changes"

// ClusterChangeFreezeSpec denies changes to the selected objects of many namespaces from startTime until endTime, and at
// times that recur.
type ClusterChangeFreezeSpec struct {
	// Target selects the objects by namespaces, a namespace selector, or only cluster-scoped kinds, and optionally
	// more.
	Target       ClusterTargetSelector `json:"target"`
	FreezePeriod `json:",inline"`
	FreezeRules  `json:",inline"`
	// Suspend lists kinds whose objects, selected by target, are put to sleep while changes are frozen: any adapted
	// kind with the suspend capability, such as CronJobs, Argo CD Applications and Flux Kustomizations. They are
	// restored exactly. Names, labels and namespaces of an entry narrow the selection of target for its kind.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Suspend []ClusterFreezeSuspend `json:"suspend,omitempty"`
}

// MaintenanceWindowSpec denies changes to the selected objects of its own namespace outside its windows.
type MaintenanceWindowSpec struct {
	// Target selects the objects. Empty means everything adapted in the namespace.
	// +optional
	// +kubebuilder:default={}
	Target TargetSelector `json:"target,omitempty"`
	// Windows are the times at which changes are allowed. Outside all windows they are denied.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Windows []Window `json:"windows"`
	// Calendars overrule the windows on their days: with Open changes are allowed, with Frozen they are not.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Calendars   []FreezeCalendar `json:"calendars,omitempty"`
	FreezeRules `json:",inline"`
	// Suspend lists kinds whose objects, selected by target, are put to sleep while changes are frozen: any adapted
	// kind with the suspend capability, such as CronJobs, Argo CD Applications and Flux Kustomizations. They are
	// restored exactly. Names and labels of an entry narrow the selection of target for its kind.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Suspend []FreezeSuspend `json:"suspend,omitempty"`
}

// ClusterMaintenanceWindowSpec denies changes to the selected objects of many namespaces outside its windows.
type ClusterMaintenanceWindowSpec struct {
	// Target selects the objects by namespaces, a namespace selector, or only cluster-scoped kinds, and optionally
	// more.
	Target ClusterTargetSelector `json:"target"`
	// Windows are the times at which changes are allowed. Outside all windows they are denied.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Windows []Window `json:"windows"`
	// Calendars overrule the windows on their days: with Open changes are allowed, with Frozen they are not.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Calendars   []FreezeCalendar `json:"calendars,omitempty"`
	FreezeRules `json:",inline"`
	// Suspend lists kinds whose objects, selected by target, are put to sleep while changes are frozen: any adapted
	// kind with the suspend capability, such as CronJobs, Argo CD Applications and Flux Kustomizations. They are
	// restored exactly. Names, labels and namespaces of an entry narrow the selection of target for its kind.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Suspend []ClusterFreezeSuspend `json:"suspend,omitempty"`
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

// LastDenial is the last request that a policy refused, or would have refused if enforced.
type LastDenial struct {
	// Time of the request.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	Time metav1.Time `json:"time"`
	// User who made the request.
	User string `json:"user"`
	// Kind and group of the object, for example Deployment.apps.
	Kind string `json:"kind"`
	// Namespace of the object. Empty for cluster-scoped kinds.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	Name string `json:"name"`
	// Actions that were denied. None means that the request was an edit of labels through which the object would have
	// left the policy.
	// +optional
	// +listType=atomic
	Actions []Action `json:"actions,omitempty"`
}

// AnnouncedDenial is a time of denied changes. An absent startTime or endTime means no begin or no end.
type AnnouncedDenial struct {
	// Generation is the generation of the policy's spec. The time counts for no other generation.
	Generation int64 `json:"generation"`
	Period     `json:",inline"`
}

// FreezeStatus is the status of change freezes and maintenance windows. Its state is one of Frozen, Open, Scheduled (a
// freeze in the future), Ended, Invalid and Restoring. Times are absolute, so that the status need not be rewritten as
// time passes.
type FreezeStatus struct {
	PolicyStatus `json:",inline"`
	// Active is true while changes are denied.
	// +optional
	Active bool `json:"active"`
	// NextFreezeTime is the next time at which changes are denied. Absent if they are denied now or never again.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	NextFreezeTime *metav1.Time `json:"nextFreezeTime,omitempty"`
	// NextOpenTime is the next time at which this policy allows changes. Absent if it allows them now or never again.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	NextOpenTime *metav1.Time `json:"nextOpenTime,omitempty"`
	// Announced is the current or else the next denial of a namespaced policy with calendars. From guardAhead before the begin
	// until the end, changes of Calendars do not shorten the denial. Only Flyball may write the field.
	// +optional
	Announced *AnnouncedDenial `json:"announced,omitempty"`
	// Denied counts the requests that were refused, or would have been refused if the policy were enforced. Dry runs do
	// not count.
	// +optional
	Denied *DeniedCounts `json:"denied,omitempty"`
	// LastDenial is the last denied request.
	// +optional
	LastDenial *LastDenial `json:"lastDenial,omitempty"`
}
