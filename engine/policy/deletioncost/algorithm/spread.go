package algorithm

import (
	"cmp"
	"maps"
	"slices"

	"flyball.dev/flyball/engine/fleet"
)

// spread keeps the domains of a node label as even as they can be, however many pods are left.
//
// Each pod has a height in its domain, 1 to the number of pods there, and costs 1-height. So the highest layer goes first, over all
// domains, and with each layer every domain loses one pod. The classes that go before all others, whatever they cost, have the
// highest heights of their domain, one upon the other. Several groups are planned for jointly.
type spread struct{}

// slot is a pod at a height in a domain; a fixed one cannot be moved.
type slot struct {
	pod   *fleet.Pod
	fixed bool
}

// Tiers implements Algorithm, for what weighs it against others: pods go by their layer.
func (spread) Tiers(f *fleet.Fleet, pods []*fleet.Pod, p Params) []int64 {
	height := map[*fleet.Pod]int64{}
	for _, in := range byDomain(pods, p.SpreadBy[0]) {
		for i, s := range stack(f, in, p.SpreadBy[1:], fleet.ClassOf, nil) {
			height[s.pod] = int64(i + 1)
		}
	}
	tiers := make([]int64, len(pods))
	for i, pod := range pods {
		tiers[i] = -height[pod]
	}
	return tiers
}

func (spread) plan(f *fleet.Fleet, p Params, expected func(*fleet.Pod) fleet.Class) []fleet.Change {
	groups := f.Groups()
	if len(groups) > 1 {
		return jointly(f, groups, p.SpreadBy[0], expected)
	}
	var changes []fleet.Change
	for _, group := range groups {
		for _, in := range byDomain(group, p.SpreadBy[0]) {
			for i, s := range stack(f, in, p.SpreadBy[1:], expected, heightOf) {
				if cost := int32(-i); !s.fixed && s.pod.Cost != cost {
					changes = append(changes, fleet.Change{Pod: s.pod, Cost: cost})
				}
			}
		}
	}
	return changes
}

// heightOf is the height that the cost of a pod is that of; 0: of none.
func heightOf(p *fleet.Pod) int { return max(0, 1-int(p.Cost)) }

// byDomain sorts the pods of a group by the domain that they are in. Nodes without the label are one domain. Pods on no known node
// are left out.
func byDomain(group []*fleet.Pod, label string) map[string][]*fleet.Pod {
	out := map[string][]*fleet.Pod{}
	for _, p := range group {
		if d, ok := p.Domain(label); ok {
			out[d] = append(out[d], p)
		}
	}
	return out
}

// stack gives the pods of one domain their heights, the lowest first. A pod stays at the height that it has where that fits; height
// says which that is, 0 for none, and nil that no pod has one.
func stack(f *fleet.Fleet, in []*fleet.Pod, below []string, expected func(*fleet.Pod) fleet.Class, height func(*fleet.Pod) int) []slot {
	classes := map[fleet.Class][]*fleet.Pod{}
	for _, p := range in {
		c := expected(p)
		classes[c] = append(classes[c], p)
	}
	var slots []slot
	for _, c := range slices.Backward(slices.Sorted(maps.Keys(classes))) {
		pods := classes[c]
		slices.SortFunc(pods, stayers)
		part := make([]slot, len(pods))
		first := len(slots) + 1
		placeForeignIn(part, f, pods, first, height)
		keepHeightsIn(part, f, pods, first, height)
		fillGapsIn(part, pods, slots, below)
		slots = append(slots, part...)
		evenOutIn(slots, first-1, below)
	}
	return slots
}

// stayers orders pods by what they would do without costs: what was made first stays longest.
func stayers(a, b *fleet.Pod) int {
	return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.Changed, b.Changed), cmp.Compare(a.Restarts, b.Restarts), cmp.Compare(a.Name, b.Name))
}

