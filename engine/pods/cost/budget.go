package cost

import (
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
)

// budget returns the budget of a policy, at the policy's current rate.
func (b *book) budget(id workload.Policy, o policy.PodOrderer) *workers.Budget {
	b.mu.Lock()
	defer b.mu.Unlock()
	pods := 0
	for _, t := range b.stats[id] {
		pods += t.pods
	}
	rate := o.WritesPerSecond(pods)
	known := b.budgets[id]
	if known == nil {
		known = workers.NewBudget(rate)
		b.budgets[id] = known
	}
	known.SetRate(rate)
	return known
}
