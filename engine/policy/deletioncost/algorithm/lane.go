package algorithm

import (
	"cmp"
	"maps"
	"slices"

	"flyball.dev/flyball/engine/fleet"
)

// nowhere stands for the domain of a pod that is on no known node.
const nowhere = -1

// lane is what may go of one group, and when: the stages go one after the other.
type lane struct {
	stages []stage
	size   int
	// full is how many pods the group has in each domain.
	full []int
}

// stage is a part of a group. Of a fixed one it is known in which order its pods go; of another one, any pod may go next.
type stage struct {
	class fleet.Class
	fixed []int
	// free is how many pods are in each domain.
	free []int
}

// newLane sorts the pods of a group into stages. Pods whose cost may not be set go first in their class if it is below 0 and last
// otherwise: the costs that are given are small.
func newLane(f *fleet.Fleet, group []*fleet.Pod, domainOf func(*fleet.Pod) int, domains int, expected func(*fleet.Pod) fleet.Class) *lane {
	l := &lane{size: len(group), full: make([]int, domains)}
	classes := map[fleet.Class][]*fleet.Pod{}
	for _, p := range group {
		classes[expected(p)] = append(classes[expected(p)], p)
		if d := domainOf(p); d != nowhere {
			l.full[d]++
		}
	}
	for _, c := range slices.Sorted(maps.Keys(classes)) {
		before, between, after := stage{class: c}, stage{class: c, free: make([]int, domains)}, stage{class: c}
		slices.SortFunc(classes[c], func(a, b *fleet.Pod) int { return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.Name, b.Name)) })
		for _, p := range classes[c] {
			switch d := domainOf(p); {
			case isPlannable(f, p):
				between.free[d]++
			case p.Cost < 0 || d == nowhere:
				before.fixed = append(before.fixed, d)
			default:
				after.fixed = append(after.fixed, d)
			}
		}
		l.stages = append(l.stages, before, between, after)
	}
	return l
}

// chain says how many pods of a group are left in each domain: left[k] once k pods are left of it.
type chain struct {
	left [][]int
	// seats is the order in which the pods go of which one has to be chosen.
	seats []seat
}

// seat is one place in the order in which the pods of a group go: any pod of a class and a domain may take it.
type seat struct {
	class  fleet.Class
	domain int
}

// chain has the pods of a lane go one by one. Whenever one has to be chosen, choose says of which domain, out of those in which free is
// not 0. left is how many pods are in each domain, and k how many there will be in all once it is gone.
func (l *lane) chain(choose func(k int, left, free []int) int) *chain {
	c := &chain{left: make([][]int, l.size+1)}
	left := slices.Clone(l.full)
	c.left[l.size] = slices.Clone(left)
	k := l.size
	goes := func(domain int) {
		if domain != nowhere {
			left[domain]--
		}
		k--
		c.left[k] = slices.Clone(left)
	}
	for _, s := range l.stages {
		for _, domain := range s.fixed {
			goes(domain)
		}
		free := slices.Clone(s.free)
		for n := sum(free); n > 0; n-- {
			domain := choose(k-1, left, free)
			free[domain]--
			c.seats = append(c.seats, seat{s.class, domain})
			goes(domain)
		}
	}
	return c
}

func sum(numbers []int) int {
	total := 0
	for _, n := range numbers {
		total += n
	}
	return total
}
