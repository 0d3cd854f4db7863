// Package compiled compiles an AdapterSpec: its paths to slots of a projection, its predicates, numbers and variants, and the tree
// of rules by which a change of an object is classified. It also returns the facts about an object that need no ledger.
package compiled

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter/projection"
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

// Spec is a compiled v1alpha1.AdapterSpec. It is immutable and safe for concurrent use. Specs with the same ProjectionID
// can read each other's projected objects. A Spec with a different ProjectionID cannot read them.
type Spec struct {
	name       string
	gk         schema.GroupKind
	versions   []string
	Components []Component
	// RunsToCompletion is the field of the spec.
	RunsToCompletion bool
	Suspend          []Variant
	Hold             []Variant
	// unable are the conditions of objects whose size and bounds do not change.
	unable   []unable
	Min, Max *Bound
	// Lows and highs are the ends of the ranges of list elements; min and max are nil then.
	Lows, Highs *EachBound
	// LiftsCounts is true if a lower count also lowers the end in lows.
	LiftsCounts bool
	encoding    v1alpha1.Encoding
	// Amounts are the requests, limits and utilisations.
	Amounts []Amount
	// keepsAmounts is true if the amounts of list elements, such as containers, are kept in memory for every object.
	// Otherwise they are kept only for objects with ledger entries for such elements.
	keepsAmounts bool
	governs      *governs
	// owns is the record of the objects that an object applies; nil: it applies none. keepsOwned is true if every object in
	// memory has it.
	owns       *owns
	keepsOwned bool
	// follows is the place of the reference to a followed object; nil: none.
	follows *follows
	// ignored are the kinds of controllers that never undo a write.
	ignored []schema.GroupKind
	// ready are the predicates of settled objects. keepsReady is true if every object in memory has the fields of these
	// predicates.
	ready      predicates
	keepsReady bool
	// reported are the fields of the status in the ready predicates. An object with none of them has an unknown state.
	reported []*projection.Slot
	// StaysAtZero are the predicates of autoscalers that leave a target at zero replicas alone. Empty: no autoscaler does.
	StaysAtZero predicates
	// HoldsAnySize is true for autoscalers whose hold has effect at every size of their target. seenWhen are the predicates of
	// autoscalers whose controller acts on the hold and the bounds.
	HoldsAnySize bool
	seenWhen     predicates
	// Blind are the predicates of autoscalers that cannot read their metrics.
	Blind predicates
	// Annotate has the places for annotations, by key. annotations is the pointer of the map with these places.
	Annotate    map[string]*projection.Slot
	annotations path.Pointer
	pods        v1alpha1.Pods
	Template    path.Path // of the pod template; empty if the adapter names none
	// AnnotationsMap records whether .metadata.annotations exists; nil if the adapter never needs a JSON Patch.
	AnnotationsMap *projection.Slot
	Changes        *Rule
	// requests has the rules of spec.changes.requests only.
	requests *Rule
	// lifecycle are the predicates of objects whose creation and deletion are changes. Their slots are in no
	// projection.
	lifecycle    predicates
	subresources []string
	// sizesPods is true if the adapter's requests are the requests of the containers in the pod template.
	sizesPods  bool
	uses       []Use
	Projection *projection.Projection
	interner   *workload.Interner
}

func (a *Spec) hasAmount(kind workload.AmountKind) bool {
	return slices.ContainsFunc(a.Amounts, func(x Amount) bool { return x.Kind == kind })
}

// Component is one replica count, or one per element if each is set.
type Component struct {
	Name string
	// When are the conditions for changes of the count.
	When     predicates
	Slot     *projection.Slot // nil with each
	each     *path.Path       // the absolute path of the counts
	absent   *int64           // the meaning of an absent count; nil: none
	zero     int64            // the meaning of a count of 0
	Minimum  int64
	viaScale bool
}

// Variant is one way to suspend or hold.
type Variant struct {
	When predicates
	Set  []Write
	// Already are the predicates of objects that their owner has suspended or held. If it is empty, such an object has the
	// value of every write in set.
	Already predicates
	// Rollout is true if the writes restart pods.
	Rollout bool
}

// unable is a condition of objects whose size and bounds do not change, with its reason.
type unable struct {
	when    predicates
	claims  []v1alpha1.UnableClaim // empty: all
	because string
	paused  bool // the object's controller does not act
	asleep  bool // the object has nothing to put to sleep
}

// Unable returns the reason why a claim does not change an object, or "". read returns the values of the object without
// Flyball's changes.
func (a *Spec) Unable(claim v1alpha1.UnableClaim, read func(*projection.Slot) string) string {
	for i := range a.unable {
		u := &a.unable[i]
		if (len(u.claims) == 0 || slices.Contains(u.claims, claim)) && u.when.AreTrue(read) {
			return a.unable[i].because
		}
	}
	return ""
}

