package algorithm

import (
	"cmp"
	"slices"

	"flyball.dev/flyball/engine/fleet"
)

// keep gives the orders by which pods go with the costs in force. Pods that have none yet, or the same as another one, get costs below all
// others. Orders are nil where costs would leave their bounds: from 0 down to minus twice the number of pods of a group.
func (j *joint) keep() (changes []fleet.Change, orders []*chain) {
	for i, group := range j.groups {
		kept, fresh := j.inOrder(group)
		lowest := int32(0)
		if len(kept) > 0 {
			lowest = kept[0].Cost
		}
		slices.SortFunc(fresh, stayers)
		for _, p := range fresh {
			lowest--
			changes = append(changes, fleet.Change{Pod: p, Cost: lowest})
		}
		if lowest < -2*int32(len(group)) || len(kept) > 0 && kept[len(kept)-1].Cost > 0 {
			return nil, nil
		}
		slices.Reverse(fresh)
		queues := map[fleet.Class][]int{}
		for _, p := range append(fresh, kept...) {
			c := j.expected(p)
			queues[c] = append(queues[c], j.domainOf(p))
		}
		orders = append(orders, j.lanes[i].chainOf(queues))
	}
	return changes, orders
}

// inOrder sorts the pods of a group by their costs. Those are fresh that have no cost of their own: of several with one cost, the one that has
// been given it, or was made first, has it.
func (j *joint) inOrder(group []*fleet.Pod) (kept, fresh []*fleet.Pod) {
	pods := plannable(j.f, group)
	slices.SortFunc(pods, func(a, b *fleet.Pod) int {
		return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(b.Writer, a.Writer), stayers(a, b))
	})
	for _, p := range pods {
		if len(kept) > 0 && kept[len(kept)-1].Cost == p.Cost {
			fresh = append(fresh, p)
			continue
		}
		kept = append(kept, p)
	}
	return kept, fresh
}

// chainOf has the pods of a lane go in the order given for each class.
func (l *lane) chainOf(queues map[fleet.Class][]int) *chain {
	stages := slices.DeleteFunc(slices.Clone(l.stages), func(s stage) bool { return sum(s.free) == 0 })
	next := 0
	return l.chain(func(int, []int, []int) int {
		queue := queues[stages[0].class]
		domain := queue[next]
		if next++; next == len(queue) {
			stages, next = stages[1:], 0
		}
		return domain
	})
}

// assign gives each seat a pod and a cost, from 0 for the last one downwards. A pod that has the cost of a seat that it may take keeps it.
func (j *joint) assign(group []*fleet.Pod, seats []seat) []fleet.Change {
	waiting, free := map[seat][]*fleet.Pod{}, map[seat][]int32{}
	for _, p := range plannable(j.f, group) {
		at := seat{j.expected(p), j.domainOf(p)}
		waiting[at] = append(waiting[at], p)
	}
	for i, at := range slices.Backward(seats) {
		free[at] = append(free[at], int32(i+1-len(seats)))
	}
	var changes []fleet.Change
	for at, costs := range free {
		pods := waiting[at]
		slices.SortFunc(pods, func(a, b *fleet.Pod) int { return cmp.Or(cmp.Compare(b.Writer, a.Writer), stayers(a, b)) })
		pods = slices.DeleteFunc(pods, func(p *fleet.Pod) bool {
			i := slices.Index(costs, p.Cost)
			if i >= 0 {
				costs = slices.Delete(costs, i, i+1)
			}
			return i >= 0
		})
		slices.SortFunc(pods, stayers)
		for i, p := range pods {
			changes = append(changes, fleet.Change{Pod: p, Cost: costs[i]})
		}
	}
	return changes
}
