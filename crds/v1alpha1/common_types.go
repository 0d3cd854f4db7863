package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// KindRef names a kind by its API group and kind. The adapter determines the version.
type KindRef struct {
	// Group is the API group. Empty means the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// Kind is the kind's name, as in the manifest of an object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
}

// GroupKind returns the kind as a schema.GroupKind.
func (k KindRef) GroupKind() schema.GroupKind { return schema.GroupKind{Group: k.Group, Kind: k.Kind} }

// GroupKinds returns the kinds as schema.GroupKinds, in order.
func GroupKinds(refs []KindRef) []schema.GroupKind {
	kinds := make([]schema.GroupKind, len(refs))
	for i, ref := range refs {
		kinds[i] = ref.GroupKind()
	}
	return kinds
}

// TargetSelector selects the objects of a policy. All fields are ANDed, and an empty field selects everything.
type TargetSelector struct {
	// Kinds lists the kinds to act on. Empty means every adapted kind with the capability that the policy needs.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Kinds []KindRef `json:"kinds,omitempty"`
	// Names lists object names and globs. In a glob, * stands for any text: dev-*, *-preview.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	Names []string `json:"names,omitempty"`
	// ExcludeNames excludes objects by name or glob. It overrides names.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	ExcludeNames []string `json:"excludeNames,omitempty"`
	// Selector matches the labels of the object.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Annotations are exact matches on the object's annotations; all must hold.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Annotations map[string]string `json:"annotations,omitempty"`
	// AnnotationSelector matches the annotations of the object as a label selector matches labels. Values may be any text.
	// +optional
	AnnotationSelector *metav1.LabelSelector `json:"annotationSelector,omitempty"`
	// Exclude excludes objects by their labels. An empty selector ({}) excludes none. Default:
	// flyball.dev/exclude=true, except that freezes, maintenance windows and exceptions exclude none, because users who
	// may set labels could evade every freeze.
	// +optional
	Exclude *metav1.LabelSelector `json:"exclude,omitempty"`
}

// ClusterTargetSelector is a TargetSelector for many namespaces: the listed namespaces and the namespaces that the
// selector matches, without the excluded ones. kube-system, kube-public, kube-node-lease and Flyball's own namespace
// are selected only by their whole names.
type ClusterTargetSelector struct {
	TargetSelector `json:",inline"`
	// Namespaces lists namespaces by name or glob, such as dev-*.
	// +optional
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	Namespaces []string `json:"namespaces,omitempty"`
	// NamespaceSelector matches the labels of namespaces. An empty selector ({}) matches every namespace.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// ExcludeNamespaces excludes namespaces by name or glob. It overrides the two fields above.
	// +optional
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	ExcludeNamespaces []string `json:"excludeNamespaces,omitempty"`
}

// +kubebuilder:validation:Enum=Mon;Tue;Wed;Thu;Fri;Sat;Sun

// Day is a day of the week.
type Day string

// +kubebuilder:validation:Minimum=-31
// +kubebuilder:validation:Maximum=31
// +kubebuilder:validation:XValidation:rule="self != 0",message="a day of the month is 1 to 31, or -1 to -31 counted from the end of the month: -1 is the last day"

// DayOfMonth is a day of the month, 1 to 31, or counted from its end, -1 (the last) to -31.
type DayOfMonth int32

// NthDay is a weekday by its place in the month, such as the last Friday: {week: -1, day: Fri}.
type NthDay struct {
	// Week is 1 (the first of the month) to 5, or -1 (the last) to -5.
	// +kubebuilder:validation:Minimum=-5
	// +kubebuilder:validation:Maximum=5
	// +kubebuilder:validation:XValidation:rule="self != 0",message="a week is 1 to 5, or -1 to -5 counted from the end of the month: -1 is the last"
	Week int32 `json:"week"`
	// Day of the week.
	Day Day `json:"day"`
}

// Weeks selects every nth week, from Monday to Sunday.
type Weeks struct {
	// Every is the distance between selected weeks: 2 selects every other week.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=12
	Every int32 `json:"every"`
	// Starting is a date (YYYY-MM-DD) in a selected week. Weeks before it are counted too.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}$')",message="write a date as YYYY-MM-DD, such as 2026-12-24",messageExpression="'write a date as YYYY-MM-DD, such as 2026-12-24, and not ' + self"
	Starting string `json:"starting"`
}

