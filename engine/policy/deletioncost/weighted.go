package deletioncost

import (
	"slices"

	"flyball.dev/flyball/engine/workload"
)

// weighted adds up the weighted tiers of several algorithms.
type weighted struct{}

// grain is the number of steps into which the tiers of an algorithm are divided. Finer differences would change all the
// time.
const grain = 64

// Tiers implements Algorithm.
func (weighted) Tiers(f *workload.Fleet, pods []*workload.Pod, p Params) []int64 {
	sums := make([]int64, len(pods))
	for _, w := range p.Weights {
		a := registry[w.Name]
		if a == nil {
			continue
		}
		tiers := a.Tiers(f, pods, p)
		for i, place := range scaled(tiers) {
			sums[i] += int64(w.Weight) * place
		}
	}
	return sums
}

// scaled maps tiers to numbers from 0 to grain, in equal steps.
func scaled(tiers []int64) []int64 {
	steps := slices.Compact(slices.Sorted(slices.Values(tiers)))
	out := make([]int64, len(tiers))
	if len(steps) < 2 {
		return out
	}
	for i, t := range tiers {
		at, _ := slices.BinarySearch(steps, t)
		out[i] = int64(at * grain / (len(steps) - 1))
	}
	return out
}
