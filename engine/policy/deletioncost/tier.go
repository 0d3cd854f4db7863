package deletioncost

import (
	"maps"
	"slices"

	"flyball.dev/flyball/engine/workload"
)

// tier has the heights of the pods of one class in one domain. Pods with foreign costs take some of the heights, and fill
// assigns the others.
type tier struct {
	part []slot
	// at has the pod that currently has each height; nil: no pod has it.
	at []*workload.Pod
}

// newTier finds the current pod of each height. If several pods have one height, the first pod with a written cost wins.
// first is the lowest height of part.
func newTier(part []slot, own []*workload.Pod, first int, height func(*workload.Pod) int) *tier {
	t := &tier{part, make([]*workload.Pod, len(part))}
	if height == nil {
		return t
	}
	for _, written := range []bool{true, false} {
		for _, p := range own {
			if i := height(p) - first; written == (p.Writer != "") && i >= 0 && i < len(part) && t.at[i] == nil {
				t.at[i] = p
			}
		}
	}
	return t
}

// free returns the heights that are not taken, from the lowest upwards.
func (t *tier) free() []int {
	var heights []int
	for i := range t.part {
		if t.part[i].pod == nil {
			heights = append(heights, i)
		}
	}
	return heights
}

// fill assigns each of the given heights to one pod. The pod with the greatest height is deleted first. With labels,
// the domains of the first label stay as even as possible at every step. Within each of these domains, the domains of
// the next label stay even too. The pods in under are below all given heights.
//
// Each pod gets a level in its domain: the number of pods of the domain below it. All pods of a level are below all
// pods of the next level.
func (t *tier) fill(heights []int, pods, under []*workload.Pod, labels []string) {
	if len(labels) == 0 {
		t.assignCosts(heights, pods)
		return
	}
	in, lower := byDomain(pods, labels[0]), byDomain(under, labels[0])
	levels := map[int][]string{}
	for _, d := range slices.Sorted(maps.Keys(in)) {
		for j := range in[d] {
			level := len(lower[d]) + j
			levels[level] = append(levels[level], d)
		}
	}
	share := map[string][]int{}
	for _, level := range slices.Sorted(maps.Keys(levels)) {
		n := len(levels[level])
		t.shareOut(heights[:n], levels[level], labels[0], share)
		heights = heights[n:]
	}
	for d, own := range share {
		t.fill(own, in[d], lower[d], labels[1:])
	}
}

// shareOut assigns one height to each domain. A domain gets a height that one of its pods has now, if there is such a
// height.
func (t *tier) shareOut(heights []int, domains []string, label string, share map[string][]int) {
	waiting := map[string]bool{}
	for _, d := range domains {
		waiting[d] = true
	}
	var left []int
	for _, h := range heights {
		if p := t.at[h]; p != nil {
			if d, _ := p.Domain(label); waiting[d] {
				share[d] = append(share[d], h)
				delete(waiting, d)
				continue
			}
		}
		left = append(left, h)
	}
	for i, d := range slices.Sorted(maps.Keys(waiting)) {
		share[d] = append(share[d], left[i])
	}
}

// assignCosts assigns heights to pods. A pod keeps its current height if possible. Of the other pods, the one that stays
// longest gets the lowest height.
func (t *tier) assignCosts(heights []int, pods []*workload.Pod) {
	left := map[*workload.Pod]bool{}
	for _, p := range pods {
		left[p] = true
	}
	var empty []int
	for _, h := range heights {
		if p := t.at[h]; left[p] {
			t.part[h].pod = p
			delete(left, p)
		} else {
			empty = append(empty, h)
		}
	}
	for i, p := range slices.SortedFunc(maps.Keys(left), stayers) {
		t.part[empty[i]].pod = p
	}
}
