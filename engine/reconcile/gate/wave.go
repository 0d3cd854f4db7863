package gate

import (
	"context"
	"sync"
	"time"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Wave lets a write through once the waves before the target's own have changed. Wave keeps the targets waiting for waves.
// Many goroutines may use it.
type Wave struct {
	placeless
	// dirty queues the status of a policy.
	dirty func(workload.Policy)

	mu    sync.Mutex
	waits decide.Waits
}

// NewWave returns the gate of the waves. dirty queues the status of a policy.
func NewWave(dirty func(workload.Policy)) *Wave { return &Wave{dirty: dirty} }

// Enter implements Gate.
func (o *Wave) Enter(_ context.Context, w *Write) *Wait {
	is := w.Verdict.Gate
	if is.Kind != decide.GateOrder {
		return nil
	}
	out := status.Outcome{Waiting: is.Reason}
	if is.Order.Stopped {
		out.Failure = is.Reason
	}
	o.dirty(is.Order.Policy)
	return &Wait{Outcome: out, Until: is.Until}
}

// Standing implements decide.Standings.
func (o *Wave) Standing(line decide.Line, ref workload.Ref) decide.Standing {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waits.Standing(line, ref)
}

// Entered returns the number of targets that have come due so far.
func (o *Wave) Entered() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waits.Entered()
}

// Arrived records a new object.
func (o *Wave) Arrived(ref workload.Ref) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waits.Arrived(ref)
}

// Open returns the open waves of a policy, and the number of waiting targets.
func (o *Wave) Open(id workload.Policy) ([]decide.Wave, int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waits.Open(id)
}

// Decided records a decision, and returns the targets to decide again.
func (o *Wave) Decided(ref workload.Ref, v *decide.Verdict, now time.Time) []workload.Ref {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v.Object == nil {
		return o.waits.Gone(ref)
	}
	return o.waits.Decided(ref, v, now)
}

// ForgetPolicy drops the waits for a policy.
func (o *Wave) ForgetPolicy(id workload.Policy) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waits.Forget(id)
}

// Resume restores the standing of a policy from the policy's status.
func (o *Wave) Resume(p *world.Policy) {
	if p.Kind.Status(p.Object).ObservedGeneration != p.Object.GetGeneration() {
		return // the places of a status are those of the order at that generation
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for line, at := range world.StandingsOf(p) {
		o.waits.Resume(line, at)
	}
}

// Ordered is a World: a snapshot, and the standings of the orders.
type Ordered struct {
	*world.Snapshot
	wave *Wave
	// seen is the number of targets that had come due before the snapshot was taken. Changes because of which later
	// targets come due may be missing in the snapshot.
	seen uint64
}

// World returns a snapshot with the standings of the orders. seen is the number of targets that had come due before the
// snapshot was taken.
func (o *Wave) World(s *world.Snapshot, seen uint64) Ordered { return Ordered{s, o, seen} }

// Standing implements decide.Standings.
func (o Ordered) Standing(line decide.Line, ref workload.Ref) decide.Standing {
	at := o.wave.Standing(line, ref)
	at.Seen = o.seen
	return at
}
