package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Capability is one ability that an adapter gives a kind.
type Capability string

// These are all capabilities.
const (
	CapabilityScale        Capability = "scale"
	CapabilitySuspend      Capability = "suspend"
	CapabilityHold         Capability = "hold"
	CapabilityBounds       Capability = "bounds"
	CapabilityResources    Capability = "resources"
	CapabilityUtilisation  Capability = "utilisation"
	CapabilityAnnotate     Capability = "annotate"
	CapabilityDeletionCost Capability = "deletionCost"
)

// AdapterStatus is the state of the adapter and its kind, as Flyball observed it.
type AdapterStatus struct {
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
	// Version is the API version in use.
	// +optional
	Version string `json:"version,omitempty"`
	// Resource is the plural name, as in RBAC rules.
	// +optional
	Resource string `json:"resource,omitempty"`
	// Capabilities lists the capabilities of the adapter: scale, suspend, hold, bounds, resources, utilisation,
	// annotate, deletionCost.
	// +optional
	// +listType=set
	Capabilities []Capability `json:"capabilities,omitempty"`
	// MissingRules are the RBAC rules that Flyball lacks, as one line of YAML for the rules of a ClusterRole.
	// +optional
	MissingRules string `json:"missingRules,omitempty"`
	// UnknownPaths lists paths in a part of the schema that preserves unknown fields, so that they cannot be checked.
	// +optional
	// +listType=atomic
	UnknownPaths []string `json:"unknownPaths,omitempty"`
	// LeftOut lists the unused optional items of the spec, such as spec.suspend[0]. The live schema lacks one of their fields.
	// +optional
	// +listType=set
	LeftOut []string `json:"leftOut,omitempty"`
}

// GroupKind returns the kind as a schema.GroupKind.
func (t AdapterTarget) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: t.Group, Kind: t.Kind}
}
