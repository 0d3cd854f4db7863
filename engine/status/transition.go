package status

import (
	"time"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// transition is a transition seen by this process, with the last write that followed from it.
type transition struct {
	at        time.Time
	lastWrite time.Time
	settled   bool
}

// lag returns the time from the transition to the last write; false: no write followed.
func (t *transition) lag() (time.Duration, bool) { return t.lastWrite.Sub(t.at), !t.lastWrite.IsZero() }

// Began records the start of a policy's transition.
func (b *Tracker) Began(id workload.Policy) {
	p := b.world.Snapshot().Find(id)
	if p == nil {
		return
	}
	at := p.State(b.clock.Now()).Since
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.transitioned[id]
	if at.IsZero() || before != nil && before.at.Equal(at) {
		return
	}
	if before != nil {
		b.settle(id, before) // a new transition ends the former one
	}
	b.transitioned[id] = &transition{at: at}
}

// Written records a change just made for a policy.
func (b *Tracker) Written(id workload.Policy) {
	now := b.clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.transitioned[id]; t != nil && now.After(t.lastWrite) {
		t.lastWrite = now
	}
	b.setDirty(id)
}

// observeTransition publishes the lag of a transition once no target of the policy waits. A state reached by an edit of
// the policy has no lag.
func (b *Tracker) observeTransition(id workload.Policy, state policy.Summary, pending int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.transitioned[id]
	switch {
	case t == nil || state.Since.Before(t.at): // the state is from before the transition, which has just begun
	case state.Since.After(t.at):
		t.settled = true
	case pending == 0:
		b.settle(id, t)
	}
}

// settle observes the lag of a policy's transition, once.
func (b *Tracker) settle(id workload.Policy, t *transition) {
	if lag, written := t.lag(); written && !t.settled {
		b.metrics.transitionDone(id, lag)
	}
	t.settled = true
}
