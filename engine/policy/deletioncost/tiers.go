package deletioncost

import (
	"cmp"
	"slices"

	"flyball.dev/flyball/engine/workload"
)

const (
	// step is the distance between the new costs of two tiers. It leaves room for new tiers in between.
	step = 16
	// limit is the absolute cost beyond which all costs are assigned again.
	limit = 1 << 20
)

// tiered is a pod with a tier.
type tiered struct {
	pod  *workload.Pod
	tier int64
}

// inTiers returns the fewest changes after which the pods of each group are deleted in the order of their tiers: a
// lower tier has lower costs. A missing cost counts as 0.
func inTiers(f *workload.Fleet, tiersOf func([]*workload.Pod) []int64) []workload.CostChange {
	var changes []workload.CostChange
	for _, group := range f.Groups() {
		pods := plannable(f, group)
		all := make([]tiered, len(pods))
		for i, tier := range tiersOf(pods) {
			all[i] = tiered{pods[i], tier}
		}
		slices.SortFunc(all, func(a, b tiered) int {
			return cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(a.pod.Cost, b.pod.Cost), cmp.Compare(a.pod.Name, b.pod.Name))
		})
		costs, ok := between(all, longestKept(all))
		if !ok {
			costs = anew(all)
		}
		for i, t := range all {
			if t.pod.Cost != costs[i] {
				changes = append(changes, workload.CostChange{Pod: t.pod, Cost: costs[i]})
			}
		}
	}
	return changes
}

// longestKept marks a largest set of pods that can keep their costs, because these costs rise from tier to tier. Among
// equal sets it prefers written costs and older pods, so that new pods are changed.
func longestKept(all []tiered) []bool {
	// Two tiers must have no cost in common. So among pods of one cost, the higher tier is sorted first and cannot follow
	// the lower tier.
	compare := func(a, b tiered) int {
		return cmp.Or(cmp.Compare(a.pod.Cost, b.pod.Cost), cmp.Compare(b.tier, a.tier))
	}
	byCost := slices.Clone(all)
	slices.SortFunc(byCost, compare)
	byCost = slices.CompactFunc(byCost, func(a, b tiered) bool { return compare(a, b) == 0 })
	weights := worth(all)
	best := newHeaviest(len(byCost))
	before := make([]int, len(all))
	for i, t := range all {
		at, _ := slices.BinarySearchFunc(byCost, t, compare)
		sum, end := best.upTo(at)
		sum, before[i] = sum+weights[i], end
		best.put(at, sum, i)
	}
	_, last := best.upTo(len(byCost) - 1)
	kept := make([]bool, len(all))
	for i := last; i >= 0; i = before[i] {
		kept[i] = true
	}
	return kept
}

// worth returns the value of keeping each pod's cost. To keep one more pod always outweighs age and written costs.
func worth(all []tiered) []int64 {
	n := int64(len(all))
	byAge := make([]int, n)
	for i := range byAge {
		byAge[i] = i
	}
	slices.SortFunc(byAge, func(i, j int) int { return cmp.Compare(all[j].pod.Created, all[i].pod.Created) })
	out := make([]int64, n)
	for rank, i := range byAge {
		out[i] = 4*n*n + int64(rank)
		if all[i].pod.Writer != "" {
			out[i] += n
		}
	}
	return out
}

// heaviest has a sum for each position and finds the largest sum up to a position. It is a Fenwick tree of maxima.
type heaviest struct {
	sums []int64
	ends []int
}

func newHeaviest(n int) *heaviest {
	return &heaviest{sums: make([]int64, n+1), ends: make([]int, n+1)}
}

func (h *heaviest) upTo(at int) (sum int64, end int) {
	end = -1
	for i := at + 1; i > 0; i -= i & -i {
		if h.sums[i] > sum {
			sum, end = h.sums[i], h.ends[i]
		}
	}
	return sum, end
}

func (h *heaviest) put(at int, sum int64, end int) {
	for i := at + 1; i < len(h.sums); i += i & -i {
		if sum > h.sums[i] {
			h.sums[i], h.ends[i] = sum, end
		}
	}
}

// between assigns costs to the pods that are not kept. Such a pod gets the cost of a kept pod of its tier, or else a cost
// between those of the neighbouring tiers. between returns false if there is no room. At least one pod is kept.
func between(all []tiered, kept []bool) ([]int32, bool) {
	costs := make([]int32, len(all))
	floor := int64(-limit) // the largest cost of the tiers so far
	open := true           // true for the lowest tier
	for i := 0; i < len(all); {
		end := i
		for end < len(all) && all[end].tier == all[i].tier {
			end++
		}
		own := slices.IndexFunc(kept[i:end], func(k bool) bool { return k })
		var cost int64
		if own >= 0 {
			cost = int64(all[i+own].pod.Cost)
		} else if next := slices.Index(kept[end:], true); next < 0 {
			cost = floor + step
		} else {
			ceiling, room := int64(all[end+next].pod.Cost), int64(tiersIn(all[i:end+next]))
			if open {
				cost = ceiling - room*step
			} else {
				cost = floor + (ceiling-floor)/(room+1)
			}
			if cost <= floor {
				return nil, false
			}
		}
		if cost <= -limit || cost >= limit {
			return nil, false
		}
		for j := i; j < end; j++ {
			costs[j] = int32(cost)
			if kept[j] {
				costs[j] = all[j].pod.Cost
			}
			floor = max(floor, int64(costs[j]))
		}
		i, open = end, false
	}
	return costs, true
}

func tiersIn(all []tiered) int {
	n := 0
	for i := range all {
		if i == 0 || all[i].tier != all[i-1].tier {
			n++
		}
	}
	return n
}

// anew assigns costs from 0 downwards, the highest tier first.
func anew(all []tiered) []int32 {
	costs := make([]int32, len(all))
	left := tiersIn(all)
	for i := range all {
		if i == 0 || all[i].tier != all[i-1].tier {
			left--
		}
		costs[i] = int32(-left * step)
	}
	return costs
}
