package workload

import (
	"cmp"
	"math"
	"slices"
)

// Victims returns the pods of one group in the order in which the ReplicaSet controller deletes them at an instant, in
// seconds since 1970. related are all pods of the target: several of them on one node make each of them go earlier.
//
// The order is that of ActivePodsWithRanks in k8s.io/kubernetes/pkg/controller: not assigned, phase, not ready, lower
// cost, more related pods on the node, ready for a shorter time (on a logarithmic scale), more restarts, newer.
func Victims(group, related []*Pod, now int64) []*Pod {
	crowd := map[string]int{}
	for _, p := range related {
		if p.Node != nil {
			crowd[p.Node.Name]++
		}
	}
	rank := func(p *Pod) int {
		if p.Node == nil {
			return 0
		}
		return crowd[p.Node.Name]
	}
	out := slices.Clone(group)
	slices.SortFunc(out, func(a, b *Pod) int {
		return cmp.Or(
			cmp.Compare(PodClassOf(a), PodClassOf(b)),
			cmp.Compare(a.Cost, b.Cost),
			cmp.Compare(rank(b), rank(a)),
			byReadyTime(a, b, now),
			cmp.Compare(b.Restarts, a.Restarts),
			byAge(a.Created, b.Created, a, b, now))
	})
	return out
}

func byReadyTime(a, b *Pod, now int64) int {
	if !a.Ready || !b.Ready || a.Changed == b.Changed {
		return 0
	}
	return byAge(a.Changed, b.Changed, a, b, now)
}

// byAge orders the later start first, on a logarithmic scale, and equal starts by UID. An unknown start counts as the
// latest.
func byAge(since, other int64, a, b *Pod, now int64) int {
	if since == other {
		return cmp.Compare(a.UID, b.UID)
	}
	if since == 0 || other == 0 {
		if since == 0 {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(scale(now-since), scale(now-other)), cmp.Compare(a.UID, b.UID))
}

// scale returns the order of magnitude of an age in seconds, computed as in the controller: in nanoseconds.
func scale(age int64) int {
	if age <= 0 {
		return -1
	}
	return int(math.Log2(float64(age) * 1e9))
}
