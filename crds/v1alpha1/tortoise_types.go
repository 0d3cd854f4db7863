package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:validation:Enum=Off;Auto;Emergency

// TortoiseMode is the effect of recommendations.
type TortoiseMode string

// Modes of a Tortoise.
const (
	// TortoiseOff recommends and changes nothing.
	TortoiseOff TortoiseMode = "Off"
	// TortoiseAuto carries recommendations out.
	TortoiseAuto TortoiseMode = "Auto"
	// TortoiseEmergency is Auto without any loss of capacity, until the mode is changed back.
	TortoiseEmergency TortoiseMode = "Emergency"
)

// +kubebuilder:validation:Enum=Horizontal;Vertical;Off

// ScalingPolicy is the way in which a container gets more of a resource.
type ScalingPolicy string

// Scaling policies.
const (
	// ScaleHorizontal: by more replicas. The request is chosen together with them.
	ScaleHorizontal ScalingPolicy = "Horizontal"
	// ScaleVertical: by a larger request.
	ScaleVertical ScalingPolicy = "Vertical"
	// ScaleOff: the request stays the owner's.
	ScaleOff ScalingPolicy = "Off"
)

// +kubebuilder:validation:Enum=Vertical;Off

// MemoryPolicy is the way in which a container gets more memory: Vertical, by a larger request, or Off.
type MemoryPolicy string

// +kubebuilder:validation:Enum=Lean;Balanced;Safe;Tortoise

// TortoiseProfile is the price of risk.
type TortoiseProfile string

// Profiles of a Tortoise.
const (
	ProfileLean     TortoiseProfile = "Lean"
	ProfileBalanced TortoiseProfile = "Balanced"
	ProfileSafe     TortoiseProfile = "Safe"
	// ProfileTortoise has only the formulas of mercari/tortoise.
	ProfileTortoise TortoiseProfile = "Tortoise"
)

// +kubebuilder:validation:MaxLength=5
// +kubebuilder:validation:XValidation:rule="self.matches('^(0|[1-9][0-9]{0,3})%$')",message="write a percentage, such as 20%",messageExpression="'write a percentage, such as 20%, and not ' + self"

// Percentage is a whole number of percent as text, for example 20%.
type Percentage string

// The markers of a quantity stand at each field: controller-gen leaves out those of a type that is an alias of resource.Quantity,
// and another type would be no quantity in code. A test of package kinds fails for a field without them.

