package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Capability is something an adapter can do.
type Capability string

// Capabilities.
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

// AdapterStatus is what Flyball found out about the kind.
type AdapterStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions by the Kubernetes API conventions.
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
	// Capabilities lists what the adapter can do: scale, suspend, hold, bounds, resources, utilisation, annotate, deletionCost.
	// +optional
	// +listType=set
	Capabilities []Capability `json:"capabilities,omitempty"`
	// MissingRules are the RBAC rules that Flyball lacks, as one line of YAML to paste after rules: of a ClusterRole.
	// +optional
	MissingRules string `json:"missingRules,omitempty"`
	// UnknownPaths lists paths that lie in a part of the schema that preserves unknown fields, so that they cannot be checked.
	// +optional
	// +listType=atomic
	UnknownPaths []string `json:"unknownPaths,omitempty"`
}

// GroupKind is the kind as API machinery has it.
func (t AdapterTarget) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: t.Group, Kind: t.Kind}
}
