package podsize

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// Sizes has the wanted requests and limits of containers by name. Zero keeps a value.
type Sizes map[string]workload.Resources

// ResizeOptions describe the abilities of the API server.
type ResizeOptions struct {
	// KeepsMemoryLimits is true if a memory limit cannot be lowered without a restart of the container. Then no memory
	// limit is changed, because a higher limit could not be restored.
	KeepsMemoryLimits bool
	// Unserved is true if the API server can change no pod in place.
	Unserved bool
}

// Refusals are the permanently refused changes, by the UID of the pod.
type Refusals map[string]Refusal

// Refusal is a permanently refused change: the wanted containers, and the answer of the API server.
type Refusal struct {
	Containers []workload.Container
	Why        string
}

// of returns the reason of an earlier refusal of the same change, or "".
func (r Refusals) of(c ResizeChange) string {
	if before, found := r[c.Pod.UID]; found && slices.Equal(before.Containers, c.Containers) {
		return before.Why
	}
	return ""
}

// ResizeChange is a write to a pod, with the containers that change.
type ResizeChange struct {
	Pod        *workload.Pod
	Containers []workload.Container
	// Restarts is true if the change restarts a container. MoreMemory is true if a container requests more memory.
	Restarts, MoreMemory bool
}

// ResizePlan has the changes of a target's pods, and the progress of earlier changes.
type ResizePlan struct {
	// Changes are the pods to write now.
	Changes []ResizeChange
	// Restarts is the number of pods with remaining changes that restart containers.
	Restarts int
	// MoreMemory is true if some pod is to request more memory.
	MoreMemory bool
	workload.Resizing
}

// IsRestarting reports whether earlier changes in place still restart containers of a target, or have just done so:
// such changes restart a container, and its pod is still being changed or not ready.
func IsRestarting(f *workload.Fleet) bool {
	return slices.ContainsFunc(f.Pods, func(p *workload.Pod) bool {
		return p.Resize.By == f.Own && isUnsettled(p) && slices.ContainsFunc(p.Containers,
			func(c workload.Container) bool { return c.RestartsForCPU || c.RestartsForMemory })
	})
}

// PlanResizes returns the plan for the pods of a target. Pods that a different writer has changed in place are left alone.
func PlanResizes(f *workload.Fleet, want Sizes, o ResizeOptions, refused Refusals) ResizePlan {
	var p ResizePlan
	pods := slices.Clone(f.Pods)
	slices.SortFunc(pods, func(a, b *workload.Pod) int { return strings.Compare(a.Name, b.Name) })
	restarting := false
	for _, pod := range pods {
		p.Pods++
		change := changeOf(pod, want)
		// A pod that is short of memory may never become ready. So its change does not wait for the end of its boost,
		// and ends the boost.
		if _, boosted := Boosted(pod); boosted && !change.MoreMemory {
			p.Waiting++
			p.say(pod, "it has more CPU for its start")
			continue
		}
		why := cmp.Or(change.impossible(o), refused.of(change))
		switch {
		case len(change.Containers) == 0:
			p.count(pod)
		case pod.Resize.By != "" && pod.Resize.By != f.Own:
			p.Infeasible++
			p.say(pod, "its requests are changed in place by "+pod.Resize.By)
		case why != "":
			p.Infeasible++
			p.say(pod, why)
		case change.Restarts && (restarting || othersUnready(pods, pod)):
			p.Waiting++
			p.Restarts++
			p.say(pod, "its container is restarted by the change, and that waits for the other pods to be ready")
		default:
			if change.Restarts {
				p.Restarts++
			}
			restarting, p.MoreMemory = restarting || change.Restarts, p.MoreMemory || change.MoreMemory
			p.Waiting++
			p.Changes = append(p.Changes, change)
		}
	}
	return p
}

// RestoreSizes returns the changes that restore pods to the requests of their template. A pod stays as it is until its
// replacement if the API server would refuse the change, or if the pod was created with other requests and would be
// restarted; kept lists the reasons of the pods that stay.
func RestoreSizes(pods []*workload.Pod, original Sizes, o ResizeOptions, refused Refusals) (changes []ResizeChange,
	kept map[*workload.Pod]string) {
	kept = map[*workload.Pod]string{}
	for _, pod := range pods {
		c := changeOf(pod, original)
		if len(c.Containers) == 0 {
			continue
		}
		if why := c.keeps(o, refused); why != "" {
			kept[pod] = why
			continue
		}
		changes = append(changes, c)
	}
	return changes, kept
}

// keeps returns the reason why a pod keeps its requests in spite of this change, or "" if the change can be made.
func (c *ResizeChange) keeps(o ResizeOptions, refused Refusals) string {
	if why := cmp.Or(c.impossible(o), refused.of(*c)); why != "" {
		return why
	}
	if c.Pod.Resize.Made && c.Pod.Resize.By == "" && c.Restarts {
		return "it was created so, and a container would be restarted"
	}
	return ""
}