// +kubebuilder:validation:XValidation:rule="has(self.days) || has(self.months) || has(self.weeks) || has(self.dayOfMonth) || has(self.nth) || has(self.from) || has(self.cron) || has(self.start)",message="give exactly one form: days, months, weeks, dayOfMonth or nth with or without from and to; or cron with duration or until; or start and end"
// +kubebuilder:validation:XValidation:rule="!(has(self.cron) && has(self.start))",message="give cron, or start and end, and not both"
// +kubebuilder:validation:XValidation:rule="!(has(self.cron) && (has(self.days) || has(self.months) || has(self.weeks) || has(self.dayOfMonth) || has(self.nth) || has(self.from)))",message="cron does not go with days, months, weeks, dayOfMonth, nth, from and to: write them into the cron, or leave cron out"
// +kubebuilder:validation:XValidation:rule="!(has(self.start) && (has(self.days) || has(self.months) || has(self.weeks) || has(self.dayOfMonth) || has(self.nth) || has(self.from)))",message="start and end do not go with days, months, weeks, dayOfMonth, nth, from and to: write validFrom and validUntil for the dates between which such a window holds"
// +kubebuilder:validation:XValidation:rule="has(self.from) == has(self.to)",message="from and to go together"
// +kubebuilder:validation:XValidation:rule="!has(self.weeks) || !(has(self.dayOfMonth) || has(self.nth))",message="weeks counts weeks, where dayOfMonth and nth count within a month: leave one of them out"
// +kubebuilder:validation:XValidation:rule="has(self.cron) == (has(self.duration) || has(self.until))",message="cron goes together with duration or until"
// +kubebuilder:validation:XValidation:rule="!(has(self.duration) && has(self.until))",message="give duration or until, and not both"
// +kubebuilder:validation:XValidation:rule="has(self.start) == has(self.end)",message="start and end go together"

// Window is a span of time in one of three forms: days and times of the day, a cron with a duration or an until, or a start and an end.
type Window struct {
	// Name is used in messages. No two windows of one list have the same.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// Days on which the window starts. Empty: every day. An overnight window belongs to its start day.
	// +optional
	// +kubebuilder:validation:MaxItems=7
	// +listType=set
	Days []Day `json:"days,omitempty"`
	// Months, 1 to 12, in which the window starts. Empty: every month.
	// +optional
	// +kubebuilder:validation:MaxItems=12
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=12
	// +listType=set
	Months []int32 `json:"months,omitempty"`
	// Weeks selects every nth week for the start of the window.
	// +optional
	Weeks *Weeks `json:"weeks,omitempty"`
	// DayOfMonth lists days of the month, 1 to 31, or counted from its end, -1 (the last) to -31, on which the window starts.
	// +optional
	// +kubebuilder:validation:MaxItems=31
	// +listType=set
	DayOfMonth []DayOfMonth `json:"dayOfMonth,omitempty"`
	// Nth lists weekdays by their place in the month, such as {week: -1, day: Fri}, on which the window starts.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Nth []NthDay `json:"nth,omitempty"`
	// From is the local start, HH:MM. Without from and to, the window is open all day.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([01][0-9]|2[0-3]):[0-5][0-9]$')",message="write a time of the day as HH:MM, such as 08:00",messageExpression="'write a time of the day as HH:MM, such as 08:00, and not ' + self"
	From string `json:"from,omitempty"`
	// To is the local end, HH:MM, exclusive. If it is not later than from, the window ends on the next day. 24:00 is the end of the day.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$')",message="write a time of the day as HH:MM, such as 08:00, or 24:00",messageExpression="'write a time of the day as HH:MM, such as 08:00, or 24:00, and not ' + self"
	To string `json:"to,omitempty"`
	// Cron is a five-field cron expression of the starts. It goes with duration or until.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Cron string `json:"cron,omitempty"`
	// Duration of each window started by cron, for example 4h or 30d.
	// +optional
	Duration Duration `json:"duration,omitempty"`
	// Until is a five-field cron expression of the ends of a window that cron starts.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Until string `json:"until,omitempty"`
	// Start is a local date (YYYY-MM-DD) or an RFC 3339 instant.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	Start string `json:"start,omitempty"`
	// End is a local date (inclusive) or an RFC 3339 instant (exclusive).
	// +optional
	// +kubebuilder:validation:MaxLength=40
	End string `json:"end,omitempty"`
	// TimeZone of this window is an IANA name. Default: that of the policy.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// ValidFrom is a local date or an RFC 3339 instant before which the window is closed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	ValidFrom string `json:"validFrom,omitempty"`
	// ValidUntil is a local date (inclusive) or an RFC 3339 instant (exclusive) after which the window is closed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	ValidUntil string `json:"validUntil,omitempty"`
}

// +kubebuilder:validation:Enum=Open;Closed

// WindowEffect is the effect of a calendar's days on a window.
type WindowEffect string

// These are the effects of a calendar on a window.
const (
	EffectOpen   WindowEffect = "Open"
	EffectClosed WindowEffect = "Closed"
)

