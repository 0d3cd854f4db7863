package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Path is a location in an object: .a.b, ['k'], [0], [*] and [?(@.k=="v")]; a leading $ and braces are optional.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=512
type Path string

// AdapterTarget is the kind an adapter speaks of.
type AdapterTarget struct {
	// Group is the API group; empty for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// Kind is the kind's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Versions in order of preference: the first that the API server serves is used. Where writes through it would lose fields of the version
	// in which objects are stored, that one is used instead, if it has every path of the adapter.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	Versions []string `json:"versions"`
}

// ScaleVia is how a replica count is written.
// +kubebuilder:validation:Enum=Patch;Scale
type ScaleVia string

// Ways to write a replica count.
const (
	// ViaPatch writes the field in the object itself, together with the ledger.
	ViaPatch ScaleVia = "Patch"
	// ViaScale writes through the /scale subresource, after the ledger.
	ViaScale ScaleVia = "Scale"
)

// ScaleComponent is one replica count, or one per element of a list where each is set.
// +kubebuilder:validation:XValidation:rule="has(self.each) || !has(self.nameFrom)",message="nameFrom goes together with each"
// +kubebuilder:validation:XValidation:rule="has(self.each) || has(self.name)",message="name is required unless each is set"
// +kubebuilder:validation:XValidation:rule="!(has(self.each) && self.via == 'Scale')",message="via: Scale cannot be used with each"
// +kubebuilder:validation:XValidation:rule="!(has(self.each) && has(self.when))",message="when cannot be used with each"
type ScaleComponent struct {
	// Name of the component, unique in the adapter.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// Each yields the elements of a list; the other paths are then relative to an element.
	// +optional
	Each Path `json:"each,omitempty"`
	// NameFrom is, in an element, the field that names it. Without it, and where an element has none, elements are told apart by their
	// places, which fits lists that are written as a whole only.
	// +optional
	NameFrom Path `json:"nameFrom,omitempty"`
	// When lists the predicates, ANDed, that must hold of an object for its count to be changed, up or down. They are judged on
	// the object as its owner has it. Empty: always.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	When []Predicate `json:"when,omitempty"`
	// Replicas is where the count is.
	Replicas Path `json:"replicas"`
	// Default is what an absent count means where the object that it is a field of exists. Without it, and in a part that the
	// object does not have, there is no count and none is made.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Default *int64 `json:"default,omitempty"`
	// ZeroMeans is the count that the kind takes 0 for, such as its own default. Without it 0 is 0. It needs a minimum of 1 or more.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ZeroMeans *int64 `json:"zeroMeans,omitempty"`
	// Minimum is the lowest count that the kind accepts, and what asleep means.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Minimum int64 `json:"minimum,omitempty"`
	// Via says how the count is written.
	// +optional
	// +kubebuilder:default=Patch
	Via ScaleVia `json:"via,omitempty"`
}

// PredicateOp compares a field with a value.
// +kubebuilder:validation:Enum=Exists;NotExists;Eq;Ne;Lt;Le;Gt;Ge;In
type PredicateOp string

// Comparisons. Lt, Le, Gt and Ge are for numbers; In takes a list. A comparison with an absent field is false.
const (
	OpExists    PredicateOp = "Exists"
	OpNotExists PredicateOp = "NotExists"
	OpEq        PredicateOp = "Eq"
	OpNe        PredicateOp = "Ne"
	OpLt        PredicateOp = "Lt"
	OpLe        PredicateOp = "Le"
	OpGt        PredicateOp = "Gt"
	OpGe        PredicateOp = "Ge"
	OpIn        PredicateOp = "In"
)

// Predicate is a test on one field. Exists and NotExists take no value; every other op takes exactly one of value and
// valueFrom (which CEL cannot say of a value of any type: it is checked when the adapter is compiled).
// +kubebuilder:validation:XValidation:rule="!(self.op in ['Exists', 'NotExists'] && has(self.valueFrom))",message="Exists and NotExists take no value"
type Predicate struct {
	// Path of the field.
	Path Path `json:"path"`
	// Default is what an absent field means.
	// +optional
	Default *apiextensionsv1.JSON `json:"default,omitempty"`
	// Op is the comparison.
	Op PredicateOp `json:"op"`
	// Value to compare with.
	// +optional
	Value *apiextensionsv1.JSON `json:"value,omitempty"`
	// ValueFrom is the path of the value to compare with.
	// +optional
	ValueFrom Path `json:"valueFrom,omitempty"`
}

