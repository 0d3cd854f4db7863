package algorithm

import "flyball.dev/flyball/engine/fleet"

// youngest has the pods go first that were made last.
type youngest struct{}

// Tiers implements Algorithm.
func (youngest) Tiers(_ *fleet.Fleet, pods []*fleet.Pod, _ Params) []int64 {
	tiers := make([]int64, len(pods))
	for i, p := range pods {
		tiers[i] = -p.Created
	}
	return tiers
}

// oldest has the pods go first that were made first.
type oldest struct{}

// Tiers implements Algorithm.
func (oldest) Tiers(_ *fleet.Fleet, pods []*fleet.Pod, _ Params) []int64 {
	tiers := make([]int64, len(pods))
	for i, p := range pods {
		tiers[i] = p.Created
	}
	return tiers
}
