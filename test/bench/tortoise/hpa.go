package tortoise

import (
	"math"
	"slices"
	"time"
)

// autoscaler emulates the HorizontalPodAutoscaler controller for one ContainerResource metric with the default behaviour: whole
// percents of utilisation, tolerance of 10 %, pods that are not ready count as idle when scaling up, doubling or four pods every 15 s
// up, and down to the largest of what the last five minutes recommended. A test has the controller decide the same, sync by sync.
//
// Source: pkg/controller/podautoscaler of Kubernetes, replica_calculator.go and horizontal.go.
type autoscaler struct {
	// window is how long a recommendation counts when scaling down.
	window time.Duration
	// recommended are the recommendations that count, oldest first.
	recommended []recommendation
}

type recommendation struct {
	at       time.Duration
	replicas int
}

const (
	hpaTolerance = 0.1
	// syncPeriod is the time between two syncs, stabilised the window of the default behaviour.
	syncPeriod, stabilised = 15 * time.Second, 5 * time.Minute
)

func newAutoscaler() *autoscaler { return &autoscaler{window: stabilised} }

// reading is what the autoscaler sees. ok is false where there are no metrics.
type reading struct {
	ok bool
	// usage is the mean of the pods that are ready, in milli-CPU; request is that of each pod.
	usage, request float64
	ready, unready int
}

// sync gives the replicas that are wanted, at an instant, from those there are.
func (a *autoscaler) sync(now time.Duration, current int, s setting, r reading) int {
	if a.recommended == nil {
		a.recommended = []recommendation{{now, current}}
	}
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
	wanted := a.stabilise(now, current, replicas(current, s.target, r))
	return min(max(min(wanted, max(2*current, current+4)), s.minimum), s.maximum)
}

// replicas is what the metric alone asks for.
func replicas(current, target int, r reading) int {
	ratio := math.Trunc(r.usage*100/r.request) / float64(target)
	if r.unready == 0 || ratio < 1 {
		if within(ratio) {
			return current
		}
		return int(math.Ceil(ratio * float64(r.ready)))
	}
	all := float64(r.ready + r.unready)
	rebalanced := math.Trunc(r.usage*float64(r.ready)*100/(r.request*all)) / float64(target)
	if within(rebalanced) || rebalanced < 1 {
		return current
	}
	if wanted := int(math.Ceil(rebalanced * all)); wanted > current {
		return wanted
	}
	return current
}

// within says that a ratio of usage to the target is too small a difference to scale for.
func within(ratio float64) bool { return 1-hpaTolerance <= ratio && ratio <= 1+hpaTolerance }

// stabilise gives the largest recommendation of the window if that is not more than there are, and otherwise at least what there are.
func (a *autoscaler) stabilise(now time.Duration, current, wanted int) int {
	a.recommended = slices.DeleteFunc(a.recommended, func(r recommendation) bool { return r.at <= now-a.window })
	a.recommended = append(a.recommended, recommendation{now, wanted})
	if wanted >= current {
		return wanted
	}
	largest := 0
	for _, r := range a.recommended {
		largest = max(largest, r.replicas)
	}
	return min(current, largest)
}