// ReadyPredicate is a Predicate that some objects do not have to meet.
type ReadyPredicate struct {
	Predicate `json:",inline"`
	// When lists predicates, ANDed. Where one does not hold, the object does not have to meet this one. Empty: always.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	When []Predicate `json:"when,omitempty"`
}

// Write sets one field. A value of null removes it.
type Write struct {
	// Path of the field; it names one place (no [*] and no filter).
	Path Path `json:"path"`
	// Value to set. Null, or no value at all, removes the field; kubectl apply without --server-side drops a null.
	// +optional
	// +nullable
	Value apiextensionsv1.JSON `json:"value,omitempty"`
}

// Impact says what a write does to running pods.
// +kubebuilder:validation:Enum=None;Rollout
type Impact string

// Impacts.
const (
	// ImpactNone leaves running pods as they are, or only stops them.
	ImpactNone Impact = "None"
	// ImpactRollout restarts pods.
	ImpactRollout Impact = "Rollout"
)

// Variant is one way to do something: the first variant whose predicates all hold is used.
type Variant struct {
	// When lists the predicates, ANDed. Empty: always.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	When []Predicate `json:"when,omitempty"`
	// Set lists the fields to write.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Set []Write `json:"set"`
	// Already lists the predicates, ANDed, that hold of an object that its owner has set that way, such as that an annotation exists,
	// whatever its value. Such an object is left alone. Empty: every field of set holds its value.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Already []Predicate `json:"already,omitempty"`
	// Impact on running pods.
	// +optional
	// +kubebuilder:default=None
	Impact Impact `json:"impact,omitempty"`
}

// Bound is one end of an autoscaler's range.
type Bound struct {
	// Path of the bound.
	Path Path `json:"path"`
	// Default is what an absent bound means.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Default *int64 `json:"default,omitempty"`
	// Minimum is the lowest value that the kind accepts.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Minimum int64 `json:"minimum,omitempty"`
	// Unlimited is a number that stands for "no limit" in this kind.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Unlimited *int64 `json:"unlimited,omitempty"`
}

// Encoding is how a number is written.
// +kubebuilder:validation:Enum=Integer;String
type Encoding string

// Encodings.
const (
	// EncodingInteger is a JSON number.
	EncodingInteger Encoding = "Integer"
	// EncodingString is a decimal number in a JSON string, as annotations need it.
	EncodingString Encoding = "String"
)

// Bounds are the ends of an autoscaler's range.
// +kubebuilder:validation:XValidation:rule="has(self.min) || has(self.max)",message="give min, max or both"
// +kubebuilder:validation:XValidation:rule="has(self.each) || !has(self.nameFrom)",message="nameFrom goes together with each"
type Bounds struct {
	// Each yields the elements of a list, each of which has a range of its own; the paths of min and max are then relative to an
	// element.
	// +optional
	Each Path `json:"each,omitempty"`
	// NameFrom is, in an element, the field that names it, as in scale.
	// +optional
	NameFrom Path `json:"nameFrom,omitempty"`
	// Min is the lower end.
	// +optional
	Min *Bound `json:"min,omitempty"`
	// Max is the upper end.
	// +optional
	Max *Bound `json:"max,omitempty"`
	// Encoding of both.
	// +optional
	// +kubebuilder:default=Integer
	Encoding Encoding `json:"encoding,omitempty"`
}

// Pods says how a kind's pods are found.
type Pods struct {
	// Selector is where the label selector is.
	// +optional
	Selector Path `json:"selector,omitempty"`
	// Template is where the pod template is.
	// +optional
	Template Path `json:"template,omitempty"`
	// Immutable says that the template of an object that exists cannot be changed.
	// +optional
	Immutable bool `json:"immutable,omitempty"`
	// DeletionCost says that the kind's controller honours controller.kubernetes.io/pod-deletion-cost.
	// +optional
	DeletionCost bool `json:"deletionCost,omitempty"`
}

// Annotate says where annotations of a kind go.
type Annotate struct {
	// Path of the map.
	// +kubebuilder:default=.metadata.annotations
	Path Path `json:"path"`
}

