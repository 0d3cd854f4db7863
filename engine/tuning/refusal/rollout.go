package refusal

import (
	"time"

	"flyball.dev/flyball/engine/fleet"
	"flyball.dev/flyball/engine/workload"
)

// Rollout is how far the roll-out of some requests of a target is.
type Rollout struct {
	// since is that of the requests.
	since time.Time
	// through is the most pods that were seen ready with them at once, and moved when it was reached.
	through int
	moved   time.Time
}

// Look takes note of the pods while requests that are asked for since some instant are rolled out. It returns for how long no pod more has been
// ready with them, and the pods that have them and are not ready.
func (r *Rollout) Look(f *fleet.Fleet, asked map[workload.Amount]int64, since, now time.Time) (still time.Duration, unready []*fleet.Pod) {
	through := 0
	for _, p := range f.Pods {
		switch {
		case !has(p, asked):
		case p.Ready:
			through++
		default:
			unready = append(unready, p)
		}
	}
	if r.moved.IsZero() || !r.since.Equal(since) || through > r.through {
		*r = Rollout{since: since, through: through, moved: now}
	}
	return now.Sub(r.moved), unready
}

// Again begins to count the time anew.
func (r *Rollout) Again(now time.Time) { r.moved = now }

// has reports whether a pod has requests, as far as it has containers of their names.
func has(p *fleet.Pod, asked map[workload.Amount]int64) bool {
	for _, c := range p.Usual() {
		for of, n := range map[workload.Resource]int64{workload.CPU: c.CPU, workload.Memory: c.Memory} {
			if to, wanted := asked[workload.Amount{Kind: workload.AmountRequest, Component: c.Name, Resource: of}]; wanted && to != n {
				return false
			}
		}
	}
	return true
}