// Quantities are an amount of CPU, of memory, or of both.
type Quantities struct {
	// CPU in cores.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// Memory in bytes.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// TunedResources are the rules for the requests of a container.
type TunedResources struct {
	// Container by its name. "*" is every container without an entry of its own.
	// +optional
	// +kubebuilder:default="*"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container,omitempty"`
	// CPU: Horizontal, Vertical or Off. One container of a target is scaled by Horizontal: the container that an
	// attached autoscaler looks at, else the container with the largest request. CPU of all others is Vertical.
	// Default: Horizontal for the first, Vertical for all others.
	// +optional
	CPU ScalingPolicy `json:"cpu,omitempty"`
	// Memory: Vertical or Off. Default: Vertical.
	// +optional
	Memory MemoryPolicy `json:"memory,omitempty"`
	// Min is the smallest request. A request below an explicit minimum rises to it. Default: 10m and 50Mi; for the
	// container that is scaled by Horizontal, 50m.
	// +optional
	Min *Quantities `json:"min,omitempty"`
	// Max is the largest request. Default: none, but CPU that is scaled by Horizontal is chosen to fit the largest
	// node. With the profile Tortoise: 10 cores and 10Gi.
	// +optional
	Max *Quantities `json:"max,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="!has(self.min) || !has(self.max) || self.min <= self.max",message="replicas.min must not be above replicas.max"
// +kubebuilder:validation:XValidation:rule="!has(self.preferredMax) || !has(self.max) || self.preferredMax <= self.max",message="replicas.preferredMax must not be above replicas.max"

// TunedReplicas bounds the bounds of autoscalers.
type TunedReplicas struct {
	// Min is the lowest minimum of an autoscaler. Default: 3, or the owner's minimum if lower.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	Min *int32 `json:"min,omitempty"`
	// Max is the maximum of an autoscaler. Default: the owner's maximum, and more as requests shrink.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	Max *int32 `json:"max,omitempty"`
	// PreferredMax is the number of replicas above which larger requests are preferred. Default: 30, and at most max.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	PreferredMax *int32 `json:"preferredMax,omitempty"`
}

// TunedRuntime selects settings of runtimes that follow the resources of a container. Pods get them on creation, and
// keep them. Variables set by the owner stay, and so do containers with variables from elsewhere (envFrom).
type TunedRuntime struct {
	// GoMaxProcs sets GOMAXPROCS to the CPU limit of the container, or to its request without a limit, rounded up to
	// whole cores.
	// +optional
	GoMaxProcs bool `json:"goMaxProcs,omitempty"`
	// GoMemLimit sets GOMEMLIMIT to 90 % of the memory limit of the container, or of its request without a limit.
	// +optional
	GoMemLimit bool `json:"goMemLimit,omitempty"`
}

// TunedGuard limits simultaneous restarts.
type TunedGuard struct {
	// MaxDisruption is the largest share of the targets that restart pods at once for changes of requests, and at least
	// one target: by roll-outs, and by changes in place if resizePolicy is RestartContainer. A target counts until it
	// has settled, or for 10 minutes. The others wait: targets short of memory go first, then the longest wait. The
	// restore after deletion of the policy does not wait.
	// +optional
	// +kubebuilder:default="10%"
	// +kubebuilder:validation:XValidation:rule="self.matches('^([1-9]|[1-9][0-9]|100)%$')",message="must be from 1% to 100%"
	MaxDisruption Percentage `json:"maxDisruption,omitempty"`
}

// TortoiseRules are the common fields of Tortoise and ClusterTortoise.
type TortoiseRules struct {
	// Mode: Off recommends only, Auto carries out, Emergency carries out and lowers nothing.
	// +optional
	// +kubebuilder:default=Off
	Mode TortoiseMode `json:"mode,omitempty"`
	// Resources are the tuned resources by container. Default: CPU and memory of all.
	// +optional
	// +kubebuilder:default={{container: "*"}}
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=container
	Resources []TunedResources `json:"resources,omitempty"`
	// Replicas bounds the bounds of the target's autoscaler. A target without an autoscaler keeps its replicas.
	// +optional
	// +kubebuilder:default={}
	Replicas TunedReplicas `json:"replicas,omitempty"`
	// History is the source of usage.
	// +optional
	// +kubebuilder:default={}
	History TunedHistory `json:"history,omitempty"`
	// Vertical are the rules for changes of requests.
	// +optional
	// +kubebuilder:default={}
	Vertical TunedVertical `json:"vertical,omitempty"`
	// Runtime selects settings of runtimes that follow requests and limits. Default: none.
	// +optional
	// +kubebuilder:default={}
	Runtime TunedRuntime `json:"runtime,omitzero"`
	// Guard limits simultaneous restarts.
	// +optional
	// +kubebuilder:default={}
	Guard TunedGuard `json:"guard,omitempty"`
	// Profile: Lean saves most, Safe risks least. Tortoise has only the formulas of mercari/tortoise.
	// +optional
	// +kubebuilder:default=Balanced
	Profile TortoiseProfile `json:"profile,omitempty"`
	// Priority decides between policies with the same claim: the higher wins, and at equal priority more capacity. The
	// default is below that of schedules and triggers.
	// +optional
	// +kubebuilder:default=-100
	Priority int32 `json:"priority,omitempty"`
}

// +kubebuilder:validation:Enum=Keep;Delete

// AutoscalerRemoval is the fate of a created autoscaler.
type AutoscalerRemoval string

// Fates of a created autoscaler.
const (
	// KeepAutoscaler leaves it with its first bounds and target.
	KeepAutoscaler AutoscalerRemoval = "Keep"
	// DeleteAutoscaler deletes it.
	DeleteAutoscaler AutoscalerRemoval = "Delete"
)

// +kubebuilder:validation:XValidation:rule="self.create",message="leave autoscaler out to use the one that governs the target"

// MadeAutoscaler is a HorizontalPodAutoscaler that is created for the only target.
type MadeAutoscaler struct {
	// Create makes the autoscaler if the target has none, in the modes Auto and Emergency. It begins with replicas.min
	// (default: 3, or replicas.max if lower), replicas.max and 70 percent of the CPU request, and is then tuned like
	// any other.
	Create bool `json:"create"`
	// Name of the autoscaler. Default: that of the target.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// OnDelete is its fate when the policy is deleted, or no longer asks for it.
	// +optional
	// +kubebuilder:default=Keep
	OnDelete AutoscalerRemoval `json:"onDelete,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="!has(self.autoscaler) || (has(self.target.kinds) && size(self.target.kinds) == 1 && has(self.target.names) && size(self.target.names) == 1)",message="autoscaler needs a target of one kind and one name"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaler) || (has(self.replicas) && has(self.replicas.max))",message="autoscaler needs replicas.max"

// TortoiseSpec tunes selected objects of its own namespace.
type TortoiseSpec struct {
	// Target selects the objects with tuned pods. Autoscalers are not targets: the autoscaler of a target is found
	// automatically.
	// +optional
	// +kubebuilder:default={}
	Target        TargetSelector `json:"target,omitempty"`
	TortoiseRules `json:",inline"`
	// Autoscaler is created for the target. Absent: an existing autoscaler is tuned, if any.
	// +optional
	Autoscaler *MadeAutoscaler `json:"autoscaler,omitempty"`
}

// ClusterTortoiseSpec tunes selected objects of many namespaces.
type ClusterTortoiseSpec struct {
	// Target selects the objects with tuned pods; it names namespaces or a namespace selector.
	Target        ClusterTargetSelector `json:"target"`
	TortoiseRules `json:",inline"`
}

// PhaseCount is the number of targets in a phase.
type PhaseCount struct {
	// Phase of the targets.
	Phase string `json:"phase"`
	// Targets in the phase.
	Targets int32 `json:"targets"`
}

// TortoiseStatus is the status of a Tortoise.
type TortoiseStatus struct {
	PolicyStatus `json:",inline"`
	// Phase of all targets, or the phases with the number of targets in each.
	// +optional
	Phase string `json:"phase,omitempty"`
	// Phases counts the targets by phase.
	// +optional
	// +listType=map
	// +listMapKey=phase
	Phases []PhaseCount `json:"phases,omitempty"`
	// Saved is the difference between the owners' requests and the pods' present requests, for tuned requests; with
	// mode Off, the difference to the recommended requests. Larger requests count against it.
	// +optional
	Saved *Quantities `json:"saved,omitempty"`
	// Pods counts the pods whose requests are changed in place.
	// +optional
	Pods *ResizedPods `json:"pods,omitempty"`
	// NextChangeTime is the known time of the next change of a request.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	NextChangeTime *metav1.Time `json:"nextChangeTime,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ftt,categories=flyball
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Targets",type=integer,JSONPath=`.status.targets.total`
// +kubebuilder:printcolumn:name="Saved CPU",type=string,JSONPath=`.status.saved.cpu`
// +kubebuilder:printcolumn:name="Saved memory",type=string,JSONPath=`.status.saved.memory`
// +kubebuilder:printcolumn:name="Next",type=string,format=date-time,JSONPath=`.status.nextChangeTime`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// Tortoise tunes requests, bounds and target utilisation of objects of its own namespace, together, from what they used.
type Tortoise struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TortoiseSpec `json:"spec"`
	// +optional
	Status TortoiseStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// TortoiseList is a list of Tortoises.
type TortoiseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Tortoise `json:"items"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fctt,categories=flyball
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Targets",type=integer,JSONPath=`.status.targets.total`
// +kubebuilder:printcolumn:name="Saved CPU",type=string,JSONPath=`.status.saved.cpu`
// +kubebuilder:printcolumn:name="Saved memory",type=string,JSONPath=`.status.saved.memory`
// +kubebuilder:printcolumn:name="Next",type=string,format=date-time,JSONPath=`.status.nextChangeTime`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// ClusterTortoise is a Tortoise over many namespaces.
type ClusterTortoise struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterTortoiseSpec `json:"spec"`
	// +optional
	Status TortoiseStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterTortoiseList is a list of ClusterTortoises.
type ClusterTortoiseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterTortoise `json:"items"`
}
