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
func (s *Writer) Began(id workload.Policy) {
	p := s.world.Snapshot().Find(id)
	if p == nil {
		return
	}
	at := p.State(s.opts.Clock.Now()).Since
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.transitioned[id]
	if at.IsZero() || before != nil && before.at.Equal(at) {
		return
	}
	if before != nil {
		s.settle(id, before) // a new transition ends the former one
	}
	s.transitioned[id] = &transition{at: at}
}

// Written records a change just made for a policy.
func (s *Writer) Written(id workload.Policy) {
	now := s.opts.Clock.Now()
	s.mu.Lock()
	if t := s.transitioned[id]; t != nil && now.After(t.lastWrite) {
		t.lastWrite = now
	}
	s.mu.Unlock()
	s.Dirty(id)
}

// observeTransition publishes the lag of a transition once no target of the policy waits. A state reached by an edit of
// the policy has no lag.
func (s *Writer) observeTransition(id workload.Policy, state policy.State, pending int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.transitioned[id]
	switch {
	case t == nil || state.Since.Before(t.at): // the state is from before the transition, which has just begun
	case state.Since.After(t.at):
		t.settled = true
	case pending == 0:
		s.settle(id, t)
	}
}

// settle observes the lag of a policy's transition, once.
func (s *Writer) settle(id workload.Policy, t *transition) {
	if lag, written := t.lag(); written && !t.settled {
		s.metrics.transitionDone(id, lag)
	}
	t.settled = true
}
