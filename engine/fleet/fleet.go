// Package fleet has the pods of one target, and the nodes they are on, as a planner sees them, and knows in which order the
// ReplicaSet controller deletes pods.
package fleet

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// CostAnnotation is the annotation that the ReplicaSet controller reads: of two pods that are equally ready, the one with the lower
// cost is deleted first.
const CostAnnotation = "controller.kubernetes.io/pod-deletion-cost"

// Phase is the phase of a pod in the order in which the ReplicaSet controller deletes.
type Phase uint8

// Phases of pods that a controller counts. One that has finished is no member of a Fleet.
const (
	Pending Phase = iota
	Unknown
	Running
)

// Node is a node of the cluster.
type Node struct {
	Name string
	// Labels holds the labels that some policy asks for.
	Labels map[string]string
	// Taints are the keys of the taints that keep pods away or drive them away.
	Taints []string
	// Deleting is true once the node has a deletion timestamp.
	Deleting bool
	// Pods is how many pods run on it that a controller could start elsewhere.
	Pods int
}

// Pod is an active pod of a target: neither finished nor being deleted.
type Pod struct {
	Namespace, Name, UID string
	// Version is the resourceVersion that all of this was read from.
	Version string
	// Assigned is true once the pod has a node. Node is nil while nothing is known of that node.
	Assigned bool
	Node     *Node
	// Group is the object that owns the pod directly and deletes its pods: a ReplicaSet, for example.
	Group string
	// Revision tells pods of different templates apart.
	Revision string
	Phase    Phase
	Ready    bool
	// Changed is when Ready changed last, Created when the pod was made, both in seconds since 1970; zero: not known.
	Changed, Created int64
	// Restarts is the highest count of restarts among its containers.
	Restarts int64
	// Cost is the cost in force; 0 where there is none or where it cannot be read.
	Cost int32
	// Writer names who has set the cost, by field manager; empty: nobody has.
	Writer string
	// Containers are those of the pod, where somebody asks for them, with what has become of the last change of their resources in place.
	Containers []Container
	Resize     Resize
}

// Add adds the pods of another target.
func (r *Resizing) Add(other Resizing) {
	r.Pods += other.Pods
	r.Resized += other.Resized
	r.InProgress += other.InProgress
	r.Deferred += other.Deferred
	r.Infeasible += other.Infeasible
	r.Waiting += other.Waiting
	if r.Message == "" {
		r.Message = other.Message
	}
}

// Resize is what has become of the last change in place of what the containers of a pod request.
type Resize struct {
	// By is the field manager that has changed it; empty: nobody has.
	By string
	// Made is true where Flyball had the pod created with other requests than its template has.
	Made bool
	// Boost is what is noted on the pod of more CPU that it was given for its start; empty: it was not.
	Boost string
	// State is what the node says of it, and Message why.
	State   ResizeState
	Message string
	// Unsupported is true where the node does not say what running containers have: it changes no pod in place.
	Unsupported bool
}

// ResizeState is how far a change in place has come.
type ResizeState uint8

// States of changes in place.
const (
	// ResizeDone: the node says nothing more of it.
	ResizeDone ResizeState = iota
	// ResizeInProgress: the node carries it out, or has not looked at it yet.
	ResizeInProgress
	// ResizeFailing: the node cannot carry it out now, and goes on trying.
	ResizeFailing
	// ResizeDeferred: the node has no room now, and tries again.
	ResizeDeferred
	// ResizeInfeasible: the node will never carry it out.
	ResizeInfeasible
)

// Resizing is what has become of the pods of a target that are to be changed in place.
type Resizing struct {
	// Pods is how many there are, and Resized how many have what they are to have. InProgress, Deferred and Infeasible are for the node to
	// carry out, or not; Waiting have still to be changed.
	Pods, Resized, InProgress, Deferred, Infeasible, Waiting int
	// Message says why the first of them is not through; empty: nothing stands in the way.
	Message string
}

// Resources is what a container requests and is limited to: CPU in thousandths of a core, memory in bytes; zero: nothing, or no limit.
type Resources struct {
	CPU, Memory, CPULimit, MemoryLimit int64
}

// Container is a container of a pod that runs as long as the pod.
type Container struct {
	Name string
	// Resources are those that the spec of the pod asks for.
	Resources
	// RestartsForCPU and RestartsForMemory say that a change of the one or the other in place restarts it.
	RestartsForCPU, RestartsForMemory bool
	// Sidecar is true for an init container that runs beside the others.
	Sidecar bool
	// Restarts counts restarts. KilledAt is when it was killed last for lack of memory, in seconds since 1970; zero: never.
	Restarts, KilledAt int64
}

// Fleet is the pods of one target at one moment.
type Fleet struct {
	Pods []*Pod
	// Own is the field manager whose costs may be changed.
	Own string
	// Moved is when a pod came, went or changed its readiness last.
	Moved time.Time
}

// IsForeign says whether somebody else has set the cost of a pod.
func (f *Fleet) IsForeign(p *Pod) bool { return p.Writer != "" && p.Writer != f.Own }

// Change is a cost to be set on a pod.
type Change struct {
	Pod  *Pod
	Cost int32
}

// Plan is what is to be done about a fleet.
type Plan struct {
	// Changes come in the order in which they are worth most: the pods that are to go first come first.
	Changes []Change
	// Again is when time alone may change the answer; zero: never.
	Again time.Time
	// RollingOut says that nothing is changed because of a roll-out.
	RollingOut bool
}

// WakeAt brings Again forward to an instant.
func (p *Plan) WakeAt(t time.Time) {
	if p.Again.IsZero() || t.Before(p.Again) {
		p.Again = t
	}
}

// ParseCost reads a cost as the ReplicaSet controller does: what it cannot read, or what begins with a plus sign or a needless zero,
// counts as 0.
func ParseCost(text string) int32 {
	if text == "" || text[0] == '+' || (text[0] == '0' && text != "0") {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

// Class is what the ReplicaSet controller looks at before the cost: pods of a lower class are deleted first.
type Class uint8

// ClassReady is the class of running pods that are ready; every other one is lower.
const ClassReady Class = 7

// ClassOf is the class of a pod as it is now.
func ClassOf(p *Pod) Class {
	if !p.Assigned {
		return 0
	}
	c := Class(2 + 2*p.Phase)
	if p.Ready {
		c++
	}
	return c
}

// Groups lists the pods by the object that owns them, the oldest group first.
func (f *Fleet) Groups() [][]*Pod {
	by := map[string][]*Pod{}
	var names []string
	for _, p := range f.Pods {
		if by[p.Group] == nil {
			names = append(names, p.Group)
		}
		by[p.Group] = append(by[p.Group], p)
	}
	oldest := func(name string) int64 {
		return slices.MinFunc(by[name], func(a, b *Pod) int { return cmp.Compare(a.Created, b.Created) }).Created
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(oldest(a), oldest(b)), cmp.Compare(a, b)) })
	out := make([][]*Pod, len(names))
	for i, name := range names {
		out[i] = by[name]
	}
	return out
}

// Revisions counts the revisions that the pods are of.
func (f *Fleet) Revisions() int {
	seen := map[string]bool{}
	for _, p := range f.Pods {
		seen[p.Revision] = true
	}
	return len(seen)
}
