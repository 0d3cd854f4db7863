package adapter

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// Keys are what policies need of a kind's objects besides what an adapter reads anyway.
type Keys struct {
	// Match lists keys in .metadata.annotations that selections match on.
	Match []string
	// Set lists keys that policies write where the adapter says annotations go.
	Set []string
	// Amounts is true where policies look at requests and utilisations. Else those in lists are kept of no object.
	Amounts bool
}

// Adapter is a compiled v1alpha1.AdapterSpec. It does not change and may be used concurrently. Objects made by Project are
// understood by every Adapter with the same ProjectionID, and by no other.
type Adapter struct {
	name       string
	gk         schema.GroupKind
	versions   []string
	components []component
	// runsToCompletion is that of the spec.
	runsToCompletion bool
	suspend          []variant
	hold             []variant
	min, max         *bound
	// lows and highs are the ends of the ranges of list elements; min and max are nil then.
	lows, highs *eachBound
	encoding    v1alpha1.Encoding
	// amounts are the requests, limits and utilisations.
	amounts []amount
	// keepsAmounts is true where those in lists are kept of every object.
	keepsAmounts bool
	governs      *governs
	// ready holds of objects that have settled; keepsReady is true where what it reads is kept of every object.
	ready      []predicate
	keepsReady bool
	// blind holds of autoscalers that cannot read their metrics.
	blind []predicate
	// annotate are the places where annotations go, by key; annotations is the map that they are in.
	annotate    map[string]*slot
	annotations path.Pointer
	pods        v1alpha1.Pods
	template    path.Path // of pods; empty where the adapter names none
	// annotationsMap keeps whether .metadata.annotations exists; nil where no JSON Patch is ever made.
	annotationsMap *slot
	changes        *rule
	// lifecycle holds of the objects whose creation and deletion are changes. Its slots are in no projection.
	lifecycle    []predicate
	subresources []string
	// sizesPods is true where requests are those of containers in the pod template.
	sizesPods  bool
	uses       []Use
	projection *projection
	interner   *workload.Interner
}

func (a *Adapter) hasAmount(kind workload.AmountKind) bool {
	return slices.ContainsFunc(a.amounts, func(x amount) bool { return x.kind == kind })
}

// component is one replica count, or one per element where each is set.
type component struct {
	name string
	// when holds where the count may be changed.
	when     []predicate
	slot     *slot      // nil with each
	each     *path.Path // the absolute path of the counts
	absent   *int64     // what an absent count means; nil: nothing
	zero     int64      // what a count of 0 means
	minimum  int64
	viaScale bool
}

// variant is one way to suspend or hold.
type variant struct {
	when []predicate
	set  []write
	// already holds of objects that their owner has set that way; empty: where every field of set holds its value.
	already []predicate
	// rollout is true where the writes restart pods.
	rollout bool
}

// write is one field to set; an empty value removes it.
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

// governs is where a reference to another object is.
type governs struct {
	apiVersion, kind, name *slot
	assumed                *v1alpha1.KindRef
}

// Use is one path that an adapter uses, for checks against a schema.
type Use struct {
	// Field is where in the Adapter object the path stands, e.g. spec.scale[0].replicas.
	Field string
	// Path is absolute; paths under `each` are joined to it.
	Path path.Path
	// Write is true where the field is written, not only read.
	Write bool
	// Types are the JSON types that the adapter expects at the path; empty: any.
	Types []path.Type
	// Judged is true of the paths of `changes`: a field that the schema does not have cannot change, and needs no judging.
	Judged bool
	// Values are the JSON texts that the adapter writes at the path, or compares with what is there; empty: any.
	Values []string
	// ByPosition is true where the path yields elements of a list that are told apart by their places.
	ByPosition bool
}

// Name is the name of the Adapter object.
func (a *Adapter) Name() string { return a.name }

// GroupKind is the kind that the adapter speaks of.
func (a *Adapter) GroupKind() schema.GroupKind { return a.gk }

// Versions are the API versions of the kind, in order of preference.
func (a *Adapter) Versions() []string { return slices.Clone(a.versions) }

// Capabilities lists what the adapter can do, in the order of the API's constants.
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

// Can says whether the adapter has a capability.
func (a *Adapter) Can(c v1alpha1.Capability) bool { return slices.Contains(a.Capabilities(), c) }

// UsesScale says whether a count is written through the /scale subresource, which needs RBAC of its own.
func (a *Adapter) UsesScale() bool {
	return slices.ContainsFunc(a.components, func(c component) bool { return c.viaScale })
}

// Pods says where the pod selector and template are; empty where the adapter names none.
func (a *Adapter) Pods() v1alpha1.Pods { return a.pods }

// CanGovern says whether objects of the kind own the replicas of other objects.
func (a *Adapter) CanGovern() bool { return a.governs != nil }

// SizesPods says whether requests of objects of the kind are those of the containers in their pod template, so that their pods can be
// changed in place as well.
func (a *Adapter) SizesPods() bool { return a.sizesPods }

// KeepsAmounts says whether requests and target utilisations are read of objects. They are on demand, so that who has just come to look at
// them has to wait for that.
func (a *Adapter) KeepsAmounts() bool { return a.keepsAmounts }

// ProjectionID changes exactly when an Object made by Project would look different: a watch restarts on it.
func (a *Adapter) ProjectionID() string { return a.projection.id }

// Uses lists every path of the adapter; those of one part of the spec are together.
func (a *Adapter) Uses() []Use { return slices.Clone(a.uses) }
