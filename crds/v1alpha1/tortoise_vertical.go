package v1alpha1

// +kubebuilder:validation:Enum=InPlace;InPlaceOrRollOut;RollOut;OnCreate

// VerticalApply is the place of changes of requests.
type VerticalApply string

// Places of changes of requests.
const (
	// ApplyInPlace changes running pods, by their resize subresource. The template stays the owner's.
	ApplyInPlace VerticalApply = "InPlace"
	// ApplyInPlaceOrRollOut changes running pods, and the template if a pod cannot be changed in place.
	ApplyInPlaceOrRollOut VerticalApply = "InPlaceOrRollOut"
	// ApplyRollOut changes the template, so that every change is a roll-out.
	ApplyRollOut VerticalApply = "RollOut"
	// ApplyOnCreate changes pods on creation, and no running pods.
	ApplyOnCreate VerticalApply = "OnCreate"
)

// +kubebuilder:validation:Enum=Ratio;Keep;None

// VerticalLimits is the rule for the limits of tuned requests.
type VerticalLimits string

// Rules for limits.
const (
	// LimitsRatio keeps the owner's ratio of the limit to the request.
	LimitsRatio VerticalLimits = "Ratio"
	// LimitsKeep leaves the owner's limit as it is.
	LimitsKeep VerticalLimits = "Keep"
	// LimitsNone removes the limit.
	LimitsNone VerticalLimits = "None"
)

// +kubebuilder:validation:XValidation:rule="!has(self.limits) || self.limits != 'None' || !has(self.apply) || self.apply in ['RollOut', 'OnCreate']",message="vertical.limits None needs vertical.apply RollOut or OnCreate: the limit of a pod that runs cannot be removed"

// TunedVertical are the rules for changes of requests.
type TunedVertical struct {
	// Apply: RollOut changes the template: each change is a roll-out. InPlace changes running pods and leaves the
	// template alone. InPlaceOrRollOut also changes the template if a pod cannot be changed in place. OnCreate changes
	// pods on creation and no running pods; with InPlace and InPlaceOrRollOut, pods are changed on creation as well.
	// Kinds with requests outside of a pod template, such as a database cluster, always have them changed in the
	// object.
	// +optional
	// +kubebuilder:default=RollOut
	Apply VerticalApply `json:"apply,omitempty"`
	// Limits: Ratio keeps the owner's ratio of the limit to the tuned request. Keep keeps the owner's limit, and the
	// request never goes above it. None removes the limit of tuned requests, and needs apply RollOut or OnCreate.
	// +optional
	// +kubebuilder:default=Ratio
	Limits VerticalLimits `json:"limits,omitempty"`
	// Cooldown is the least time between two changes of requests, up or down. A container short of memory, or short of
	// CPU that is not scaled by replicas, rises at once, and again after a quarter of the cooldown. Default: 1h.
	// +optional
	// +kubebuilder:default="1h"
	Cooldown Duration `json:"cooldown,omitempty"`
	// MaxStepDown is the largest decrease of a request in one change.
	// +optional
	// +kubebuilder:default="20%"
	MaxStepDown Percentage `json:"maxStepDown,omitempty"`
	// MaxStepUp is the largest increase of a request in one change.
	// +optional
	// +kubebuilder:default="100%"
	MaxStepUp Percentage `json:"maxStepUp,omitempty"`
	// StartupBoost gives pods more CPU while they start. Absent: pods start with the recommended requests.
	// +optional
	StartupBoost *StartupBoost `json:"startupBoost,omitempty"`
}

// StartupBoost gives pods more CPU on creation, and takes it back in place after the start, without a restart. It
// covers the containers with tuned CPU, whatever apply says.
type StartupBoost struct {
	// CPU: a factor of the request such as 2x or 1.5x, or an amount such as 500m or 2. Nothing changes if the request
	// is larger already, or if a limit that stays leaves no room.
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="self.matches('^(([2-9]|[1-9][0-9])([.][0-9])?x|1[.][1-9]x|[1-9][0-9]*m?)$')",message="startupBoost.cpu must be a factor above 1 such as 2x or 1.5x, or an amount of CPU such as 500m or 2"
	CPU string `json:"cpu"`
	// Until: Ready, or how long after the pod was created, such as 60s or 5m.
	// +optional
	// +kubebuilder:default=Ready
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="self.matches('^(Ready|[1-9][0-9]{0,3}s|[1-9][0-9]?m)$')",message="startupBoost.until must be Ready, or a time such as 60s or 5m"
	Until string `json:"until,omitempty"`
}
