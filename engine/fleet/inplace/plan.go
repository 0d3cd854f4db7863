// Package inplace plans which pods of a target are changed in place, so that what their containers request is what it should be, and
// what is to be said of those that are changed already. It promises that no change takes a pod into another class of service, adds a
// request or a limit that it does not have, or restarts a second pod while another one is not ready.
package inplace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/engine/fleet"
)

// Want is what containers are to request and to be limited to, by their names. A number that is zero stays as it is.
type Want map[string]fleet.Resources

// Options say what the API server can do.
type Options struct {
	// KeepsMemoryLimits is true where a memory limit cannot be lowered without a restart of the container. None is changed then, since a
	// higher one could not be taken back.
	KeepsMemoryLimits bool
	// Unserved is true where it can change no pod in place.
	Unserved bool
}

// Refusals are changes that the API server has refused for good, by the UID of the pod.
type Refusals map[string]Refusal

// Refusal is a change that the API server has refused for good: the containers as they were to be, and what it said.
type Refusal struct {
	Containers []fleet.Container
	Why        string
}

// of says why a change was refused before; empty: it was not.
func (r Refusals) of(c Change) string {
	if before, found := r[c.Pod.UID]; found && slices.Equal(before.Containers, c.Containers) {
		return before.Why
	}
	return ""
}

// Change is one pod to be written: the containers that change, as they are to be.
type Change struct {
	Pod        *fleet.Pod
	Containers []fleet.Container
	// Restarts is true where a container is restarted by that, MoreMemory where one requests more memory.
	Restarts, MoreMemory bool
}

// Plan is what is to be done about the pods of a target, and what has become of them.
type Plan struct {
	// Changes are the pods to be written now.
	Changes []Change
	// Restarts is how many pods have still to be changed in a way that restarts containers of theirs.
	Restarts int
	// MoreMemory says that some pod is to request more memory.
	MoreMemory bool
	fleet.Resizing
}

// IsRestarting says whether changes that were made in place may still restart containers of a target, or have just done so: a container is
// restarted by such changes, and its pod is not through or not ready.
func IsRestarting(f *fleet.Fleet) bool {
	return slices.ContainsFunc(f.Pods, func(p *fleet.Pod) bool {
		return p.Resize.By == f.Own && isUnsettled(p) && slices.ContainsFunc(p.Containers, func(c fleet.Container) bool { return c.RestartsForCPU || c.RestartsForMemory })
	})
}

// For plans for the pods of a target. Pods that somebody else has changed in place are left alone.
func For(f *fleet.Fleet, want Want, o Options, refused Refusals) Plan {
	var p Plan
	pods := slices.Clone(f.Pods)
	slices.SortFunc(pods, func(a, b *fleet.Pod) int { return strings.Compare(a.Name, b.Name) })
	restarting := false
	for _, pod := range pods {
		p.Pods++
		if _, boosted := pod.Boosted(); boosted {
			p.Waiting++
			p.say(pod, "it has more CPU for its start")
			continue
		}
		change := changeOf(pod, want)
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

// GiveBack plans for pods that Flyball has changed and that are to have what their template asks for again. Those for which the API server would
// refuse that, or that were created with other requests and would be restarted by it, are kept as they are until they are replaced; kept says why.
func GiveBack(pods []*fleet.Pod, original Want, o Options, refused Refusals) (changes []Change, kept map[*fleet.Pod]string) {
	kept = map[*fleet.Pod]string{}
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

// keeps says why a pod is not given back by a change; empty: it is.
func (c *Change) keeps(o Options, refused Refusals) string {
	if why := cmp.Or(c.impossible(o), refused.of(*c)); why != "" {
		return why
	}
	if c.Pod.Resize.Made && c.Pod.Resize.By == "" && c.Restarts {
		return "it was created so, and a container would be restarted"
	}
	return ""
}

// Patience is how long a pod that is not ready keeps others from being given back.
const Patience = 10 * time.Minute

// InTurn is what of changes that give pods back is made now: of those that restart containers one, and none while another pod is not ready,
// unless that has been so for longer than Patience: what is to be given back does not wait for ever.
func InTurn(pods []*fleet.Pod, changes []Change, now time.Time) []Change {
	patient := slices.DeleteFunc(slices.Clone(pods), func(p *fleet.Pod) bool { return !p.Ready && now.Sub(time.Unix(p.Changed, 0)) > Patience })
	restarting := false
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool {
		if !c.Restarts {
			return false
		}
		waits := restarting || othersUnready(patient, c.Pod)
		restarting = restarting || !waits
		return waits
	})
}

// count counts a pod that has what it is to have, by what its node says of that.
func (p *Plan) count(pod *fleet.Pod) {
	switch pod.Resize.State {
	case fleet.ResizeDone:
		p.Resized++
		return
	case fleet.ResizeInProgress:
		p.InProgress++
		return
	case fleet.ResizeFailing:
		p.InProgress++
	case fleet.ResizeDeferred:
		p.Deferred++
	case fleet.ResizeInfeasible:
		p.Infeasible++
	}
	p.say(pod, pod.Resize.Message)
}

// say remembers why the first pod is not through.
func (p *Plan) say(pod *fleet.Pod, why string) {
	if p.Message == "" && why != "" {
		p.Message = fmt.Sprintf("pod %s: %s", pod.Name, why)
	}
}

// changeOf says which containers of a pod change, and to what. What the pod does not request, or is not limited to, is not added.
func changeOf(pod *fleet.Pod, want Want) Change {
	c := Change{Pod: pod}
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

// restarts says whether a change restarts the container.
func restarts(from, to fleet.Container) bool {
	return from.RestartsForCPU && (from.CPU != to.CPU || from.CPULimit != to.CPULimit) ||
		from.RestartsForMemory && (from.Memory != to.Memory || from.MemoryLimit != to.MemoryLimit)
}

// impossible says why the API server would refuse a change; empty: it would not.
func (c *Change) impossible(o Options) string {
	if o.Unserved {
		return "the API server does not serve pods/resize"
	}
	if c.Pod.Resize.Unsupported {
		return "its node does not support changes in place"
	}
	before, after := true, true
	for _, has := range c.Pod.Containers {
		next := has
		if i := slices.IndexFunc(c.Containers, func(n fleet.Container) bool { return n.Name == has.Name }); i >= 0 {
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

// isGuaranteed says whether a container is one by which a pod is of the class Guaranteed.
func isGuaranteed(r fleet.Resources) bool {
	return r.CPULimit > 0 && r.MemoryLimit > 0 && r.CPU == r.CPULimit && r.Memory == r.MemoryLimit
}

// othersUnready says whether a pod other than one is not ready, or may be restarted soon for a change that its node is about to carry out.
func othersUnready(pods []*fleet.Pod, but *fleet.Pod) bool {
	return slices.ContainsFunc(pods, func(p *fleet.Pod) bool { return p != but && isUnsettled(p) })
}

// isUnsettled says whether a pod is not ready, or its node is about to change it.
func isUnsettled(p *fleet.Pod) bool {
	return !p.Ready || p.Resize.State == fleet.ResizeInProgress || p.Resize.State == fleet.ResizeFailing
}
