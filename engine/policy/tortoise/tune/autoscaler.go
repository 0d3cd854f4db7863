package tune

import (
	"cmp"
	"math"
	"time"
)

// Defaults of the controller: the time between two syncs, the stabilisation window for scaling down, and the tolerance
// around the target.
const (
	SyncPeriod = 15 * time.Second
	Window     = 5 * time.Minute
	Tolerance  = 0.1
)

// Scaler replays the decisions of the HorizontalPodAutoscaler controller for one ContainerResource metric with the default
// behaviour. A test in test/bench/tortoise compares it with the real controller, sync by sync. The zero value has not
// synced yet.
//
// The rules are these. Utilisation is in whole percents, with a tolerance of 10 %. Pods that are not ready count as idle
// in a scale-up. One sync at most doubles the pods or adds four, whichever is more. A scale-down stops at the largest
// recommendation in the stabilisation window.
//
// Source: pkg/controller/podautoscaler of Kubernetes, replica_calculator.go and horizontal.go.
type Scaler struct {
	// Window is the stabilisation window for scaling down; zero: the default of five minutes.
	Window time.Duration

	started bool
	// recent are the recommendations in the window, oldest first. Recommendations with a later one that is at least as large
	// are left out.
	recent []recommendation
}

type recommendation struct {
	at       time.Duration
	replicas int
}

// Reading has the metrics and the pods that the controller sees at a sync.
type Reading struct {
	// OK is false if there are no metrics.
	OK bool
	// Usage is the mean CPU usage of the ready pods. Request is the CPU request of each pod. Both are in milli-CPU.
	Usage, Request float64
	Ready, Unready int
}

// Sync returns the number of replicas that the controller sets at an instant, given the current number. Instants never go
// back.
func (s *Scaler) Sync(now time.Duration, current int, to PodSetting, r Reading) int {
	if !s.started {
		s.started = true
		s.recommend(now, current)
	}
	switch {
	case current == 0:
		return 0
	case current > to.Max:
		return to.Max
	case current < to.Min:
		return to.Min
	case !r.OK || r.Ready == 0:
		return current
	}
	stable := s.stabilise(now, current, wanted(current, to.Target, r))
	return min(max(min(stable, max(2*current, current+4)), to.Min), to.Max)
}

// wanted returns the number of replicas by the metric alone, before stabilisation and bounds. The reading must be OK and
// have a ready pod.
func wanted(current, target int, r Reading) int {
	ratio := math.Trunc(r.Usage*100/r.Request) / float64(target)
	if r.Unready == 0 || ratio < 1 {
		if tolerated(ratio) {
			return current
		}
		return int(math.Ceil(ratio * float64(r.Ready)))
	}
	all := float64(r.Ready + r.Unready)
	rebalanced := math.Trunc(r.Usage*float64(r.Ready)*100/(r.Request*all)) / float64(target)
	if tolerated(rebalanced) || rebalanced < 1 {
		return current
	}
	return max(int(math.Ceil(rebalanced*all)), current)
}

// tolerated reports whether a ratio of usage to the target is too close to 1 for the controller to scale.
func tolerated(ratio float64) bool { return 1-Tolerance <= ratio && ratio <= 1+Tolerance }

// stabilise returns the wanted replicas if they are not fewer than the current replicas. Otherwise it returns the largest
// recommendation in the window, but no more than the current number.
func (s *Scaler) stabilise(now time.Duration, current, wanted int) int {
	expired := 0
	for expired < len(s.recent) && s.recent[expired].at <= now-s.window() {
		expired++
	}
	if expired > 0 {
		s.recent = s.recent[:copy(s.recent, s.recent[expired:])]
	}
	s.recommend(now, wanted)
	return max(wanted, min(current, s.recent[0].replicas))
}

func (s *Scaler) window() time.Duration { return cmp.Or(s.Window, Window) }

// Forgets reports whether a recommendation leaves the window by an instant.
func (s *Scaler) Forgets(now time.Duration) bool {
	return len(s.recent) > 0 && s.recent[0].at <= now-s.window()
}

// recommend adds a recommendation. It drops earlier recommendations that are not larger, because they will never count
// again.
func (s *Scaler) recommend(now time.Duration, replicas int) {
	kept := len(s.recent)
	for kept > 0 && s.recent[kept-1].replicas <= replicas {
		kept--
	}
	s.recent = append(s.recent[:kept], recommendation{now, replicas})
}
