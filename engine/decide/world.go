// Package decide returns the verdict about a target under all its policies, from a World and an instant. It selects
// policies, runs pipelines, relates autoscalers and their targets, merges, renders, and finds the gate of a write. It
// is pure: the manager, the command line and tests get the same answer for the same World.
//
// Decisions (docs/decisions): 0005, 0007, 0027, 0050.
package decide

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// World is the input of all decisions. Its answers must not change during the decision about one target.
type World interface {
	// Kind returns an adapted kind, or nil if the kind is not in use.
	Kind(schema.GroupKind) *Kind
	// Adapts returns the ability of a kind's adapter, in use or not, to put objects to sleep.
	Adapts(schema.GroupKind) Adapts
	// Object returns an object of a kind in use, or nil if the object does not exist.
	Object(workload.Ref) *workload.Object
	// Referent resolves a reference in an autoscaler (workload.Names), and returns it with the usual spelling of the
	// kind. A reference to a kind without an adapter is returned unchanged.
	Referent(workload.Ref) workload.Ref
	// Autoscalers returns the autoscalers of an object, in order of their names. It leaves out an autoscaler that is
	// controlled by another autoscaler of the object.
	Autoscalers(workload.Ref) []workload.Ref
	// Generated returns the autoscalers of an object that Autoscalers leaves out, because the given one controls them.
	Generated(object, by workload.Ref) []workload.Ref
	// Owners returns the objects of GitOps tools that apply an object by their own record, in order of their names. known is
	// false while such records are not read yet.
	Owners(workload.Ref) (all []workload.Ref, known bool)
	// EachPolicyFor yields every policy that selects an object of a kind in a namespace with some labels, and is not over at an
	// instant. It may also yield other policies.
	EachPolicyFor(gk schema.GroupKind, obj *workload.Object, namespace workload.Pairs, now time.Time, yield func(*Policy))
	// EachOf yields the objects that a policy selects, in no order. With a namespace, it yields only those in the namespace and those
	// outside of namespaces.
	EachOf(p *Policy, namespace string, yield func(*Kind, *workload.Object))
	// Policy returns a policy by its name, or nil if it does not exist.
	Policy(workload.Policy) *Policy
	// Namespace returns the facts about a namespace.
	Namespace(name string) Namespace
	// Freezes returns the set of freezes, or nil if they have not been read yet.
	Freezes() *freeze.Set
}

// Adapts is the ability of a kind's adapter to put objects to sleep.
type Adapts uint8

const (
	// NoAdapter is the value of a kind without an adapter.
	NoAdapter Adapts = iota
	// CannotSleep is the value of an adapter with neither an off switch nor counts in the live schema.
	CannotSleep
	// CanSleep is the value of an adapter with either of them.
	CanSleep
)

// Kind is an adapted kind in use. It is immutable.
type Kind struct {
	schema.GroupKind
	Adapter *adapter.Adapter
	// Resource is the API server's resource of the kind.
	Resource schema.GroupVersionResource
	// NoScale is true if the API server serves no /scale for the kind.
	NoScale bool
	// Blocked is the reason why nothing may be written for the kind. Empty means that writes are allowed.
	Blocked string
	// Releasing is true while the Adapter object is being deleted. Everything is then restored.
	Releasing bool
	// Capabilities are the capabilities of the adapter.
	Capabilities []v1alpha1.Capability
}

// NewKind returns the Kind of a compiled adapter.
func NewKind(a *adapter.Adapter, resource schema.GroupVersionResource) *Kind {
	return &Kind{GroupKind: a.GroupKind(), Adapter: a, Resource: resource, Capabilities: a.Capabilities()}
}

// Can reports whether the kind has any of the capabilities. It returns true for an empty list.
func (k *Kind) Can(needs []v1alpha1.Capability) bool {
	return len(needs) == 0 || slices.ContainsFunc(needs, func(n v1alpha1.Capability) bool { return slices.Contains(k.Capabilities, n) })
}

// Ref returns the reference of an object of the kind.
func (k *Kind) Ref(obj *workload.Object) workload.Ref {
	return workload.Ref{GroupKind: k.GroupKind, Namespace: obj.Namespace, Name: obj.Name}
}

// Policy is a compiled policy with facts about its object.
type Policy struct {
	*policy.Policy
	// Deleting is true if the object has a deletion timestamp. The policy then has no claims.
	Deleting bool
	// Orphan is true if the values set by the policy stay when the policy is deleted.
	Orphan bool
}

// Namespace has the facts about a namespace that decisions use.
type Namespace struct {
	Labels workload.Pairs
	// Terminating is true while the namespace is being deleted. No policy then applies in it.
	Terminating bool
	// Unknown is true if the namespace has not been read yet or is gone. It is then unknown which policies select its
	// objects.
	Unknown bool
}
