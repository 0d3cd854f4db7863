// Package decide says what becomes of one target under all its policies, from a World and an instant: it selects, runs the
// pipelines, looks at autoscalers and what they govern, merges, renders, and says what a write has to wait for. It is pure:
// the manager, the command line and tests ask it with worlds of their own, and get the same answer.
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

// World is all that deciding looks at. What it answers must not change while one target is decided.
type World interface {
	// Kind gives an adapted kind that is in use; nil: it is not.
	Kind(schema.GroupKind) *Kind
	// Adapts says whether some adapter speaks of a kind and can put it to sleep, in use or not.
	Adapts(schema.GroupKind) bool
	// Object gives an object of a kind in use; nil: there is none.
	Object(workload.Ref) *workload.Object
	// Referent gives the object that a reference of an autoscaler names (workload.Names), with its kind by its own name. The reference itself
	// where it names no adapted kind.
	Referent(workload.Ref) workload.Ref
	// Governors lists the objects that own an object's replicas, in order of their names, but for those that another of them controls.
	Governors(workload.Ref) []workload.Ref
	// EachPolicy yields the policies that can reach a namespace; for the empty one, which is that of objects outside
	// namespaces, all policies.
	EachPolicy(namespace string, yield func(*Policy))
	// Policy finds a policy by its name; nil: there is none.
	Policy(workload.Policy) *Policy
	// Namespace says what is known of a namespace.
	Namespace(name string) Namespace
	// Freezes are the policies that changes are judged by; nil: they have not been read yet.
	Freezes() *freeze.Set
}

// Kind is one adapted kind in use. It is immutable.
type Kind struct {
	schema.GroupKind
	Adapter *adapter.Adapter
	// Resource is what the API server serves the kind as.
	Resource schema.GroupVersionResource
	// NoScale is true where the API server serves no /scale for the kind.
	NoScale bool
	// Blocked says why nothing may be written for the kind; empty: it may.
	Blocked string
	// Releasing is true while the Adapter object is being deleted: everything is given back.
	Releasing bool
	// Capabilities are those of the adapter.
	Capabilities []v1alpha1.Capability
}

// NewKind makes a Kind of a compiled adapter.
func NewKind(a *adapter.Adapter, resource schema.GroupVersionResource) *Kind {
	return &Kind{GroupKind: a.GroupKind(), Adapter: a, Resource: resource, Capabilities: a.Capabilities()}
}

// Can says whether the kind has any of the capabilities. Where none is asked for, every kind can.
func (k *Kind) Can(needs []v1alpha1.Capability) bool {
	return len(needs) == 0 || slices.ContainsFunc(needs, func(n v1alpha1.Capability) bool { return slices.Contains(k.Capabilities, n) })
}

// Ref names an object of the kind.
func (k *Kind) Ref(obj *workload.Object) workload.Ref {
	return workload.Ref{GroupKind: k.GroupKind, Namespace: obj.Namespace, Name: obj.Name}
}

// Policy is a policy with what is known of its object.
type Policy struct {
	*policy.Policy
	// Deleting is true once the object has a deletion timestamp. The policy asks nothing any more.
	Deleting bool
	// Orphan is true where what was changed stays when the policy is deleted.
	Orphan bool
}

// Namespace is what deciding looks at of a namespace.
type Namespace struct {
	Labels workload.Pairs
	// AwakeUntil is its annotation awake-until; empty: it has none.
	AwakeUntil string
	// Terminating is true while it is being deleted: no policy has a say in it any more.
	Terminating bool
	// Unknown says that the namespace has not been seen yet, or is gone already: which policies reach into it cannot be said.
	Unknown bool
}
