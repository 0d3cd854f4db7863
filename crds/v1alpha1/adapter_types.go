package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=512

// Path is a location in an object: .a.b, ['k'], [0], [*] and [?(@.k=="v")]. A leading $ and braces are optional.
type Path string

// AdapterTarget is the kind of an adapter.
type AdapterTarget struct {
	// Group is the API group. Empty means the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// Kind is the kind's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Versions are API versions in order of preference. Flyball uses the first version that the API server serves. If writing it would
	// lose fields of the storage version, Flyball uses the storage version instead, provided that it has every path of the adapter.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	Versions []string `json:"versions"`
}

// +kubebuilder:validation:Enum=Patch;Scale

// ScaleVia is how a replica count is written.
type ScaleVia string

// These are the ways to write a replica count.
const (
	// ViaPatch writes the field in the object itself, together with the ledger.
	ViaPatch ScaleVia = "Patch"
	// ViaScale writes through the /scale subresource, after the ledger.
	ViaScale ScaleVia = "Scale"
)

// +kubebuilder:validation:XValidation:rule="has(self.each) || !has(self.nameFrom)",message="nameFrom goes together with each"
// +kubebuilder:validation:XValidation:rule="has(self.each) || has(self.name)",message="name is required unless each is set"
// +kubebuilder:validation:XValidation:rule="!(has(self.each) && self.via == 'Scale')",message="via: Scale cannot be used with each"
// +kubebuilder:validation:XValidation:rule="!(has(self.each) && has(self.when))",message="when cannot be used with each"

