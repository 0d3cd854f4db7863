package v1alpha1

// VerticalApply says how requests change.
// +kubebuilder:validation:Enum=InPlace;InPlaceOrRollOut;RollOut;OnCreate
type VerticalApply string

// How requests change.
const (
	// ApplyInPlace changes the pods that run, by their resize subresource. The template stays as its owner has it.
	ApplyInPlace VerticalApply = "InPlace"
	// ApplyInPlaceOrRollOut does so, and changes the template where that is not possible for a pod.
	ApplyInPlaceOrRollOut VerticalApply = "InPlaceOrRollOut"
	// ApplyRollOut changes the template, so that every change is a roll-out.
	ApplyRollOut VerticalApply = "RollOut"
	// ApplyOnCreate changes pods as they are created, and nothing that runs.
	ApplyOnCreate VerticalApply = "OnCreate"
)

// VerticalLimits says what becomes of the limits of what is tuned.
// +kubebuilder:validation:Enum=Ratio;Keep;None
type VerticalLimits string

// What becomes of limits.
const (
	// LimitsRatio keeps the owner's ratio of the limit to the request.
	LimitsRatio VerticalLimits = "Ratio"
	// LimitsKeep leaves the owner's limit as it is.
	LimitsKeep VerticalLimits = "Keep"
	// LimitsNone removes the limit.
	LimitsNone VerticalLimits = "None"
)

// TunedVertical says how requests change.
// +kubebuilder:validation:XValidation:rule="!has(self.limits) || self.limits != 'None' || !has(self.apply) || self.apply in ['RollOut', 'OnCreate']",message="vertical.limits None needs vertical.apply RollOut or OnCreate: the limit of a pod that runs cannot be removed"
type TunedVertical struct {
	// Apply: RollOut changes the template: each change is a roll-out. InPlace changes the pods that run and leaves the template alone.
	// InPlaceOrRollOut does so, and changes the template where a pod cannot be changed in place. OnCreate changes pods as they are created and
	// nothing that runs; with the two before, pods are created so as well. Kinds whose requests are not in a pod template, such as a
	// database cluster, have them changed in the object, whatever this says.
	// +optional
	// +kubebuilder:default=RollOut
	Apply VerticalApply `json:"apply,omitempty"`
	// Limits: Ratio has the limit of each request that is tuned follow it, by the ratio that its owner has given. Keep leaves the limit as its
	// owner has it, and the request never goes above it. None removes the limit: pods have none of what is tuned. None needs apply RollOut
	// or OnCreate.
	// +optional
	// +kubebuilder:default=Ratio
	Limits VerticalLimits `json:"limits,omitempty"`
	// Cooldown is the least time between two changes of requests, up or down. What is short of memory rises at once, and so does a container
	// that is short of CPU beside the one that is scaled; a quarter of the cooldown later they may do so again. Default: 1h.
	// +optional
	// +kubebuilder:default="1h"
	Cooldown Duration `json:"cooldown,omitempty"`
	// MaxStepDown is the most that one change takes away from a request.
	// +optional
	// +kubebuilder:default="20%"
	MaxStepDown Percentage `json:"maxStepDown,omitempty"`
	// MaxStepUp is the most that one change adds to a request.
	// +optional
	// +kubebuilder:default="100%"
	MaxStepUp Percentage `json:"maxStepUp,omitempty"`
	// StartupBoost gives pods more CPU while they start. Absent: they start with what is recommended.
	// +optional
	StartupBoost *StartupBoost `json:"startupBoost,omitempty"`
}

// StartupBoost gives pods more CPU as they are created, and takes it back in place once they have started: no pod is restarted for it. It is for the
// containers whose CPU is tuned, whatever apply says.
type StartupBoost struct {
	// CPU: a factor of the request such as 2x or 1.5x, or an amount such as 500m or 2. Where the request is more already, or a limit that stays
	// leaves no room, nothing changes.
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
