package workload

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// CostAnnotation is the annotation that the ReplicaSet controller reads: of two equally ready pods, it deletes the pod
// with the lower cost first.
const CostAnnotation = "controller.kubernetes.io/pod-deletion-cost"

// PodPhase is the phase of a pod in the order in which the ReplicaSet controller deletes.
type PodPhase uint8

// Phases of pods that a controller counts. A finished pod is no member of a Fleet.
const (
	PodPending PodPhase = iota
	PodUnknown
	PodRunning
)

// Node is a node of the cluster.
type Node struct {
	Name string
	// Labels holds the labels that some policy uses.
	Labels map[string]string
	// Taints are the keys of the taints that keep pods away or drive them away.
	Taints []string
	// Deleting is true once the node has a deletion timestamp.
	Deleting bool
	// Pods is the number of pods on the node that a controller could start on another node.
	Pods int
}

// Pod is an active pod of a target: neither finished nor being deleted.
type Pod struct {
	Namespace, Name, UID string
	// Version is the resourceVersion of the read pod.
	Version string
	// Assigned is true once the pod has a node. Node is nil while the node is unknown.
	Assigned bool
	Node     *Node
	// Group is the object that owns the pod directly and deletes its pods, such as a ReplicaSet.
	Group string
	// Revision distinguishes pods of different templates.
	Revision string
	Phase    PodPhase
	Ready    bool
	// Changed is the time of the last change of Ready. Created is the time of the pod's creation. Both are in seconds
	// since 1970; zero: unknown.
	Changed, Created int64
	// Restarts is the highest count of restarts among its containers.
	Restarts int64
	// Cost is the cost in force; 0 if the pod has none or an unreadable cost.
	Cost int32
	// Writer is the field manager that has set the cost; empty: none.
	Writer string
	// Containers are the containers of the pod, if a policy needs them, with the state of the last change of their
	// resources in place.
	Containers []Container
	Resize     Resize
}

// Add adds the counts of another target's pods.
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

// Resize is the state of the last change of a pod's resources in place.
type Resize struct {
	// By is the field manager of the change; empty: none.
	By string
	// Made is true if Flyball created the pod with other requests than its template's.
	Made bool
	// Boost is the note of the boost on the pod; empty: none.
	Boost string
	// State is the state that the node reports. Message is the reason of the state.
	State   ResizeState
	Message string
	// Unsupported is true if the node does not report the resources of running containers: it changes no pod in place.
	Unsupported bool
}

// LongestBoost is the largest length in bytes of a note on a boost.
const LongestBoost = 1024

// UntilReady is the Until of a boost that ends once the pod is ready.
const UntilReady = "Ready"

// ResizeState is the progress of a change in place.
type ResizeState uint8

// States of changes in place.
const (
	// ResizeDone: the node reports no further work.
	ResizeDone ResizeState = iota
	// ResizeInProgress: the node carries the change out, or has not looked at it yet.
	ResizeInProgress
	// ResizeFailing: the node cannot carry the change out now, and keeps trying.
	ResizeFailing
	// ResizeDeferred: the node has no room now, and tries again.
	ResizeDeferred
	// ResizeInfeasible: the node will never carry the change out.
	ResizeInfeasible
)

// Resizing counts the pods of a target by the progress of their change in place.
type Resizing struct {
	// Pods is the number of all pods. Resized is the number of pods with the wanted resources. InProgress and Deferred
	// count the pods that wait for their node. Infeasible counts the pods that cannot be changed. Waiting counts the
	// pods that are not changed yet.
	Pods, Resized, InProgress, Deferred, Infeasible, Waiting int
	// Message is the reason why the first pod is not done; empty: none.
	Message string
}

// Resources has the requests and limits of a container: CPU in thousandths of a core, memory in bytes; zero: no
// request, or no limit.
type Resources struct {
	CPU, Memory, CPULimit, MemoryLimit int64
}

// Container is a container that runs as long as its pod.
type Container struct {
	Name string
	// Resources are the requests and limits in the pod's spec.
	Resources
	// RestartsForCPU and RestartsForMemory report whether a change of the resource in place restarts the container.
	RestartsForCPU, RestartsForMemory bool
	// Sidecar is true for an init container that runs beside the others.
	Sidecar bool
	// Restarts is the number of restarts. KilledAt is the time of the last kill for lack of memory, in seconds since
	// 1970; zero: never.
	Restarts, KilledAt int64
}

// Fleets returns the pods of targets.
type Fleets interface {
	// Fleet returns the active pods of a target; false: not everything is known yet.
	Fleet(ref Ref) (*Fleet, bool)
}

// Fleet has the pods of a target at one moment.
type Fleet struct {
	Pods []*Pod
	// Own is the name of Flyball's field manager. Costs of other managers are not changed.
	Own string
	// Moved is the last time when a pod came, went or changed its readiness.
	Moved time.Time
}

// IsForeign reports whether a different writer has set the cost of a pod.
func (f *Fleet) IsForeign(p *Pod) bool { return p.Writer != "" && p.Writer != f.Own }

// CostChange is a cost to set on a pod.
type CostChange struct {
	Pod  *Pod
	Cost int32
}

// CostPlan has the changes of a fleet.
type CostPlan struct {
	// Changes has the pods to be deleted first at the beginning.
	Changes []CostChange
	// Again is the time at which the plan may change without a change of a pod; zero: never.
	Again time.Time
	// RollingOut is true if a roll-out prevents changes.
	RollingOut bool
}

// WakeAt brings Again forward to an instant.
func (p *CostPlan) WakeAt(t time.Time) {
	if p.Again.IsZero() || t.Before(p.Again) {
		p.Again = t
	}
}

// ParseCost parses a cost as the ReplicaSet controller does: an unreadable text, a plus sign or a leading zero counts
// as 0.
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

// PodClass is the rank of a pod before its cost counts: the ReplicaSet controller deletes pods of a lower class first.
type PodClass uint8

// PodClassReady is the class of ready running pods, the highest.
const PodClassReady PodClass = 7

// PodClassOf returns the present class of a pod.
func PodClassOf(p *Pod) PodClass {
	if !p.Assigned {
		return 0
	}
	c := PodClass(2 + 2*p.Phase)
	if p.Ready {
		c++
	}
	return c
}

// Groups returns the pods by their owning object, the oldest group first.
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

// Revisions returns the number of revisions among the pods.
func (f *Fleet) Revisions() int {
	seen := map[string]bool{}
	for _, p := range f.Pods {
		seen[p.Revision] = true
	}
	return len(seen)
}
