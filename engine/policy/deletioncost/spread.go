package deletioncost

import (
	"cmp"
	"maps"
	"slices"

	"flyball.dev/flyball/engine/workload"
)

// spread keeps the domains of a node label as even as possible for any number of remaining pods.
//
// Each pod has a height in its domain, from 1 to the number of pods there, and costs 1-height. So the highest layer of
// all domains is deleted first, and with each layer every domain loses one pod. Pods of classes that are deleted first
// regardless of cost have the greatest heights. Several groups are planned jointly.
type spread struct{}

// slot is a pod at a height in a domain; a fixed pod cannot be moved.
type slot struct {
	pod   *workload.Pod
	fixed bool
}

// Tiers implements Algorithm, for use in Weighted: the tier of a pod is its layer.
func (spread) Tiers(f *workload.Fleet, pods []*workload.Pod, p Params) []int64 {
	layer := map[*workload.Pod]int64{}
	for _, in := range byDomain(pods, p.SpreadBy[0]) {
		for i, s := range stack(f, in, p.SpreadBy[1:], workload.PodClassOf, nil) {
			layer[s.pod] = int64(-i)
		}
	}
	tiers := make([]int64, len(pods))
	for i, pod := range pods {
		tiers[i] = layer[pod]
	}
	return tiers
}

// planSpread assigns the costs of all groups, which must be comparable across groups.
func planSpread(f *workload.Fleet, p Params, expected func(*workload.Pod) workload.PodClass) []workload.CostChange {
	groups := f.Groups()
	if len(groups) > 1 {
		return jointly(f, groups, p.SpreadBy[0], expected)
	}
	var changes []workload.CostChange
	for _, group := range groups {
		for _, in := range byDomain(group, p.SpreadBy[0]) {
			for i, s := range stack(f, in, p.SpreadBy[1:], expected, heightOf) {
				if cost := int32(-i); !s.fixed && s.pod.Cost != cost {
					changes = append(changes, workload.CostChange{Pod: s.pod, Cost: cost})
				}
			}
		}
	}
	return changes
}

// heightOf returns the height that corresponds to a pod's cost; 0: no height corresponds to it.
func heightOf(p *workload.Pod) int { return max(0, 1-int(p.Cost)) }

// byDomain returns the pods of a group by domain. Nodes without the label form one domain. Pods without a known node
// are left out.
func byDomain(group []*workload.Pod, label string) map[string][]*workload.Pod {
	out := map[string][]*workload.Pod{}
	for _, p := range group {
		if d, ok := p.Domain(label); ok {
			out[d] = append(out[d], p)
		}
	}
	return out
}

// stack assigns heights to the pods of one domain, from the lowest height upwards. Within the domain, the domains of the
// further labels in below are as even as possible. A pod keeps its current height if possible. height returns the current
// height, or 0 if the pod has none; a nil height means that no pod has a height.
func stack(f *workload.Fleet, in []*workload.Pod, below []string, expected func(*workload.Pod) workload.PodClass,
	height func(*workload.Pod) int) []slot {
	classes := map[workload.PodClass][]*workload.Pod{}
	for _, p := range in {
		c := expected(p)
		classes[c] = append(classes[c], p)
	}
	var slots []slot
	for _, c := range slices.Backward(slices.Sorted(maps.Keys(classes))) {
		pods := classes[c]
		slices.SortFunc(pods, stayers)
		part, first := make([]slot, len(pods)), len(slots)+1
		placeForeignIn(part, f, pods, first, height)
		var fixed, own []*workload.Pod
		for _, s := range slots {
			fixed = append(fixed, s.pod)
		}
		for _, p := range pods {
			if f.IsForeign(p) {
				fixed = append(fixed, p)
			} else {
				own = append(own, p)
			}
		}
		t := newTier(part, own, first, height)
		t.fill(t.free(), own, fixed, below)
		slots = append(slots, part...)
	}
	return slots
}

// stayers orders pods as the controller does without costs: older pods stay longer.
func stayers(a, b *workload.Pod) int {
	return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.Changed, b.Changed), cmp.Compare(a.Restarts, b.Restarts),
		cmp.Compare(a.Name, b.Name))
}

// placeForeignIn puts pods with foreign costs at the heights of their costs. first is the lowest height of part.
func placeForeignIn(part []slot, f *workload.Fleet, pods []*workload.Pod, first int, height func(*workload.Pod) int) {
	foreign := slices.DeleteFunc(slices.Clone(pods), func(p *workload.Pod) bool { return !f.IsForeign(p) })
	slices.SortStableFunc(foreign, func(a, b *workload.Pod) int { return cmp.Compare(b.Cost, a.Cost) })
	next := 0
	for i, p := range foreign {
		last := len(part) - (len(foreign) - i) // leave places for the remaining foreign pods
		at := next
		if height != nil {
			at = min(max(next, height(p)-first), last)
		}
		part[at] = slot{p, true}
		next = at + 1
	}
}
