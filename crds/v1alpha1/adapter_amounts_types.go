package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// AmountEncoding is how a request or a limit is written.
// +kubebuilder:validation:Enum=Quantity;Integer
type AmountEncoding string

// Encodings of requests and limits.
const (
	// AmountQuantity is a Kubernetes quantity in a JSON string: 250m, 1Gi.
	AmountQuantity AmountEncoding = "Quantity"
	// AmountInteger is a JSON number of whole cores or of bytes; parts of a core are rounded up.
	AmountInteger AmountEncoding = "Integer"
)

// Amount is where one request or limit is.
type Amount struct {
	// Path of the amount. Under each it may have filters.
	Path Path `json:"path"`
	// Default is what an absent amount means, 0 where that is none. Without it an absent amount stays absent.
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

// ResourceComponent is one part of an object that requests CPU and memory, such as a container, or one per element of a list where each
// is set.
// +kubebuilder:validation:XValidation:rule="has(self.each) == has(self.nameFrom)",message="each and nameFrom go together"
// +kubebuilder:validation:XValidation:rule="has(self.each) != has(self.name)",message="give name or each"
// +kubebuilder:validation:XValidation:rule="!(has(self.each) && has(self.when))",message="when cannot be used with each"
// +kubebuilder:validation:XValidation:rule="has(self.requests.cpu) || has(self.requests.memory)",message="give requests of cpu, memory or both"
type ResourceComponent struct {
	// Name of the component, unique in the adapter.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// Each yields the elements of a list; the other paths are then relative to an element.
	// +optional
	Each Path `json:"each,omitempty"`
	// NameFrom is, in an element, the field that names it.
	// +optional
	NameFrom Path `json:"nameFrom,omitempty"`
	// When lists the predicates, ANDed, that must hold of an object for it to have the component. They are judged on the object as its
	// owner has it. Empty: always.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	When []Predicate `json:"when,omitempty"`
	// Requests are where the requests are.
	Requests Amounts `json:"requests"`
	// Limits are where the limits are. They follow the requests by the ratio that their owner has given them.
	// +optional
	Limits *Amounts `json:"limits,omitempty"`
}

// Utilisation is one target utilisation of an autoscaler, or one per element of a list where each is set.
// +kubebuilder:validation:XValidation:rule="has(self.each) == has(self.resourceFrom)",message="each and resourceFrom go together"
// +kubebuilder:validation:XValidation:rule="has(self.each) || !has(self.containerFrom)",message="containerFrom goes together with each"
// +kubebuilder:validation:XValidation:rule="has(self.each) != has(self.resource)",message="give resource or each"
type Utilisation struct {
	// Resource that is used, without each.
	// +optional
	// +kubebuilder:validation:Enum=cpu;memory
	Resource string `json:"resource,omitempty"`
	// Each yields the elements of a list; the other paths are then relative to an element.
	// +optional
	Each Path `json:"each,omitempty"`
	// ResourceFrom is, in an element, the field that names the resource: cpu or memory.
	// +optional
	ResourceFrom Path `json:"resourceFrom,omitempty"`
	// ContainerFrom is, in an element, the field that names the container whose use counts. Where it is absent, that of whole pods does.
	// +optional
	ContainerFrom Path `json:"containerFrom,omitempty"`
	// Percent is where the target is, in percent of what is requested. An object without it has no such target, and none is made.
	Percent Path `json:"percent"`
	// Encoding of the target.
	// +optional
	// +kubebuilder:default=Integer
	Encoding Encoding `json:"encoding,omitempty"`
}
