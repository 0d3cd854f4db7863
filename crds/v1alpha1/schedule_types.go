package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:validation:Enum=Asleep;Awake

// CalendarEffect is the state of a schedule on the days of a calendar.
type CalendarEffect string

// Effects.
const (
	EffectAsleep CalendarEffect = "Asleep"
	EffectAwake  CalendarEffect = "Awake"
)

// CalendarRef uses a Calendar in a schedule. If two calendars disagree on a day, Awake wins.
type CalendarRef struct {
	// Name of the Calendar.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Effect on the calendar's days.
	Effect CalendarEffect `json:"effect"`
}

// Use returns the name of the Calendar and its effect.
func (c CalendarRef) Use() (name string, effect CalendarEffect) { return c.Name, c.Effect }

// +kubebuilder:validation:Enum=Asleep;Awake;Nothing

// Otherwise is the state that a schedule asks for outside of its windows.
type Otherwise string

// States outside of windows.
const (
	OtherwiseAsleep Otherwise = "Asleep"
	OtherwiseAwake  Otherwise = "Awake"
	// OtherwiseNothing: other policies decide, or else the owner.
	OtherwiseNothing Otherwise = "Nothing"
)

// AgeRule is a rule by the age of each target.
type AgeRule struct {
	// AsleepAfter is the age from which on a target sleeps, for example 48h.
	AsleepAfter Duration `json:"asleepAfter"`
}

// +kubebuilder:validation:Enum=Keep;Idle

// Absent is the meaning of a target without a series in the answer to a demand.
type Absent string

// Meanings of a target without a series.
const (
	// AbsentKeep: nothing is known of its use, and it stays as it is.
	AbsentKeep Absent = "Keep"
	// AbsentIdle: nobody uses it, as long as each selector of the demand has a series.
	AbsentIdle Absent = "Idle"
)

// IdleLabels are the labels of a series that name its target.
type IdleLabels struct {
	// Namespace is the label with the namespace. The series of a namespaced Schedule need none.
	// +optional
	// +kubebuilder:default=namespace
	// +kubebuilder:validation:MaxLength=128
	Namespace string `json:"namespace,omitempty"`
	// Name is the label with the name. A series without it counts for every target of the schedule in its namespace.
	// +optional
	// +kubebuilder:default=name
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name,omitempty"`
}

