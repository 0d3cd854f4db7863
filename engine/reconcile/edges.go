package reconcile

import (
	"time"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// edge is a transition of a policy that this process has seen begin, and the last write that followed from it.
type edge struct {
	at        time.Time
	lastWrite time.Time
	settled   bool
}

// lag is the time from the transition to the last write that followed from it; false where none did.
func (ed *edge) lag() (time.Duration, bool) { return ed.lastWrite.Sub(ed.at), !ed.lastWrite.IsZero() }

// Turn begins a transition of a policy, whose instant has come.
func (r *rollup) Turn(p workload.Policy) {
	r.e.mu.RLock()
	en := r.e.index.all[p]
	r.e.mu.RUnlock()
	if en == nil {
		return
	}
	at := en.policy.State(r.e.opts.Clock.Now()).Since
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.edges[p]
	if at.IsZero() || before != nil && before.at.Equal(at) {
		return
	}
	if before != nil {
		r.settle(before) // it never came to its end
	}
	r.edges[p] = &edge{at: at}
}

// Written remembers that a change was made for a policy just now.
func (r *rollup) Written(p workload.Policy) {
	now := r.e.opts.Clock.Now()
	r.mu.Lock()
	if ed := r.edges[p]; ed != nil && now.After(ed.lastWrite) {
		ed.lastWrite = now
	}
	r.mu.Unlock()
	r.Dirty(p)
}

// observe publishes the lag of a transition once no target of the policy waits any more. A state that no transition led to,
// but an edit of the policy, has no lag.
func (r *rollup) observe(p workload.Policy, state policy.State, pending int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ed := r.edges[p]
	switch {
	case ed == nil || state.Since.Before(ed.at): // the state is older than the transition, which has just begun
	case state.Since.After(ed.at):
		ed.settled = true
	case pending == 0:
		r.settle(ed)
	}
}

// settle observes the lag of a transition, once.
func (r *rollup) settle(ed *edge) {
	if lag, written := ed.lag(); written && !ed.settled {
		r.e.metrics.edgeLag.Observe(lag.Seconds())
	}
	ed.settled = true
}