// ResizePatience is the time after which a pod that is not ready no longer delays the restore of others.
const ResizePatience = 10 * time.Minute

// InTurn returns the restoring changes to make now. At most one of them restarts containers, and none does while
// another pod is not ready. A pod that has not been ready for longer than ResizePatience is ignored.
func InTurn(pods []*workload.Pod, changes []ResizeChange, now time.Time) []ResizeChange {
	patient := slices.DeleteFunc(slices.Clone(pods), func(p *workload.Pod) bool {
		return !p.Ready &&
			now.Sub(time.Unix(p.Changed, 0)) > ResizePatience
	})
	restarting := false
	return slices.DeleteFunc(slices.Clone(changes), func(c ResizeChange) bool {
		if !c.Restarts {
			return false
		}
		waits := restarting || othersUnready(patient, c.Pod)
		restarting = restarting || !waits
		return waits
	})
}

// count counts a pod without changes by the conditions that its node reports.
func (p *ResizePlan) count(pod *workload.Pod) {
	switch pod.Resize.State {
	case workload.ResizeDone:
		p.Resized++
		return
	case workload.ResizeInProgress:
		p.InProgress++
		return
	case workload.ResizeFailing:
		p.InProgress++
	case workload.ResizeDeferred:
		p.Deferred++
	case workload.ResizeInfeasible:
		p.Infeasible++
	}
	p.say(pod, pod.Resize.Message)
}

// say sets the message of the plan: the first pod with a reason, and the reason. Later pods do not change it.
func (p *ResizePlan) say(pod *workload.Pod, why string) {
	if p.Message == "" && why != "" {
		p.Message = fmt.Sprintf("pod %s: %s", pod.Name, why)
	}
}

// changeOf returns the change of a pod. Missing requests and limits are not added.
func changeOf(pod *workload.Pod, want Sizes) ResizeChange {
	c := ResizeChange{Pod: pod}
	for _, has := range pod.Containers {
		to, wanted := want[has.Name]
		if !wanted {
			continue
		}
		next := has
		for _, n := range []struct {
			is *int64
			to int64
		}{{&next.CPU, to.CPU}, {&next.Memory, to.Memory}, {&next.CPULimit, to.CPULimit}, {&next.MemoryLimit, to.MemoryLimit}} {
			if n.to > 0 && *n.is > 0 {
				*n.is = n.to
			}
		}
		if next.Resources == has.Resources {
			continue
		}
		c.Restarts, c.MoreMemory = c.Restarts || restarts(has, next), c.MoreMemory || next.Memory > has.Memory
		c.Containers = append(c.Containers, next)
	}
	return c
}

// restarts reports whether a change restarts the container.
func restarts(from, to workload.Container) bool {
	return from.RestartsForCPU && (from.CPU != to.CPU || from.CPULimit != to.CPULimit) ||
		from.RestartsForMemory && (from.Memory != to.Memory || from.MemoryLimit != to.MemoryLimit)
}

// impossible returns the reason why the API server would refuse a change, or "".
func (c *ResizeChange) impossible(o ResizeOptions) string {
	if o.Unserved {
		return "the API server does not serve pods/resize"
	}
	if c.Pod.Resize.Unsupported {
		return "its node does not support changes in place"
	}
	before, after := true, true
	for _, has := range c.Pod.Containers {
		next := has
		if i := slices.IndexFunc(c.Containers, func(n workload.Container) bool { return n.Name == has.Name }); i >= 0 {
			next = c.Containers[i]
		}
		before, after = before && isGuaranteed(has.Resources), after && isGuaranteed(next.Resources)
		switch {
		case next.CPULimit > 0 && next.CPU > next.CPULimit:
			return "its container " + has.Name + " has a CPU limit below the request, which is not of the template"
		case next.MemoryLimit > 0 && next.Memory > next.MemoryLimit:
			return "its container " + has.Name + " has a memory limit below the request, which is not of the template"
		case o.KeepsMemoryLimits && next.MemoryLimit != has.MemoryLimit && !has.RestartsForMemory:
			return "the API server cannot lower the memory limit of the container " + has.Name + " in place again"
		}
	}
	if before != after {
		return "the change would take it into another class of service"
	}
	return ""
}

// isGuaranteed reports whether a container fits the class Guaranteed.
func isGuaranteed(r workload.Resources) bool {
	return r.CPULimit > 0 && r.MemoryLimit > 0 && r.CPU == r.CPULimit && r.Memory == r.MemoryLimit
}

// othersUnready reports whether another pod is not ready, or may be restarted soon by a change that its node is about
// to carry out.
func othersUnready(pods []*workload.Pod, but *workload.Pod) bool {
	return slices.ContainsFunc(pods, func(p *workload.Pod) bool { return p != but && isUnsettled(p) })
}

// isUnsettled reports whether a pod is not ready, or its node is about to change it.
func isUnsettled(p *workload.Pod) bool {
	return !p.Ready || p.Resize.State == workload.ResizeInProgress || p.Resize.State == workload.ResizeFailing
}
