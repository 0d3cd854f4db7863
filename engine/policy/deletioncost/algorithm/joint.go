package algorithm

import (
	"cmp"
	"maps"
	"slices"

	"flyball.dev/flyball/engine/fleet"
)

// joint looks for orders in which the pods of several groups go, so that the domains of a label stay even over all of them.
//
// A Deployment that has several ReplicaSets takes from each its share, and in small steps from the largest. So how many pods are left of each
// is not the same on every way to n. The orders are to keep the domains even at every moment of both: of a scale-down by one pod at a time,
// and of one in a single step, to each n.
type joint struct {
	f       *fleet.Fleet
	groups  [][]*fleet.Pod
	lanes   []*lane
	moments [][]int
	// domains numbers the domains, the one with the fewest pods first.
	domains map[string]int
	label   string
	// expected is the class that a pod counts as.
	expected func(*fleet.Pod) fleet.Class
}

// jointly gives costs to the pods of several groups. Only the first label counts, and each pod of a group has a cost of its own. What is as
// even by the costs in force stays.
func jointly(f *fleet.Fleet, groups [][]*fleet.Pod, label string, expected func(*fleet.Pod) fleet.Class) []fleet.Change {
	j := newJoint(f, groups, label, expected)
	best := j.search()
	if changes, kept := j.keep(); kept != nil && j.isAsEven(kept, best) {
		return changes
	}
	var changes []fleet.Change
	for i, c := range best {
		changes = append(changes, j.assign(j.groups[i], c.seats)...)
	}
	return changes
}

func newJoint(f *fleet.Fleet, groups [][]*fleet.Pod, label string, expected func(*fleet.Pod) fleet.Class) *joint {
	j := &joint{f: f, groups: groups, label: label, expected: expected, domains: map[string]int{}}
	total := map[string]int{}
	for _, p := range f.Pods {
		if d, ok := p.Domain(label); ok {
			total[d]++
		}
	}
	for i, d := range slices.SortedFunc(maps.Keys(total), func(a, b string) int { return cmp.Or(cmp.Compare(total[a], total[b]), cmp.Compare(a, b)) }) {
		j.domains[d] = i
	}
	sizes := make([]int, len(groups))
	for i, group := range groups {
		j.lanes = append(j.lanes, newLane(f, group, j.domainOf, len(j.domains), expected))
		sizes[i] = len(group)
	}
	j.moments = momentsOf(sizes)
	return j
}

func (j *joint) domainOf(p *fleet.Pod) int {
	d, ok := p.Domain(j.label)
	if !ok {
		return nowhere
	}
	return j.domains[d]
}

// momentsOf lists how many pods are left of each group as they are scaled down one by one, and as they are scaled down in one step to each n.
func momentsOf(sizes []int) [][]int {
	var out [][]int
	small := sizes
	for n := sum(sizes) - 1; n > 0; n-- {
		small = fleet.Shares(small, n)
		out = append(out, small)
		if large := fleet.Shares(sizes, n); !slices.Equal(small, large) {
			out = append(out, large)
		}
	}
	return out
}

const (
	// rounds is how often the order of one group is fitted to those of the others.
	rounds = 8
	// effort bounds the search: how many counts of pods in a domain are added up.
	effort = 5_000_000
)

// search finds the best of several sets of orders. Each begins with every group by itself: the fullest domain goes first, and of those that
// are as full the first of a ranking. Then one group at a time is fitted to the others. What comes out depends on the ranking, so several are
// tried, as far as the effort goes.
func (j *joint) search() []*chain {
	var best []*chain
	least, n := 0, len(j.domains)
	fits := effort / (1 + len(j.moments)*n*len(j.lanes))
	for try := range max(1, 2*n) {
		ranking := rankingOf(try, n)
		chains := make([]*chain, len(j.lanes))
		for i := range chains {
			chains[i] = j.fit(chains, i, nil, ranking)
		}
		for round := range rounds {
			if uneven := j.unevenness(chains); best == nil || uneven < least {
				best, least = slices.Clone(chains), uneven
			}
			if fits--; fits < 0 {
				return best
			}
			i := round % len(chains)
			chains[i] = j.fit(chains, i, j.moments, ranking)
		}
	}
	return best
}

// rankingOf gives one of the 2n ways to go round n domains.
func rankingOf(try, n int) []int {
	ranking := make([]int, n)
	for i := range ranking {
		ranking[i] = (try/2 + i) % n
		if try%2 == 1 {
			ranking[i] = (try/2 - i + n) % n
		}
	}
	return ranking
}

// fit finds an order for one group. With moments, the domain goes first that has the most pods of all groups at the moments at which as many
// pods are left of this one; without, that of which this group has the most.
func (j *joint) fit(chains []*chain, group int, moments [][]int, ranking []int) *chain {
	l, n := j.lanes[group], len(j.domains)
	others, times := make([]int, (l.size+1)*n), make([]int, l.size+1)
	for _, m := range moments {
		k := m[group]
		times[k]++
		for i, c := range chains {
			if i != group {
				addTo(others[k*n:(k+1)*n], c.left[m[i]])
			}
		}
	}
	return l.chain(func(k int, left, free []int) int {
		fullest, most := nowhere, 0
		for i := range ranking {
			d := ranking[i]
			if group%2 == 1 {
				d = ranking[n-1-i] // so that what is odd in one group is made good by the next
			}
			if free[d] == 0 {
				continue
			}
			if pods := left[d]*max(1, times[k]) + others[k*n+d]; fullest == nowhere || pods > most {
				fullest, most = d, pods
			}
		}
		return fullest
	})
}

func addTo(to, numbers []int) {
	for i, n := range numbers {
		to[i] += n
	}
}

// unevenness grows with the spreads at all moments, and the more the larger they are.
func (j *joint) unevenness(chains []*chain) int {
	total := 0
	for _, m := range j.moments {
		spread := j.spreadAt(chains, m)
		total += spread * spread * spread
	}
	return total
}

// spreadAt is by how many pods the domains differ at a moment.
func (j *joint) spreadAt(chains []*chain, moment []int) int {
	low, high := 0, 0
	for d := range len(j.domains) {
		pods := 0
		for i, c := range chains {
			pods += c.left[moment[i]][d]
		}
		if d == 0 {
			low, high = pods, pods
		}
		low, high = min(low, pods), max(high, pods)
	}
	return high - low
}

// isAsEven says whether one set of orders is never less even than another, except where domains differ by one pod only.
func (j *joint) isAsEven(chains, than []*chain) bool {
	return !slices.ContainsFunc(j.moments, func(m []int) bool {
		spread := j.spreadAt(chains, m)
		return spread > 1 && spread > j.spreadAt(than, m)
	})
}
