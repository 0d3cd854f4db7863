package reconcile

import (
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// await counts targets as pending, under every policy that counts them, until they have been looked at again. Whoever calls
// it queues them. Until then nobody knows whether they are as they should be: at an edge, that is most of them.
func (e *Engine) await(refs []workload.Ref) {
	e.recordsMu.Lock()
	defer e.recordsMu.Unlock()
	for _, ref := range refs {
		under := e.records[ref].under
		for i := range under {
			under[i].status = under[i].tally.await(under[i].status)
		}
	}
}

// awaitAll is await for every target that a policy selects or has changed.
func (e *Engine) awaitAll(en *entry) {
	refs := e.ledgers.Refs(en.id)
	e.mu.RLock()
	for _, k := range e.kinds {
		e.eachSelected(en.policy, k, func(ref workload.Ref) { refs = append(refs, ref) })
	}
	e.mu.RUnlock()
	e.await(refs)
}

// turns says whether the new form of a policy may ask something else of its targets than the old one.
func (e *Engine) turns(old, next *entry) bool {
	if old.object.GetGeneration() != next.object.GetGeneration() || len(old.policy.Invalid) != len(next.policy.Invalid) {
		return true
	}
	now := e.opts.Clock.Now()
	return !sameState(old.policy.State(now), next.policy.State(now))
}

func sameState(a, b policy.State) bool {
	return a.Name == b.Name && a.Active == b.Active && a.Since.Equal(b.Since) && a.Next.Equal(b.Next)
}

// await counts a target as pending that was in a state, and gives the state that it is in now. A target that failed has
// failed until something better is known.
func (t *tally) await(from status) status {
	if from == statusNone || from == statusPending || from == statusFailed {
		return from
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[from]--
	t.counts[statusPending]++
	return statusPending
}