// IdleRule is a rule by the use of each target, as counted in Prometheus.
type IdleRule struct {
	// Demand is a PromQL query of the present demand, with a series for each target. docs/policies/idle.md says its form.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Demand string `json:"demand"`
	// Labels are the labels of a series that name its target.
	// +optional
	// +kubebuilder:default={}
	Labels IdleLabels `json:"labels,omitempty"`
	// Above is the largest demand that is no use, such as 0 or "0.5". It is not negative.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	Above *resource.Quantity `json:"above,omitempty"`
	// AsleepAfter is the time without use after which a target sleeps, from 10s to 30d.
	AsleepAfter Duration `json:"asleepAfter"`
	// AwakeAtLeast is the time for which use keeps a target awake inside windows, at most asleepAfter. Default: 15m, or
	// asleepAfter if that is shorter.
	// +optional
	AwakeAtLeast Duration `json:"awakeAtLeast,omitempty"`
	// Interval is the time between two queries, from 1s to 10m, and at least the scrape interval. Knowledge counts for two of them, and the
	// ranges of the demand have at least four.
	// +optional
	// +kubebuilder:default="15s"
	Interval Duration `json:"interval,omitempty"`
	// Absent is the meaning of a target without a series: Keep leaves it as it is, Idle says that nobody uses it.
	// +optional
	// +kubebuilder:default=Keep
	Absent Absent `json:"absent,omitempty"`
	// InWindows lets use wake targets in the time in which the schedule otherwise has them asleep by windows, crons or age.
	// +optional
	InWindows bool `json:"inWindows,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="has(self.min) || has(self.max)",message="give min, max or both"
// +kubebuilder:validation:XValidation:rule="!has(self.min) || !has(self.max) || self.min <= self.max",message="min must not be above max"

// BoundsValue is a range for an autoscaler; an omitted end keeps the object's own, and none is raised above the object's own.
type BoundsValue struct {
	// Min is the lower end.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Min *int64 `json:"min,omitempty"`
	// Max is the upper end.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Max *int64 `json:"max,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="[has(self.replicas), has(self.percent), has(self.bounds), has(self.hold), has(self.annotations)].filter(x, x).size() == 1",message="give exactly one of replicas, percent, bounds, hold and annotations"

// AsleepAs is the form of sleep of a schedule's targets, exactly one of its fields.
type AsleepAs struct {
	// Replicas for every component, never raised above its original.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int64 `json:"replicas,omitempty"`
	// Percent of each component's original, rounded up.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percent *int32 `json:"percent,omitempty"`
	// Bounds for autoscalers.
	// +optional
	Bounds *BoundsValue `json:"bounds,omitempty"`
	// Hold stops the rollout or the owning operator; only true is allowed.
	// +optional
	// +kubebuilder:validation:Enum=true
	Hold *bool `json:"hold,omitempty"`
	// Annotations to set on the target.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	Annotations map[string]string `json:"annotations,omitempty"`
}

// RateLimit spreads changes over time: at most batchSize changes, then a pause.
type RateLimit struct {
	// BatchSize is the largest number of changes in a batch.
	// +kubebuilder:validation:Minimum=1
	BatchSize int32 `json:"batchSize"`
	// DelayBetweenBatches is the time from the opening of a batch to that of the next, for example 5m.
	DelayBetweenBatches Duration `json:"delayBetweenBatches"`
}

// +kubebuilder:validation:Enum=Respect;Enforce

// ManualChange is the answer to a manual change of a sleeping target.
type ManualChange string

// Answers to a manual change.
const (
	// ManualRespect leaves the change alone until the next transition.
	ManualRespect ManualChange = "Respect"
	// ManualEnforce sets the field again.
	ManualEnforce ManualChange = "Enforce"
)

// +kubebuilder:validation:Enum=Restore;Orphan

// DeletionPolicy is the fate of sleeping targets when the policy is deleted.
type DeletionPolicy string

// Deletion policies.
const (
	// DeletionRestore restores the originals.
	DeletionRestore DeletionPolicy = "Restore"
	// DeletionOrphan leaves the targets as they are and drops the originals.
	DeletionOrphan DeletionPolicy = "Orphan"
)

// +kubebuilder:validation:Enum=Ready;Written

// WaitFor is the state that the objects of a wave must reach before the next wave begins.
type WaitFor string

// These are the states for which the next wave can wait.
const (
	// WaitForReady: every object of the wave is changed and has settled, by the ready predicates of its adapter.
	WaitForReady WaitFor = "Ready"
	// WaitForWritten: every object of the wave is changed.
	WaitForWritten WaitFor = "Written"
)

// +kubebuilder:validation:Enum=Continue;Stop

// OnTimeout is the answer to a wave that is not ready in time.
type OnTimeout string

// Answers to a wave that is not ready in time.
const (
	// OnTimeoutContinue lets the next wave begin.
	OnTimeoutContinue OnTimeout = "Continue"
	// OnTimeoutStop counts the targets of the next waves as failed until the wave is ready.
	OnTimeoutStop OnTimeout = "Stop"
)

// +kubebuilder:validation:XValidation:rule="has(self.kinds) || has(self.names) || has(self.selector)",message="a wave needs kinds, names or selector: the targets of no wave are the last wave already"

// Wave is a part of a schedule's targets that wakes together. An object belongs to the first wave that selects it.
type Wave struct {
	// Name of the wave, for messages. Default: its place, such as wave 1.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// Kinds lists kinds of the wave's objects.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Kinds []KindRef `json:"kinds,omitempty"`
	// Names lists names of the wave's objects, or globs such as db-*.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	Names []string `json:"names,omitempty"`
	// Selector matches the labels of the wave's objects.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// WaitFor is the state that the objects of a wave must reach before the next wave begins.
	// +optional
	// +kubebuilder:default=Ready
	WaitFor WaitFor `json:"waitFor,omitempty"`
	// Timeout is the longest time for which the next wave waits.
	// +optional
	// +kubebuilder:default="10m"
	Timeout Duration `json:"timeout,omitempty"`
	// OnTimeout is the answer to a timeout: Continue begins the next wave; Stop goes on waiting, and the waiting targets count as failed.
	// +optional
	// +kubebuilder:default=Continue
	OnTimeout OnTimeout `json:"onTimeout,omitempty"`
}

// +kubebuilder:validation:Enum=Namespace;Namespaces

// Across is the reach of an order.
type Across string

// These are the reaches of an order.
const (
	// AcrossNamespace orders the targets of each namespace by themselves.
	AcrossNamespace Across = "Namespace"
	// AcrossNamespaces orders the targets of all namespaces together.
	AcrossNamespaces Across = "Namespaces"
)

// Order is an order of waves.
type Order struct {
	// Waves lists waves of targets: waking goes through them from first to last, sleeping from last to first, and each waits for
	// the one before. The targets of no wave are the last wave.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Waves []Wave `json:"waves"`
	// Across is for a ClusterSchedule. With Namespace, each namespace goes through the waves by itself. With Namespaces, a wave waits
	// for the waves before it in all namespaces. Targets outside of namespaces always wait for all, and all wait for them.
	// Default: Namespace.
	// +optional
	Across Across `json:"across,omitempty"`
}

// ScheduleRules are the common fields of Schedule and ClusterSchedule.
type ScheduleRules struct {
	// TimeZone is an IANA name, for example Europe/Skopje. Default: UTC.
	// +optional
	// +kubebuilder:default=UTC
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// Upscale is a five-field cron expression of the instants at which targets wake. It goes with downscale.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Upscale string `json:"upscale,omitempty"`
	// Downscale is a five-field cron expression of the instants at which targets go to sleep. Without upscale, targets
	// sleep until a person or another policy wakes them, and go to sleep again at the next instant.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Downscale string `json:"downscale,omitempty"`
	// Asleep lists the windows in which targets sleep.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Asleep []Window `json:"asleep,omitempty"`
	// Awake lists the windows in which targets are awake; outside them they sleep.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Awake []Window `json:"awake,omitempty"`
	// Otherwise is the state outside of the windows: Asleep, Awake or Nothing. Default: Awake with asleep, Asleep with
	// awake. With Nothing, this schedule's changes are restored, unless another policy asks for the same.
	// +optional
	Otherwise Otherwise `json:"otherwise,omitempty"`
	// Age puts targets to sleep by their own age, whatever windows and calendars say.
	// +optional
	Age *AgeRule `json:"age,omitempty"`
	// Idle puts a target to sleep while nobody uses it, and wakes it at the first demand.
	// +optional
	Idle *IdleRule `json:"idle,omitempty"`
	// GracePeriod is how long an object that has just appeared is left alone, for example 15m.
	// +optional
	GracePeriod Duration `json:"gracePeriod,omitempty"`
	// Calendars overrule the rest on their days.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Calendars []CalendarRef `json:"calendars,omitempty"`
	// AsleepAs is the form of sleep. Default: suspended if the kind supports it, else every component at its minimum.
	// +optional
	AsleepAs *AsleepAs `json:"asleepAs,omitempty"`
	// Order is the order in which targets wake and, in reverse, fall asleep. Default: all at once.
	// +optional
	Order *Order `json:"order,omitempty"`
	// Priority decides between policies on one target: the higher wins; at equal priority more capacity wins.
	// +optional
	// +kubebuilder:default=0
	Priority int32 `json:"priority,omitempty"`
	// UpscaleRateLimit spreads waking over time.
	// +optional
	UpscaleRateLimit *RateLimit `json:"upscaleRateLimit,omitempty"`
	// DownscaleRateLimit spreads going to sleep over time.
	// +optional
	DownscaleRateLimit *RateLimit `json:"downscaleRateLimit,omitempty"`
	// HoldOwner holds, while a target sleeps, the Application, Kustomization or HelmRelease whose own record lists the target, so that
	// nothing puts the target back. A Schedule holds owners of its own namespace, a ClusterSchedule all.
	// +optional
	HoldOwner bool `json:"holdOwner,omitempty"`
	// OnManualChange is the answer to a manual change of a sleeping target.
	// +optional
	// +kubebuilder:default=Respect
	OnManualChange ManualChange `json:"onManualChange,omitempty"`
	// Overrides limits the Overrides to which the schedule yields. Default: all.
	// +optional
	Overrides *OverrideBounds `json:"overrides,omitempty"`
	// Suspend stops the policy in its present state: sleeping targets stay asleep, awake targets stay awake.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// DeletionPolicy is the fate of sleeping targets when the policy is deleted.
	// +optional
	// +kubebuilder:default=Restore
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="(has(self.upscale) || has(self.downscale) ? 1 : 0) + (has(self.asleep) ? 1 : 0) + (has(self.awake) ? 1 : 0) == 1 || (has(self.age) || has(self.idle)) && !has(self.upscale) && !has(self.downscale) && !has(self.asleep) && !has(self.awake)",message="give exactly one of: downscale with or without upscale, asleep, awake; only age and idle may stand without them"
// +kubebuilder:validation:XValidation:rule="!has(self.order) || !has(self.order.across)",message="order.across is for a ClusterSchedule"
// +kubebuilder:validation:XValidation:rule="!has(self.age) || has(self.upscale) || !has(self.downscale)",message="age does not go with downscale alone, where nothing but people wakes: write upscale too, or windows"
// +kubebuilder:validation:XValidation:rule="!has(self.idle) || has(self.upscale) || !has(self.downscale)",message="idle needs upscale too"
// +kubebuilder:validation:XValidation:rule="!has(self.idle) || !has(self.otherwise)",message="otherwise does not go with idle"
// +kubebuilder:validation:XValidation:rule="!has(self.calendars) || has(self.upscale) || has(self.downscale) || has(self.asleep) || has(self.awake)",message="calendars need windows or upscale and downscale to overrule: age alone has neither"
// +kubebuilder:validation:XValidation:rule="!has(self.upscale) || has(self.downscale)",message="upscale needs downscale: write when the targets go to sleep"
// +kubebuilder:validation:XValidation:rule="!has(self.calendars) || has(self.upscale) || !has(self.downscale)",message="calendars do not go with downscale alone, which has no state for them to overrule: write upscale too, or windows"
// +kubebuilder:validation:XValidation:rule="!has(self.otherwise) || has(self.asleep) || has(self.awake)",message="otherwise is for the time outside of windows: write asleep or awake, or leave it out"
// +kubebuilder:validation:XValidation:rule="!has(self.otherwise) || self.otherwise != (has(self.asleep) ? 'Asleep' : 'Awake')",message="otherwise is what the windows are already: write Nothing, or leave it out"

// ScheduleSpec puts the selected objects of its own namespace to sleep and wakes them.
type ScheduleSpec struct {
	// Target selects the objects. Empty: everything in the namespace that can sleep.
	// +optional
	// +kubebuilder:default={}
	Target        TargetSelector `json:"target,omitempty"`
	ScheduleRules `json:",inline"`
}

// +kubebuilder:validation:XValidation:rule="(has(self.upscale) || has(self.downscale) ? 1 : 0) + (has(self.asleep) ? 1 : 0) + (has(self.awake) ? 1 : 0) == 1 || (has(self.age) || has(self.idle)) && !has(self.upscale) && !has(self.downscale) && !has(self.asleep) && !has(self.awake)",message="give exactly one of: downscale with or without upscale, asleep, awake; only age and idle may stand without them"
// +kubebuilder:validation:XValidation:rule="!has(self.age) || has(self.upscale) || !has(self.downscale)",message="age does not go with downscale alone, where nothing but people wakes: write upscale too, or windows"
// +kubebuilder:validation:XValidation:rule="!has(self.idle) || has(self.upscale) || !has(self.downscale)",message="idle needs upscale too"
// +kubebuilder:validation:XValidation:rule="!has(self.idle) || !has(self.otherwise)",message="otherwise does not go with idle"
// +kubebuilder:validation:XValidation:rule="!has(self.calendars) || has(self.upscale) || has(self.downscale) || has(self.asleep) || has(self.awake)",message="calendars need windows or upscale and downscale to overrule: age alone has neither"
// +kubebuilder:validation:XValidation:rule="!has(self.upscale) || has(self.downscale)",message="upscale needs downscale: write when the targets go to sleep"
// +kubebuilder:validation:XValidation:rule="!has(self.calendars) || has(self.upscale) || !has(self.downscale)",message="calendars do not go with downscale alone, which has no state for them to overrule: write upscale too, or windows"
// +kubebuilder:validation:XValidation:rule="!has(self.otherwise) || has(self.asleep) || has(self.awake)",message="otherwise is for the time outside of windows: write asleep or awake, or leave it out"
// +kubebuilder:validation:XValidation:rule="!has(self.otherwise) || self.otherwise != (has(self.asleep) ? 'Asleep' : 'Awake')",message="otherwise is what the windows are already: write Nothing, or leave it out"

// ClusterScheduleSpec puts the selected objects of many namespaces to sleep and wakes them.
type ClusterScheduleSpec struct {
	// Target selects the objects; it names namespaces, a namespace selector, or only cluster-scoped kinds.
	Target        ClusterTargetSelector `json:"target"`
	ScheduleRules `json:",inline"`
}

// OpenWave is an open wave of an order.
type OpenWave struct {
	// Namespace is the namespace in which the wave is open. With order.across: Namespaces it is the namespace of the object for which
	// the targets of all namespaces wait. Empty: an object outside of namespaces.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Place is the place of the wave in spec.order.waves, from 1. Targets that no wave selects come after the last wave.
	Place int32 `json:"place"`
	// Since is the time at which the wave began. The timeout of the wave counts from it, also after a restart.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	Since metav1.MicroTime `json:"since"`
}

// OrderStatus is the open wave of an order. It is present as long as targets of a later wave still have to change. Of several
// namespaces with open waves, it is the first that began among those for which targets wait.
type OrderStatus struct {
	// Direction is Wake or Sleep.
	// +kubebuilder:validation:Enum=Wake;Sleep
	Direction string `json:"direction"`
	// Wave is the name of the wave that is open: its targets are changed, and the others wait for it.
	Wave     string `json:"wave"`
	OpenWave `json:",inline"`
	// Others are the open waves of other namespaces, those with waiting targets first.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	Others []OpenWave `json:"others,omitempty"`
	// WaitsFor names one object of the wave and what it lacks, while targets wait.
	// +optional
	WaitsFor string `json:"waitsFor,omitempty"`
	// Waiting is the number of targets that wait, in all namespaces. It is 0 while the last targets are changed.
	Waiting int32 `json:"waiting"`
	// Stopped is true after the timeout of a wave with onTimeout: Stop. The waiting targets count as failed.
	// +optional
	Stopped bool `json:"stopped,omitempty"`
}

// ScheduleStatus is the status of a schedule.
type ScheduleStatus struct {
	PolicyStatus `json:",inline"`
	// Order is the wave that is open, while targets of a later wave still have to change.
	// +optional
	Order *OrderStatus `json:"order,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=fsch,categories=flyball
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Targets",type=integer,JSONPath=`.status.targets.total`
// +kubebuilder:printcolumn:name="Asleep",type=integer,JSONPath=`.status.targets.asleep`
// +kubebuilder:printcolumn:name="Awake",type=integer,JSONPath=`.status.targets.awake`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.targets.failed`
// +kubebuilder:printcolumn:name="Next",type=string,format=date-time,JSONPath=`.status.nextTransitionTime`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// Schedule puts objects of its own namespace to sleep and wakes them exactly as they were.
type Schedule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ScheduleSpec `json:"spec"`
	// +optional
	Status ScheduleStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ScheduleList is a list of Schedules.
type ScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Schedule `json:"items"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fcsch,categories=flyball
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Targets",type=integer,JSONPath=`.status.targets.total`
// +kubebuilder:printcolumn:name="Asleep",type=integer,JSONPath=`.status.targets.asleep`
// +kubebuilder:printcolumn:name="Awake",type=integer,JSONPath=`.status.targets.awake`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.targets.failed`
// +kubebuilder:printcolumn:name="Next",type=string,format=date-time,JSONPath=`.status.nextTransitionTime`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// ClusterSchedule is a Schedule over many namespaces.
type ClusterSchedule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterScheduleSpec `json:"spec"`
	// +optional
	Status ScheduleStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterScheduleList is a list of ClusterSchedules.
type ClusterScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterSchedule `json:"items"`
}
