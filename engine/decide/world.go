// Package decide returns the verdict about a target under all its policies, from a World and an instant. It selects
// policies, runs pipelines, relates autoscalers and their targets, merges, renders, and finds the gate of a write. It
// is pure: the manager, the command line and tests get the same answer for the same World.
//
// Decisions (docs/decisions): 0005, 0007, 0027, 0050.
package decide

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// World is the input of all decisions. Its answers must not change during the decision about one target.
type World interface {
	// Kind returns an adapted kind in use; nil: not in use.
	Kind(schema.GroupKind) *Kind
	// Adapts reports whether any adapter, in use or not, can put a kind to sleep.
	Adapts(schema.GroupKind) bool
	// Object returns an object of a kind in use; nil: absent.
	Object(workload.Ref) *workload.Object
	// Referent resolves a reference of an autoscaler (workload.Names) and returns it with the kind's own name. A
	// reference to a kind without an adapter is returned unchanged.
	Referent(workload.Ref) workload.Ref
	// Governors returns the autoscalers of an object, in order of their names. It leaves out an autoscaler controlled
	// by another of them.
	Governors(workload.Ref) []workload.Ref
	// EachPolicyFor yields the policies that may select an object of a kind in a namespace with some labels: all that do,
	// and others.
	EachPolicyFor(gk schema.GroupKind, obj *workload.Object, namespace workload.Pairs, yield func(*Policy))
	// EachOf yields the objects that a policy selects, in no order.
	EachOf(p *Policy, yield func(*Kind, *workload.Object))
	// Policy returns a policy by its name; nil: absent.
	Policy(workload.Policy) *Policy
	// Namespace returns the facts about a namespace.
	Namespace(name string) Namespace
	// Freezes returns the set of freezes; nil: not read yet.
	Freezes() *freeze.Set
}

// Kind is an adapted kind in use. It is immutable.
type Kind struct {
	schema.GroupKind
	Adapter *adapter.Adapter
	// Resource is the API server's resource of the kind.
	Resource schema.GroupVersionResource
	// NoScale is true if the API server serves no /scale for the kind.
	NoScale bool
	// Blocked is the reason why nothing may be written for the kind; empty: writes are allowed.
	Blocked string
	// Releasing is true while the Adapter object is being deleted: everything is restored.
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
	// Deleting is true once the object has a deletion timestamp. The policy has no claims any more.
	Deleting bool
	// Orphan is true if changed values stay when the policy is deleted.
	Orphan bool
}

// Namespace is the facts about a namespace used by decisions.
type Namespace struct {
	Labels workload.Pairs
	// AwakeUntil is the value of the annotation awake-until; empty: absent.
	AwakeUntil string
	// Terminating is true while the namespace is being deleted: no policy applies in it any more.
	Terminating bool
	// Unknown is true if the namespace has not been read yet or is gone. The policies that reach it cannot be listed.
	Unknown bool
}