// WindowCalendar uses a Calendar beside windows. Where two calendars disagree at an instant, Open wins.
type WindowCalendar struct {
	// Name of the Calendar.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Effect is the state on the calendar's days. On these days it replaces the windows.
	Effect WindowEffect `json:"effect"`
}

// Use returns the name of the Calendar and its effect.
func (c WindowCalendar) Use() (name string, effect WindowEffect) { return c.Name, c.Effect }

// TargetCounts is the number of targets of a policy in each state.
type TargetCounts struct {
	// Total is the number of selected objects.
	Total int32 `json:"total"`
	// Asleep counts targets that the policy keeps asleep: suspended, at fewer replicas or lower bounds, held or
	// annotated.
	Asleep int32 `json:"asleep"`
	// FallingAsleep counts targets written asleep whose controller has not followed yet.
	// +optional
	FallingAsleep int32 `json:"fallingAsleep,omitempty"`
	// Awake counts targets that are left as their owner has them.
	Awake int32 `json:"awake"`
	// Set counts targets with values of a trigger.
	// +optional
	Set int32 `json:"set,omitempty"`
	// AlreadyAsleep counts targets that their owner has put to sleep (at zero or suspended), or that have ended. Flyball leaves them alone.
	AlreadyAsleep int32 `json:"alreadyAsleep"`
	// Pending counts targets that have not been processed since a transition or an edit of the policy, and targets
	// whose change waits for a batch, for an autoscaler to be held, or for the end of a freeze.
	Pending int32 `json:"pending"`
	// Overridden counts targets changed by hand, or controlled by a policy of higher precedence.
	Overridden int32 `json:"overridden"`
	// Failed counts targets whose last write was refused or failed.
	Failed int32 `json:"failed"`
	// Unable counts targets left running because they cannot be put to sleep in the requested way.
	// +optional
	Unable int32 `json:"unable,omitempty"`
}

// TargetFailure is one target with its problem.
type TargetFailure struct {
	// Kind and group of the object, for example Deployment.apps.
	Kind string `json:"kind"`
	// Namespace of the object. Empty for cluster-scoped kinds.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	Name string `json:"name"`
	// Message has the attempted write and its result, the writer or policy that overrides the target, or the reason for
	// waiting.
	Message string `json:"message"`
}

// BatchStatus is the last batch that a rate limit opened. It is written before the batch's first change, so that a
// restart cannot open a second batch early.
type BatchStatus struct {
	// OpenedAt is the time of the batch's first change.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	OpenedAt metav1.MicroTime `json:"openedAt"`
}

// PolicyStatus is the common status of policies.
type PolicyStatus struct {
	// ObservedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions follow the Kubernetes API conventions.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(c, c.lastTransitionTime >= timestamp('0001-01-01T00:00:00Z'))",message="lastTransitionTime must be an RFC 3339 instant"
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// State is the state in one word: Awake, Asleep, Suspended, Invalid, Blocked or Restoring, for schedules
	// also Idle, and for triggers Active, After or Idle.
	// +optional
	State string `json:"state,omitempty"`
	// PreviousTransitionTime is the time at which the current state began.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	PreviousTransitionTime *metav1.Time `json:"previousTransitionTime,omitempty"`
	// NextTransitionTime is the time of the next transition. Absent if there is none.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	NextTransitionTime *metav1.Time `json:"nextTransitionTime,omitempty"`
	// Targets counts the selected objects by state.
	// +optional
	Targets *TargetCounts `json:"targets,omitempty"`
	// Failures lists the first ten failed targets, sorted by kind, namespace and name.
	// +optional
	// +listType=atomic
	Failures []TargetFailure `json:"failures,omitempty"`
	// Overridden lists the first ten targets changed by hand or controlled by another policy, in the same order.
	// +optional
	// +listType=atomic
	Overridden []TargetFailure `json:"overridden,omitempty"`
	// Waiting lists the first ten pending targets with a known reason for waiting, in the same order.
	// +optional
	// +listType=atomic
	Waiting []TargetFailure `json:"waiting,omitempty"`
	// FallingAsleep lists the first ten targets falling asleep, in the same order, with the transition and the missing state.
	// +optional
	// +listType=atomic
	FallingAsleep []TargetFailure `json:"fallingAsleep,omitempty"`
	// UpscaleBatch is the last batch of waking changes, if a rate limit is set.
	// +optional
	UpscaleBatch *BatchStatus `json:"upscaleBatch,omitempty"`
	// DownscaleBatch is the last batch of sleeping changes, if a rate limit is set.
	// +optional
	DownscaleBatch *BatchStatus `json:"downscaleBatch,omitempty"`
}