// Paused returns the reason why an object's controller does not act, or "". read is as in Unable.
func (a *Spec) Paused(read func(*projection.Slot) string) string {
	for i := range a.unable {
		if u := &a.unable[i]; u.paused && u.when.AreTrue(read) {
			return u.because
		}
	}
	return ""
}

// AlreadyAsleep reports whether an object has nothing to put to sleep. read is as in Unable.
func (a *Spec) AlreadyAsleep(read func(*projection.Slot) string) bool {
	return slices.ContainsFunc(a.unable, func(u unable) bool { return u.asleep && u.when.AreTrue(read) })
}

// Write is a field to set; an empty value removes it.
type Write struct {
	Slot  *projection.Slot
	Value string
	// Awake is the value written on waking if the field was absent; empty: the field is removed.
	Awake string
}

// Bound is one end of an autoscaler's range.
type Bound struct {
	Slot      *projection.Slot
	absent    *int64
	Minimum   int64
	Unlimited *int64
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
	// Optional is true for the paths of `changes`, `owns` and optional predicates. The schema may lack such a path: a missing field cannot
	// change, and its changes need no verdict; without a record an object owns nothing.
	Optional bool
	// Values are the JSON texts that the adapter writes at the path, or compares with; empty: any.
	Values []string
	// Item is the optional item of the spec with the path, such as spec.suspend[0]; empty: the path is needed. Without the path
	// in the schema, the item is left out.
	Item string
	// ByPosition is true if the path yields elements of a list that are identified by position.
	ByPosition bool
}

// Name returns the name of the Adapter object.
func (a *Spec) Name() string { return a.name }

// GroupKind returns the kind of the adapter.
func (a *Spec) GroupKind() schema.GroupKind { return a.gk }

// Versions returns the API versions of the kind, in order of preference.
func (a *Spec) Versions() []string { return slices.Clone(a.versions) }

// Capabilities returns the adapter's capabilities, in the order of the API's constants.
func (a *Spec) Capabilities() []v1alpha1.Capability {
	var all []v1alpha1.Capability
	for _, c := range []struct {
		has  bool
		name v1alpha1.Capability
	}{
		{len(a.Components) > 0, v1alpha1.CapabilityScale},
		{len(a.Suspend) > 0, v1alpha1.CapabilitySuspend},
		{len(a.Hold) > 0, v1alpha1.CapabilityHold},
		{a.Min != nil || a.Max != nil || a.Lows != nil || a.Highs != nil, v1alpha1.CapabilityBounds},
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
func (a *Spec) Can(c v1alpha1.Capability) bool { return slices.Contains(a.Capabilities(), c) }

// UsesScale reports whether a count is written through the /scale subresource, which needs RBAC of its own.
func (a *Spec) UsesScale() bool {
	return slices.ContainsFunc(a.Components, func(c Component) bool { return c.viaScale })
}

// Pods returns the places of the pod selector and template; empty if the adapter names none.
func (a *Spec) Pods() v1alpha1.Pods { return a.pods }

// CanGovern reports whether objects of the kind own the replicas of other objects.
func (a *Spec) CanGovern() bool { return a.governs != nil }

// IgnoresController reports whether controllers of a kind never undo a write to objects of the adapter's kind.
func (a *Spec) IgnoresController(gk schema.GroupKind) bool { return slices.Contains(a.ignored, gk) }

// SizesPods reports whether the requests of the kind's objects are the requests of the containers in their pod template.
// Then the pods of an object can be changed in place as well.
func (a *Spec) SizesPods() bool { return a.sizesPods }

// KeepsAmounts reports whether objects in memory have their requests and target utilisations. Objects have them only
// while a policy needs them, so a new policy has to wait for a new read of the objects.
func (a *Spec) KeepsAmounts() bool { return a.keepsAmounts }

// ProjectionID identifies the form of Project's objects. If it changes, a watch must restart.
func (a *Spec) ProjectionID() string { return a.Projection.Id }

// Uses returns every path that the adapter uses. The paths of one part of the spec are next to each other.
func (a *Spec) Uses() []Use { return slices.Clone(a.uses) }

// Project makes the small Object of one raw JSON object, in one walk. Its result shares no memory with raw. An
// unreadable ledger is not an error here: Object.LedgerError has the reason.
func (a *Spec) Project(raw []byte) (*workload.Object, error) {
	obj, err := a.Projection.Project(raw)
	if err != nil {
		return nil, err
	}
	if err := a.addOwned(raw, obj); err != nil {
		return nil, fmt.Errorf("project %s: read the applied objects: %w", a.RefOf(obj), err)
	}
	return obj, nil
}

// TemplateRequests returns the requests of one pod of an object's template; nil if the adapter names no template or the
// object has none. An object that is not JSON is an error.
func (a *Spec) TemplateRequests(raw []byte) (*workload.Requests, error) {
	return a.Projection.TemplateRequests(raw)
}