// ScaleComponent is one replica count, or one per list element if each is set.
type ScaleComponent struct {
	// Name of the component, unique in the adapter.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// Each is the path of list elements. The other paths are then relative to an element.
	// +optional
	Each Path `json:"each,omitempty"`
	// NameFrom is the path, in an element, of its name. Without it, and in an element without a name, elements are identified by their
	// index, which is safe only for lists that are always written as a whole.
	// +optional
	NameFrom Path `json:"nameFrom,omitempty"`
	// When lists predicates that must all hold for the count to be changed, up or down. They are evaluated on the object as its owner has
	// it. Empty means always.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	When []Predicate `json:"when,omitempty"`
	// Replicas is the path of the count.
	Replicas Path `json:"replicas"`
	// Default is the meaning of an absent count, provided that its parent object exists. Without a default, or without the parent, there
	// is no count and Flyball creates none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Default *int64 `json:"default,omitempty"`
	// ZeroMeans is the count that the kind uses for 0, such as its own default. Without it 0 means 0. It requires a minimum of 1 or more.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ZeroMeans *int64 `json:"zeroMeans,omitempty"`
	// Minimum is the lowest count that the kind accepts, used as the asleep count.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Minimum int64 `json:"minimum,omitempty"`
	// Via is how the count is written.
	// +optional
	// +kubebuilder:default=Patch
	Via ScaleVia `json:"via,omitempty"`
	// Optional leaves this component out where the live schema lacks one of its fields, as in another release. Without it, a missing
	// field makes the adapter not Ready.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// +kubebuilder:validation:Enum=Exists;NotExists;Eq;Ne;Lt;Le;Gt;Ge;In

// PredicateOp compares a field with a value.
type PredicateOp string

// Lt, Le, Gt and Ge compare numbers, and In takes a list. A comparison with an absent field is false.
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

// +kubebuilder:validation:XValidation:rule="!(self.op in ['Exists', 'NotExists'] && has(self.valueFrom))",message="Exists and NotExists take no value"

// Predicate is a test of one field. Exists and NotExists take no value. Every other op takes exactly one of value and valueFrom, which is
// checked when the adapter is compiled, because CEL cannot check a value of any type.
type Predicate struct {
	// Path of the field.
	Path Path `json:"path"`
	// Default is the meaning of an absent field.
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
	// Optional lets the live schema lack the path, as in another release. The field is then absent from every object.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// ReadyPredicate is a Predicate that applies only to some objects.
type ReadyPredicate struct {
	Predicate `json:",inline"`
	// When lists predicates. If any does not hold, this predicate does not apply to the object. Empty means that it always applies.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	When []Predicate `json:"when,omitempty"`
}

// Write sets one field. The value null removes the field.
type Write struct {
	// Path of the field. It must name a single place, without [*] and filters.
	Path Path `json:"path"`
	// Value to set. Null or no value removes the field. Note that kubectl apply without --server-side drops a null.
	// +optional
	// +nullable
	Value apiextensionsv1.JSON `json:"value,omitempty"`
	// Awake is the value written on waking if the field was absent. It is for operators with a stop at the value
	// and a start only at another value, not at an absent field. Without it, the field is removed.
	// +optional
	Awake *apiextensionsv1.JSON `json:"awake,omitempty"`
}

// +kubebuilder:validation:Enum=None;Rollout

// Impact is the effect of a write on running pods.
type Impact string

// These are the impacts of a write.
const (
	// ImpactNone leaves running pods unchanged, or only stops them.
	ImpactNone Impact = "None"
	// ImpactRollout restarts pods.
	ImpactRollout Impact = "Rollout"
)

// Variant is one way to reach a state. Flyball uses the first variant whose predicates all hold.
type Variant struct {
	// When lists predicates that must all hold. Empty means always.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	When []Predicate `json:"when,omitempty"`
	// Set lists the fields to write.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Set []Write `json:"set"`
	// Already lists predicates that all hold if the object's owner has set this state, for example that an annotation exists with any
	// value. Flyball leaves such an object alone. Empty means that every field of set has its value.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Already []Predicate `json:"already,omitempty"`
	// Impact on running pods.
	// +optional
	// +kubebuilder:default=None
	Impact Impact `json:"impact,omitempty"`
	// Optional leaves this item out where the live schema lacks one of its fields, as in another version of the kind. Without it, a missing
	// field makes the adapter not Ready.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// +kubebuilder:validation:Enum=Sleep;Size;Bounds

// UnableClaim is a kind of claim on an object's capacity.
type UnableClaim string

// These are the kinds of claims.
const (
	// UnableSleep is a claim to leave nothing running.
	UnableSleep UnableClaim = "Sleep"
	// UnableSize is a claim to any other size.
	UnableSize UnableClaim = "Size"
	// UnableBounds is a claim on the minimum or the maximum.
	UnableBounds UnableClaim = "Bounds"
)

// Unable describes objects of a kind whose size and bounds must not change, or would have no effect.
type Unable struct {
	// When lists predicates that must all hold, for the object without Flyball's changes.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	When []Predicate `json:"when"`
	// Claims are the claims without effect on the object. Empty means all of them.
	// +optional
	// +kubebuilder:validation:MaxItems=3
	// +listType=set
	Claims []UnableClaim `json:"claims,omitempty"`
	// Because is the reason, as a sentence without a full stop: "the operator is paused by the label example.com/pause".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	Because string `json:"because"`
	// Paused says that the object's controller does not act meanwhile, so that pods do not follow the object. Status and explain repeat it,
	// whatever policies claim.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// AlreadyAsleep says that the object has nothing to put to sleep, as one that has ended. A claim for sleep counts it as alreadyAsleep
	// instead of unable.
	// +optional
	AlreadyAsleep bool `json:"alreadyAsleep,omitempty"`
	// Optional leaves this item out where the live schema lacks one of its fields, as in another version of the kind. Without it, a missing
	// field makes the adapter not Ready.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// Bound is the minimum or the maximum of an autoscaler.
type Bound struct {
	// Path of the bound.
	Path Path `json:"path"`
	// Default is the meaning of an absent bound.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Default *int64 `json:"default,omitempty"`
	// Minimum is the lowest value that the kind accepts.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Minimum int64 `json:"minimum,omitempty"`
	// Unlimited is the number for "no limit" in this kind.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Unlimited *int64 `json:"unlimited,omitempty"`
}

// +kubebuilder:validation:Enum=Integer;String

// Encoding is how a number is written.
type Encoding string

// These are the encodings of a number.
const (
	// EncodingInteger is a JSON number.
	EncodingInteger Encoding = "Integer"
	// EncodingString is a decimal number in a JSON string, for annotations.
	EncodingString Encoding = "String"
)

// +kubebuilder:validation:XValidation:rule="has(self.min) || has(self.max)",message="give min, max or both"
// +kubebuilder:validation:XValidation:rule="has(self.each) || !has(self.nameFrom)",message="nameFrom goes together with each"

// Bounds are the minimum and the maximum of an autoscaler.
type Bounds struct {
	// Each is the path of list elements with bounds of their own. The paths of min and max are then relative to an element.
	// +optional
	Each Path `json:"each,omitempty"`
	// NameFrom is the path, in an element, of its name, as in scale.
	// +optional
	NameFrom Path `json:"nameFrom,omitempty"`
	// Min is the minimum.
	// +optional
	Min *Bound `json:"min,omitempty"`
	// Max is the maximum.
	// +optional
	Max *Bound `json:"max,omitempty"`
	// Encoding of both bounds.
	// +optional
	// +kubebuilder:default=Integer
	Encoding Encoding `json:"encoding,omitempty"`
	// LiftsCounts is for controllers whose counts never go below the minimum: a lower count of scale lowers the minimum in the same
	// patch. Scale and bounds then have the same each.
	// +optional
	LiftsCounts bool `json:"liftsCounts,omitempty"`
}

// Pods says how to find the pods of a kind.
type Pods struct {
	// Selector is the path of the label selector.
	// +optional
	Selector Path `json:"selector,omitempty"`
	// Template is the path of the pod template.
	// +optional
	Template Path `json:"template,omitempty"`
	// Immutable means that the template of an existing object cannot be changed.
	// +optional
	Immutable bool `json:"immutable,omitempty"`
	// DeletionCost means that the kind's controller honours controller.kubernetes.io/pod-deletion-cost.
	// +optional
	DeletionCost bool `json:"deletionCost,omitempty"`
}

// Annotate says where Flyball writes annotations of a kind.
type Annotate struct {
	// Path of the annotations.
	// +kubebuilder:default=.metadata.annotations
	Path Path `json:"path"`
}

// Owns is the place of a GitOps tool's own record of the objects that it applies. A label on an applied object counts for nothing,
// because everybody who may write the object may set it.
type Owns struct {
	// Each is the path of the records. A record has the fields group, kind, namespace and name, unless id is set.
	Each Path `json:"each"`
	// ID is the path, in a record, of a text with all of them: namespace_name_group_kind, as Flux writes it.
	// +optional
	ID Path `json:"id,omitempty"`
	// When lists predicates that must all hold, for example that the tool applies to the cluster in which Flyball runs. Otherwise the
	// object owns nothing here. Empty means always.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	When []Predicate `json:"when,omitempty"`
}

// Changes classifies the fields of a kind by the meaning of a change. The more specific path wins. A path may be in several of create,
// delete, rollout and scale; a change then has all these meanings.
type Changes struct {
	// Create lists fields whose change makes a controller create objects.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Create []Path `json:"create,omitempty"`
	// Delete lists fields whose change makes a controller delete objects, including this object.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Delete []Path `json:"delete,omitempty"`
	// Rollout lists fields whose change restarts pods or changes their content.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Rollout []Path `json:"rollout,omitempty"`
	// Scale lists fields whose change alters the size.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Scale []Path `json:"scale,omitempty"`
	// Ignore lists fields whose change has no meaning.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Ignore []Path `json:"ignore,omitempty"`
	// Requests lists fields of create, delete, rollout or scale that ask the kind's controller for an action, and that the controller
	// removes when it has begun. Removing such a field, or elements of such a list, has no meaning.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Requests []Path `json:"requests,omitempty"`
	// CreateDeleteWhen lists predicates that must all hold for a creation to mean Create and a deletion to mean Delete. Empty means
	// always.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	CreateDeleteWhen []Predicate `json:"createDeleteWhen,omitempty"`
	// Subresources lists subresources whose updates contain the whole object, for example status or resize, so that they are judged like
	// edits of the object. The subresource scale need not be listed.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Pattern=`^[a-z]+$`
	// +listType=set
	Subresources []string `json:"subresources,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="!has(self.governsKind) || has(self.governs)",message="governsKind needs governs"
// +kubebuilder:validation:XValidation:rule="!has(self.owns) || (has(self.suspend) || has(self.hold)) && !has(self.scale)",message="owns needs suspend or hold, and no scale: holding an owner must stop nothing that runs"

// AdapterSpec says how one kind is scaled, suspended, held, bounded and annotated.
type AdapterSpec struct {
	// Target is the kind. It cannot be changed; create another adapter instead.
	// +kubebuilder:validation:XValidation:rule="!has(self.group) || self.group != 'flyball.dev'",message="target.group must not be Flyball's own group: its policies are no targets"
	// +kubebuilder:validation:XValidation:rule="(has(self.group) ? self.group : '') == (has(oldSelf.group) ? oldSelf.group : '') && self.kind == oldSelf.kind",message="target.group and target.kind cannot be changed; make another Adapter"
	Target AdapterTarget `json:"target"`
	// Scale lists the replica counts.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Scale []ScaleComponent `json:"scale,omitempty"`
	// Suspend stops the object's consumption. The first variant whose predicates hold is used.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Suspend []Variant `json:"suspend,omitempty"`
	// Unable lists the objects whose size and bounds no policy changes, for example because their operator is paused. The first item whose
	// predicates hold gives the reason.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Unable []Unable `json:"unable,omitempty"`
	// Hold stops the roll-out, or the controller that owns or drives the object.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Hold []Variant `json:"hold,omitempty"`
	// Bounds are the minimum and the maximum of an autoscaler.
	// +optional
	Bounds *Bounds `json:"bounds,omitempty"`
	// Resources lists the parts that request CPU and memory. Default: the containers of pods.template and its init containers with
	// restartPolicy Always, unless pods.immutable is set.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Resources []ResourceComponent `json:"resources,omitempty"`
	// Utilisation lists the target utilisations of an autoscaler.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Utilisation []Utilisation `json:"utilisation,omitempty"`
	// Blind lists predicates that all hold while an autoscaler cannot read its metrics and therefore does not scale.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Blind []Predicate `json:"blind,omitempty"`
	// Governs is the path of the reference to the object that an autoscaler scales.
	// +optional
	Governs Path `json:"governs,omitempty"`
	// GovernsKind is the kind of the governed object if the reference has no kind.
	// +optional
	GovernsKind *KindRef `json:"governsKind,omitempty"`
	// Owns says which objects in the cluster an object of a GitOps tool applies. A schedule with holdOwner holds such an object while a
	// target that it applies sleeps.
	// +optional
	Owns *Owns `json:"owns,omitempty"`
	// IgnoreControllers lists kinds of controllers, without an adapter, whose controller never undoes a write to objects of this kind. By
	// default objects with a controller of a kind without an adapter are left alone.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	IgnoreControllers []KindRef `json:"ignoreControllers,omitempty"`
	// Follows names an object by whose sleep objects of this kind stop as well. While a policy for sleep selects the named object, no policy
	// puts its followers to sleep.
	// +optional
	Follows *Follows `json:"follows,omitempty"`
	// StaysAtZero lists predicates for an autoscaler. If all hold, the autoscaler leaves a target at zero replicas alone.
	// Any other autoscaler of the kind is held before its target goes to zero, and every autoscaler if the list is empty.
	// For bounds, the predicates read the present value; for all other fields, the owner's value.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	StaysAtZero []Predicate `json:"staysAtZero,omitempty"`
	// HoldsAnySize means that an autoscaler on hold leaves its target at every size, also outside of its bounds. Flyball
	// then holds it beside a target of a reduced size, and leaves its bounds unchanged.
	// +optional
	HoldsAnySize bool `json:"holdsAnySize,omitempty"`
	// SeenWhen lists predicates that all hold once the controller of an autoscaler acts on its hold, and, without holdsAnySize, on its
	// bounds. Beside owns they hold once the GitOps tool applies nothing more. The target is not written before. An empty list means
	// at once.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	SeenWhen []ReadyPredicate `json:"seenWhen,omitempty"`
	// RunsToCompletion means that objects of the kind do their work once and end, as a Job does. An object created while a schedule is
	// asleep is not put to sleep before the next night, because its work would be lost.
	// +optional
	RunsToCompletion bool `json:"runsToCompletion,omitempty"`
	// Pods says how to find the kind's pods.
	// +optional
	Pods *Pods `json:"pods,omitempty"`
	// Annotate says where Flyball writes annotations of this kind. Default: .metadata.annotations.
	// +optional
	Annotate *Annotate `json:"annotate,omitempty"`
	// Ready lists predicates that all hold when the object has settled.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Ready []ReadyPredicate `json:"ready,omitempty"`
	// Changes says what an edit means for a change freeze. By default the paths of scale, bounds, suspend and utilisation mean Scale, a
	// new owner in .metadata.ownerReferences means Delete, the rest of .metadata and .status means nothing, and every other field means
	// RollOut.
	// +optional
	Changes *Changes `json:"changes,omitempty"`
}

// Follows is a reference to an object in the same namespace, or to an object outside of namespaces.
type Follows struct {
	// Group is the API group of the followed kind. Empty means the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// Kind is the followed kind.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Name is the path of the name. Without a name an object follows nothing.
	Name Path `json:"name"`
}

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

// Adapter describes one kind to Flyball. Its name is <plural>.<group> (just <plural> for the core group), so that a kind has at most one.
type Adapter struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec AdapterSpec `json:"spec"`
	// +optional
	Status AdapterStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// AdapterList is a list of Adapters.
type AdapterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Adapter `json:"items"`
}
