package deletioncost

import (
	"cmp"
	"maps"
	"slices"

	"flyball.dev/flyball/engine/workload"
)

// jointly assigns costs to the pods of several groups, so the domains stay even over all groups. It assumes that a
// Deployment is scaled down in small steps. Each step deletes a pod from the largest ReplicaSet, or from the older one of
// two equal ReplicaSets. The planned pod is in the domain with the most pods over all groups. Only the first label counts,
// and each pod of a group has a different cost.
func jointly(f *workload.Fleet, groups [][]*workload.Pod, label string,
	expected func(*workload.Pod) workload.PodClass) []workload.CostChange {
	total := map[string]int{}
	for _, p := range f.Pods {
		if d, ok := p.Domain(label); ok {
			total[d]++
		}
	}
	all := make([]*sequence, len(groups))
	for i, group := range groups {
		all[i] = newSequence(plannable(f, group), label, expected)
	}
	for {
		largest := slices.MaxFunc(all, func(a, b *sequence) int { return cmp.Compare(a.left, b.left) })
		if largest.left == 0 {
			break
		}
		largest.takeFrom(total)
	}
	var changes []workload.CostChange
	for _, s := range all {
		changes = append(changes, s.assign()...)
	}
	return changes
}

// seat is one position in the deletion order of a group. Any pod of its class and its domain can take it.
type seat struct {
	class  workload.PodClass
	domain string
}

// sequence is the deletion order of a group.
type sequence struct {
	pods map[seat][]*workload.Pod
	// classes are the classes of pods without a seat, in deletion order. waiting counts these pods by class and domain.
	classes []workload.PodClass
	waiting map[workload.PodClass]map[string]int
	left    int
	seats   []seat
}

func newSequence(group []*workload.Pod, label string, expected func(*workload.Pod) workload.PodClass) *sequence {
	s := &sequence{pods: map[seat][]*workload.Pod{}, waiting: map[workload.PodClass]map[string]int{}, left: len(group)}
	for _, p := range group {
		d, _ := p.Domain(label)
		c := expected(p)
		s.pods[seat{c, d}] = append(s.pods[seat{c, d}], p)
		if s.waiting[c] == nil {
			s.waiting[c] = map[string]int{}
		}
		s.waiting[c][d]++
	}
	s.classes = slices.Sorted(maps.Keys(s.waiting))
	return s
}

// takeFrom adds one seat. The seat is of the first class, in the domain with the most pods. takeFrom decrements the
// domain's count in total.
func (s *sequence) takeFrom(total map[string]int) {
	c := s.classes[0]
	in := s.waiting[c]
	d := slices.MinFunc(slices.Collect(maps.Keys(in)), func(a, b string) int {
		return cmp.Or(cmp.Compare(total[b], total[a]), cmp.Compare(in[b], in[a]), cmp.Compare(a, b))
	})
	s.seats = append(s.seats, seat{c, d})
	total[d]--
	s.left--
	if in[d]--; in[d] == 0 {
		delete(in, d)
	}
	if len(in) == 0 {
		s.classes = s.classes[1:]
	}
}

// assign assigns a pod and a cost to each seat. The last seat gets the cost 0, and each earlier seat a lower cost. A pod
// keeps its cost if a seat that fits it has this cost.
func (s *sequence) assign() []workload.CostChange {
	free := map[seat][]int32{}
	for i, at := range slices.Backward(s.seats) {
		free[at] = append(free[at], int32(i+1-len(s.seats)))
	}
	var changes []workload.CostChange
	for at, costs := range free {
		pods := s.pods[at]
		slices.SortFunc(pods, func(a, b *workload.Pod) int { return cmp.Or(cmp.Compare(b.Writer, a.Writer), stayers(a, b)) })
		pods = slices.DeleteFunc(pods, func(p *workload.Pod) bool {
			i := slices.Index(costs, p.Cost)
			if i >= 0 {
				costs = slices.Delete(costs, i, i+1)
			}
			return i >= 0
		})
		slices.SortFunc(pods, stayers)
		for i, p := range pods {
			changes = append(changes, workload.CostChange{Pod: p, Cost: costs[i]})
		}
	}
	return changes
}
