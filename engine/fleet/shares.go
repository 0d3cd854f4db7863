package fleet

import (
	"cmp"
	"slices"
)

// Shares says how many pods each group keeps when a Deployment is scaled from the sum of the sizes to n pods in one step. The groups are its
// ReplicaSets, the oldest first.
//
// The rule is that of proportional scaling in k8s.io/kubernetes/pkg/controller/deployment: in the order of their size, and of two that are as
// large the older one first, each is scaled in proportion, rounded to the nearest; what is left over goes to the largest.
func Shares(sizes []int, n int) []int {
	out, total := slices.Clone(sizes), 0
	bySize := make([]int, len(sizes))
	for i, size := range sizes {
		bySize[i] = i
		total += size
	}
	slices.SortStableFunc(bySize, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
	n = min(n, total)
	left := total - n // to be taken away yet
	for _, i := range bySize {
		if left > 0 {
			take := min(sizes[i]-(2*sizes[i]*n+total)/(2*total), left)
			out[i] -= take
			left -= take
		}
	}
	if left > 0 {
		out[bySize[0]] = max(0, out[bySize[0]]-left)
	}
	return out
}
