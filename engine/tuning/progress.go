package tuning

import (
	"time"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// progress is the progress of the roll-out of some requests.
type progress struct {
	// since is the time from which the requests are claimed.
	since time.Time
	// through is the largest number of pods that were ready with the requests at the same time. moved is the time when that
	// number was reached.
	through int
	moved   time.Time
}

// update records the pods during the roll-out of requests that are claimed since the instant since. still is the time for
// which no further pod became ready with the requests. unready has the pods that have the requests and are not ready.
func (r *progress) update(f *workload.Fleet, asked map[workload.Amount]int64, since, now time.Time) (still time.Duration,
	unready []*workload.Pod) {
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
		*r = progress{since: since, through: through, moved: now}
	}
	return now.Sub(r.moved), unready
}

// again counts the time without a further ready pod from now.
func (r *progress) again(now time.Time) { r.moved = now }

// has reports whether a pod has the requests. Containers that the requests do not name are ignored.
func has(p *workload.Pod, asked map[workload.Amount]int64) bool {
	for _, c := range podsize.Usual(p) {
		for of, n := range map[workload.Resource]int64{workload.CPU: c.CPU, workload.Memory: c.Memory} {
			if to, wanted := asked[workload.Amount{Kind: workload.AmountRequest, Component: c.Name, Resource: of}]; wanted && to != n {
				return false
			}
		}
	}
	return true
}

// inTemplate returns the requests that a policy has written into a template, and the time since which it claims them.
// It returns no requests if the policy has written none.
func inTemplate(s *world.Snapshot, ref workload.Ref, id workload.Policy, now time.Time) (since time.Time, asked map[workload.Amount]int64) {
	v := decide.Target(s, ref, now, nil)
	if v.Err != nil || v.Result.Patch != nil {
		return since, nil
	}
	asked = map[workload.Amount]int64{}
	for key, claim := range v.Plan.Amounts {
		if key.Kind == workload.AmountRequest && claim.By == id {
			since, asked[key] = claim.Since, claim.Value
		}
	}
	return since, asked
}