// placeForeignIn puts the pods whose costs are of others where they go anyway. The lowest height of part is first.
func placeForeignIn(part []slot, f *fleet.Fleet, pods []*fleet.Pod, first int, height func(*fleet.Pod) int) {
	foreign := slices.DeleteFunc(slices.Clone(pods), func(p *fleet.Pod) bool { return !f.IsForeign(p) })
	slices.SortStableFunc(foreign, func(a, b *fleet.Pod) int { return cmp.Compare(b.Cost, a.Cost) })
	next := 0
	for i, p := range foreign {
		last := len(part) - (len(foreign) - i) // the others need a place as well
		at := next
		if height != nil && p.Cost <= 0 {
			at = min(max(next, height(p)-first), last)
		}
		part[at] = slot{p, true}
		next = at + 1
	}
}

// keepHeightsIn leaves pods where they are. Of several at one height, the one that has a cost already stays.
func keepHeightsIn(part []slot, f *fleet.Fleet, pods []*fleet.Pod, first int, height func(*fleet.Pod) int) {
	if height == nil {
		return
	}
	for _, written := range []bool{true, false} {
		for _, p := range pods {
			if f.IsForeign(p) || written != (p.Writer != "") {
				continue
			}
			if i := height(p) - first; i >= 0 && i < len(part) && part[i].pod == nil {
				part[i].pod = p
			}
		}
	}
}

// fillGapsIn gives the heights that are left to the pods that have none, from the bottom up: what stays longest first, and with more labels a
// pod from where the fewest are below. under are the heights below it.
func fillGapsIn(part []slot, pods []*fleet.Pod, under []slot, below []string) {
	placed := map[*fleet.Pod]bool{}
	for _, s := range part {
		placed[s.pod] = true
	}
	left := slices.DeleteFunc(slices.Clone(pods), func(p *fleet.Pod) bool { return placed[p] })
	count := newCounts(below)
	for _, s := range under {
		count.add(s.pod)
	}
	for i := range part {
		if part[i].pod == nil {
			best := 0
			for j := range left {
				if len(below) == 0 {
					break
				}
				if count.compare(left[j], left[best]) < 0 {
					best = j
				}
			}
			part[i].pod = left[best]
			left = slices.Delete(left, best, best+1)
		}
		count.add(part[i].pod)
	}
}

// evenOutIn swaps pods of one class so that further labels are even too, give or take one pod more: each swap costs two writes. It
// leaves the slots before the index given as they are.
func evenOutIn(slots []slot, from int, below []string) {
	if len(below) == 0 {
		return
	}
	count, above := newCounts(below[:1]), map[string]int{}
	for _, s := range slots[:from] {
		count.add(s.pod)
	}
	for _, s := range slots[from:] {
		above[count.domain(0, s.pod)]++
	}
	for i := from; i < len(slots); i++ {
		here := count.domain(0, slots[i].pod)
		fewest := here
		for d, n := range above {
			if n > 0 && (count.of[0][d] < count.of[0][fewest] || count.of[0][d] == count.of[0][fewest] && d < fewest) {
				fewest = d
			}
		}
		if !slots[i].fixed && count.of[0][here] > count.of[0][fewest]+1 {
			j := i + slices.IndexFunc(slots[i:], func(s slot) bool { return !s.fixed && count.domain(0, s.pod) == fewest })
			if j > i {
				slots[i].pod, slots[j].pod = slots[j].pod, slots[i].pod
			}
		}
		above[count.domain(0, slots[i].pod)]--
		count.add(slots[i].pod)
	}
}

// counts is how many pods are in each domain of several labels.
type counts struct {
	labels []string
	of     []map[string]int
}

func newCounts(labels []string) *counts {
	c := &counts{labels: labels, of: make([]map[string]int, len(labels))}
	for i := range labels {
		c.of[i] = map[string]int{}
	}
	return c
}

func (c *counts) domain(i int, p *fleet.Pod) string {
	d, _ := p.Domain(c.labels[i])
	return d
}

func (c *counts) add(p *fleet.Pod) {
	for i := range c.labels {
		c.of[i][c.domain(i, p)]++
	}
}

// compare orders pods by how many are in their domains already.
func (c *counts) compare(a, b *fleet.Pod) int {
	for i := range c.labels {
		if d := cmp.Compare(c.of[i][c.domain(i, a)], c.of[i][c.domain(i, b)]); d != 0 {
			return d
		}
	}
	return 0
}