// Changes sorts the fields of a kind into what changing them means. The more specific path wins. One path may stand in several
// of create, delete, rollout and scale: changing it is all of them.
type Changes struct {
	// Create lists fields whose change makes a controller create objects.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Create []Path `json:"create,omitempty"`
	// Delete lists fields whose change makes a controller delete objects, this one included.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Delete []Path `json:"delete,omitempty"`
	// Rollout lists fields whose change restarts pods or changes what runs.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Rollout []Path `json:"rollout,omitempty"`
	// Scale lists fields whose change alters how much runs.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Scale []Path `json:"scale,omitempty"`
	// Ignore lists fields whose change is nothing.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Ignore []Path `json:"ignore,omitempty"`
	// Requests lists fields of create, delete, rollout or scale that ask the kind's controller for something and that it takes
	// away when it has begun. Taking one away, or elements from a list of them, is nothing.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Requests []Path `json:"requests,omitempty"`
	// CreateDeleteWhen lists the predicates, ANDed, that must hold of an object for its creation to be Create and its deletion
	// to be Delete. Empty: always.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	CreateDeleteWhen []Predicate `json:"createDeleteWhen,omitempty"`
	// Subresources lists the subresources whose updates carry the whole object, so that they are judged like edits of it, e.g.
	// status or resize. The subresource scale needs no mention.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Pattern=`^[a-z]+$`
	// +listType=set
	Subresources []string `json:"subresources,omitempty"`
}

// AdapterSpec says how one kind is scaled, suspended, held, bounded and annotated.
// +kubebuilder:validation:XValidation:rule="!has(self.governsKind) || has(self.governs)",message="governsKind needs governs"
type AdapterSpec struct {
	// Target is the kind. It cannot be changed: make another adapter.
	// +kubebuilder:validation:XValidation:rule="!has(self.group) || self.group != 'flyball.dev'",message="target.group must not be Flyball's own group: its policies are no targets"
	// +kubebuilder:validation:XValidation:rule="(has(self.group) ? self.group : '') == (has(oldSelf.group) ? oldSelf.group : '') && self.kind == oldSelf.kind",message="target.group and target.kind cannot be changed; make another Adapter"
	Target AdapterTarget `json:"target"`
	// Scale lists the replica counts.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Scale []ScaleComponent `json:"scale,omitempty"`
	// Suspend stops the object from consuming. The first variant whose predicates hold is used.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Suspend []Variant `json:"suspend,omitempty"`
	// Hold stops the rollout, or the controller that owns or drives the object, from acting.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Hold []Variant `json:"hold,omitempty"`
	// Bounds are the ends of an autoscaler's range.
	// +optional
	Bounds *Bounds `json:"bounds,omitempty"`
	// Resources lists what requests CPU and memory. Default: the containers of pods.template, and those of its init containers that are
	// restarted always, unless pods.immutable is set.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Resources []ResourceComponent `json:"resources,omitempty"`
	// Utilisation lists the target utilisations of an autoscaler.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Utilisation []Utilisation `json:"utilisation,omitempty"`
	// Blind lists predicates, ANDed, that hold while an autoscaler cannot read its metrics, so that it does not scale.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Blind []Predicate `json:"blind,omitempty"`
	// Governs is where the reference to another object is, whose replicas this object owns.
	// +optional
	Governs Path `json:"governs,omitempty"`
	// GovernsKind is what a reference without a kind means.
	// +optional
	GovernsKind *KindRef `json:"governsKind,omitempty"`
	// RunsToCompletion says that objects of the kind do their work once and end, as a Job does. One that was made while a schedule is asleep is not put to
	// sleep by it before its next night: its work would be lost.
	// +optional
	RunsToCompletion bool `json:"runsToCompletion,omitempty"`
	// Pods says how the kind's pods are found.
	// +optional
	Pods *Pods `json:"pods,omitempty"`
	// Annotate says where annotations of this kind go. Default: .metadata.annotations.
	// +optional
	Annotate *Annotate `json:"annotate,omitempty"`
	// Ready lists predicates, ANDed, that hold once the object has settled.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Ready []ReadyPredicate `json:"ready,omitempty"`
	// Changes says what an edit means to a change freeze. By default the paths of scale, bounds, suspend and utilisation are scales, another
	// owner in .metadata.ownerReferences is a deletion, the rest of .metadata and .status is nothing, and every other field is a
	// roll-out.
	// +optional
	Changes *Changes `json:"changes,omitempty"`
}

// Adapter tells Flyball about a kind. Its name is <plural>.<group> (just <plural> for the core group), so that there is one for a kind.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fad,categories=flyball
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.target.kind`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Capabilities",type=string,JSONPath=`.status.capabilities`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Adapter struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec AdapterSpec `json:"spec"`
	// +optional
	Status AdapterStatus `json:"status,omitempty"`
}

// AdapterList is a list of Adapters.
// +kubebuilder:object:root=true
type AdapterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Adapter `json:"items"`
}
