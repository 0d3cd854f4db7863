package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// +kubebuilder:validation:Enum=Quantity;Integer

// AmountEncoding is how a request or a limit is written.
type AmountEncoding string

// These are the encodings of requests and limits.
const (
	// AmountQuantity is a Kubernetes quantity in a JSON string: 250m, 1Gi.
	AmountQuantity AmountEncoding = "Quantity"
	// AmountInteger is a JSON number of whole cores or bytes. Fractions of a core are rounded up.
	AmountInteger AmountEncoding = "Integer"
)

// Amount is the path of one request or limit.
type Amount struct {
	// Path of the amount. Together with each it may have filters.
	Path Path `json:"path"`
	// Default is the meaning of an absent amount, for example 0 for none. Without a default an absent amount stays
	// absent.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	Default *resource.Quantity `json:"default,omitempty"`
	// Encoding of the amount.
	// +optional
	// +kubebuilder:default=Quantity
	Encoding AmountEncoding `json:"encoding,omitempty"`
}

// Amounts are the requests, or the limits, of one component.
type Amounts struct {
	// CPU in cores.
	// +optional
	CPU *Amount `json:"cpu,omitempty"`
	// Memory in bytes.
	// +optional
	Memory *Amount `json:"memory,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="has(self.each) == has(self.nameFrom)",message="each and nameFrom go together"
// +kubebuilder:validation:XValidation:rule="has(self.each) != has(self.name)",message="give name or each"
// +kubebuilder:validation:XValidation:rule="!(has(self.each) && has(self.when))",message="when cannot be used with each"
// +kubebuilder:validation:XValidation:rule="has(self.requests.cpu) || has(self.requests.memory)",message="give requests of cpu, memory or both"

// ResourceComponent is one part of an object that requests CPU and memory, such as a container, or one per list element
// if each is set.
type ResourceComponent struct {
	// Name of the component, unique in the adapter.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// Each is the path of list elements. The other paths are then relative to an element.
	// +optional
	Each Path `json:"each,omitempty"`
	// NameFrom is the path, in an element, of its name.
	// +optional
	NameFrom Path `json:"nameFrom,omitempty"`
	// When lists predicates that must all hold for the object to have the component. They are evaluated on the object
	// as its owner has it. Empty means always.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	When []Predicate `json:"when,omitempty"`
	// Requests are the paths of the requests.
	Requests Amounts `json:"requests"`
	// Limits are the paths of the limits. Flyball keeps the owner's ratio of limits to requests.
	// +optional
	Limits *Amounts `json:"limits,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="has(self.each) == has(self.resourceFrom)",message="each and resourceFrom go together"
// +kubebuilder:validation:XValidation:rule="has(self.each) || !has(self.containerFrom)",message="containerFrom goes together with each"
// +kubebuilder:validation:XValidation:rule="has(self.each) != has(self.resource)",message="give resource or each"

// Utilisation is one target utilisation of an autoscaler, or one per list element if each is set.
type Utilisation struct {
	// Resource is the measured resource, if each is not set.
	// +optional
	// +kubebuilder:validation:Enum=cpu;memory
	Resource string `json:"resource,omitempty"`
	// Each is the path of list elements. The other paths are then relative to an element.
	// +optional
	Each Path `json:"each,omitempty"`
	// ResourceFrom is the path, in an element, of the resource: cpu or memory.
	// +optional
	ResourceFrom Path `json:"resourceFrom,omitempty"`
	// ContainerFrom is the path, in an element, of the container whose usage is measured. If absent, the usage of whole
	// pods is measured.
	// +optional
	ContainerFrom Path `json:"containerFrom,omitempty"`
	// Percent is the path of the target utilisation, in percent of the request. An object without it has no target, and
	// Flyball sets none.
	Percent Path `json:"percent"`
	// Encoding of the target.
	// +optional
	// +kubebuilder:default=Integer
	Encoding Encoding `json:"encoding,omitempty"`
}
