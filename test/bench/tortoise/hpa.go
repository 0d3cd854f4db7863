package tortoise

import (
	"math"
	"slices"
)

// autoscaler emulates the HorizontalPodAutoscaler controller for one ContainerResource metric with the default behaviour: tolerance
// of 10 %, pods that are not ready count as idle when scaling up, doubling or four pods every 15 s up, and down to the
// largest of what the last five minutes recommended.
//
// Source: pkg/controller/podautoscaler of Kubernetes, replica_calculator.go and horizontal.go.
type autoscaler struct {
	// recommended are the recommendations of the last five minutes, oldest first.
	recommended []int
}

const (
	hpaTolerance = 0.1
	// syncsPerTick is the sync period of 15 s in ticks; stabilised is how many syncs five minutes are.
	syncsPerTick, stabilised = 2, 20
)

// reading is what the autoscaler sees. ok is false where there are no metrics.
type reading struct {
	ok bool
	// usage is the mean of the pods that are ready, in milli-CPU; request is that of each pod.
	usage, request float64
	ready, unready int
}

// sync gives the replicas that are wanted from those there are.
func (a *autoscaler) sync(current int, s setting, r reading) int {
	switch {
	case current == 0:
		return 0
	case current > s.maximum:
		return s.maximum
	case current < s.minimum:
		return s.minimum
	case !r.ok || r.ready == 0:
		return current
	}
	wanted := a.stabilise(current, replicas(current, s.target, r))
	return min(max(min(wanted, max(2*current, current+4)), s.minimum), s.maximum)
}

// replicas is what the metric alone asks for.
func replicas(current, target int, r reading) int {
	ratio := r.usage / r.request * 100 / float64(target)
	if r.unready == 0 || ratio < 1 {
		if math.Abs(ratio-1) <= hpaTolerance {
			return current
		}
		return int(math.Ceil(ratio * float64(r.ready)))
	}
	all := float64(r.ready + r.unready)
	rebalanced := ratio * float64(r.ready) / all
	if math.Abs(rebalanced-1) <= hpaTolerance || rebalanced < 1 {
		return current
	}
	if wanted := int(math.Ceil(rebalanced * all)); wanted > current {
		return wanted
	}
	return current
}

// stabilise gives the largest recommendation of the last five minutes if that is not more than there are, and otherwise at least what
// there are.
func (a *autoscaler) stabilise(current, wanted int) int {
	a.recommended = append(a.recommended, wanted)
	if n := len(a.recommended); n > stabilised {
		a.recommended = slices.Delete(a.recommended, 0, n-stabilised)
	}
	if wanted >= current {
		return wanted
	}
	return min(current, slices.Max(a.recommended))
}
