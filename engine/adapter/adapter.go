package adapter

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// Keys are the parts of a kind's objects that policies use besides those that an adapter always reads.
type Keys struct {
	// Match are the keys of .metadata.annotations that selections match on.
	Match []string
	// Set are the keys that policies write to the adapter's places for annotations.
	Set []string
	// Amounts is true if policies use requests and utilisations. Otherwise the objects in memory lack the requests and
	// utilisations in lists.
	Amounts bool
	// Ready is true if policies wait until objects have settled. Objects in memory have the fields of the ready
	// predicates only if Ready or Amounts is true.
	Ready bool
	// Owned is true if policies hold the owners of their targets. The records of owners are kept only then.
	Owned bool
}

// Adapter is a compiled v1alpha1.AdapterSpec. It is immutable and safe for concurrent use. Adapters with the same
// ProjectionID can read each other's projected objects. An Adapter with a different ProjectionID cannot read them.
type Adapter struct {
	name       string
	gk         schema.GroupKind
	versions   []string
	components []component
	// runsToCompletion is the field of the spec.
	runsToCompletion bool
	suspend          []variant
	hold             []variant
	min, max         *bound
	// lows and highs are the ends of the ranges of list elements; min and max are nil then.
	lows, highs *eachBound
	encoding    v1alpha1.Encoding
	// amounts are the requests, limits and utilisations.
	amounts []amount
	// keepsAmounts is true if the amounts of list elements, such as containers, are kept in memory for every object.
	// Otherwise they are kept only for objects with ledger entries for such elements.
	keepsAmounts bool
	governs      *governs
	// owns is the record of the objects that an object applies; nil: it applies none. keepsOwned is true if every object in
	// memory has it.
	owns       *owns
	keepsOwned bool
	// ready are the predicates of settled objects. keepsReady is true if every object in memory has the fields of these
	// predicates.
	ready      []predicate
	keepsReady bool
	// wakesFromZero are the predicates of autoscalers that scale their target up from zero replicas.
	wakesFromZero []predicate
	// blind are the predicates of autoscalers that cannot read their metrics.
	blind []predicate
	// annotate has the places for annotations, by key. annotations is the pointer of the map with these places.
	annotate    map[string]*slot
	annotations path.Pointer
	pods        v1alpha1.Pods
	template    path.Path // of the pod template; empty if the adapter names none
	// annotationsMap records whether .metadata.annotations exists; nil if the adapter never needs a JSON Patch.
	annotationsMap *slot
	changes        *rule
	// requests has the rules of spec.changes.requests only.
	requests *rule
	// lifecycle are the predicates of objects whose creation and deletion are changes. Their slots are in no
	// projection.
	lifecycle    []predicate
	subresources []string
	// sizesPods is true if the adapter's requests are the requests of the containers in the pod template.
	sizesPods  bool
	uses       []Use
	projection *projection
	interner   *workload.Interner
}

func (a *Adapter) hasAmount(kind workload.AmountKind) bool {
	return slices.ContainsFunc(a.amounts, func(x amount) bool { return x.kind == kind })
}

// component is one replica count, or one per element if each is set.
type component struct {
	name string
	// when are the conditions for changes of the count.
	when     []predicate
	slot     *slot      // nil with each
	each     *path.Path // the absolute path of the counts
	absent   *int64     // the meaning of an absent count; nil: none
	zero     int64      // the meaning of a count of 0
	minimum  int64
	viaScale bool
}

// variant is one way to suspend or hold.
type variant struct {
	when []predicate
	set  []write
	// already are the predicates of objects that their owner has suspended or held. If it is empty, such an object has the
	// value of every write in set.
	already []predicate
	// rollout is true if the writes restart pods.
	rollout bool
}

// write is a field to set; an empty value removes it.
type write struct {
	slot  *slot
	value string
}

// bound is one end of an autoscaler's range.
type bound struct {
	slot      *slot
	absent    *int64
	minimum   int64
	unlimited *int64
}

// governs is the place of a reference to a different object.
type governs struct {
	apiVersion, kind, name *slot
	assumed                *v1alpha1.KindRef
}

// Use is one path that an adapter uses, for checks against a schema.
type Use struct {
	// Field is the place of the path in the Adapter object, for example spec.scale[0].replicas.
	Field string
	// Path is absolute; paths under `each` are joined to it.
	Path path.Path
	// Write is true if the field is written, not only read.
	Write bool
	// Types are the JSON types that the adapter expects at the path; empty: any.
	Types []path.Type
	// Optional is true for the paths of `changes` and `owns`. The schema may lack such a path: a missing field cannot
	// change, and its changes need no verdict; without a record an object owns nothing.
	Optional bool
	// Values are the JSON texts that the adapter writes at the path, or compares with; empty: any.
	Values []string
	// ByPosition is true if the path yields elements of a list that are identified by position.
	ByPosition bool
}

// Name returns the name of the Adapter object.
func (a *Adapter) Name() string { return a.name }

// GroupKind returns the kind of the adapter.
func (a *Adapter) GroupKind() schema.GroupKind { return a.gk }

// Versions returns the API versions of the kind, in order of preference.
func (a *Adapter) Versions() []string { return slices.Clone(a.versions) }

// Capabilities returns the adapter's capabilities, in the order of the API's constants.
func (a *Adapter) Capabilities() []v1alpha1.Capability {
	var all []v1alpha1.Capability
	for _, c := range []struct {
		has  bool
		name v1alpha1.Capability
	}{
		{len(a.components) > 0, v1alpha1.CapabilityScale},
		{len(a.suspend) > 0, v1alpha1.CapabilitySuspend},
		{len(a.hold) > 0, v1alpha1.CapabilityHold},
		{a.min != nil || a.max != nil || a.lows != nil || a.highs != nil, v1alpha1.CapabilityBounds},
		{a.hasAmount(workload.AmountRequest), v1alpha1.CapabilityResources},
		{a.hasAmount(workload.AmountUtilisation), v1alpha1.CapabilityUtilisation},
		{true, v1alpha1.CapabilityAnnotate},
		{a.pods.DeletionCost, v1alpha1.CapabilityDeletionCost},
	} {
		if c.has {
			all = append(all, c.name)
		}
	}
	return all
}

// Can reports whether the adapter has a capability.
func (a *Adapter) Can(c v1alpha1.Capability) bool { return slices.Contains(a.Capabilities(), c) }

// UsesScale reports whether a count is written through the /scale subresource, which needs RBAC of its own.
func (a *Adapter) UsesScale() bool {
	return slices.ContainsFunc(a.components, func(c component) bool { return c.viaScale })
}

// Pods returns the places of the pod selector and template; empty if the adapter names none.
func (a *Adapter) Pods() v1alpha1.Pods { return a.pods }

// CanGovern reports whether objects of the kind own the replicas of other objects.
func (a *Adapter) CanGovern() bool { return a.governs != nil }

// SizesPods reports whether the requests of the kind's objects are the requests of the containers in their pod template.
// Then the pods of an object can be changed in place as well.
func (a *Adapter) SizesPods() bool { return a.sizesPods }

// KeepsAmounts reports whether objects in memory have their requests and target utilisations. Objects have them only
// while a policy needs them, so a new policy has to wait for a new read of the objects.
func (a *Adapter) KeepsAmounts() bool { return a.keepsAmounts }

// ProjectionID identifies the form of Project's objects. If it changes, a watch must restart.
func (a *Adapter) ProjectionID() string { return a.projection.id }

// Uses returns every path that the adapter uses. The paths of one part of the spec are next to each other.
func (a *Adapter) Uses() []Use { return slices.Clone(a.uses) }
