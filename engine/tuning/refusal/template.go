package refusal

import (
	"time"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// InTemplate returns the requests that a policy has written into a template, and the time since which it claims them.
// It returns no requests if the policy has written none.
func InTemplate(s *world.Snapshot, ref workload.Ref, id workload.Policy, now time.Time) (since time.Time, asked map[workload.Amount]int64) {
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
