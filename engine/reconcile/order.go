package reconcile

import (
	"sync"
	"time"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// orders keeps the targets that wait for waves. Many goroutines may use it.
type orders struct {
	mu    sync.Mutex
	waits decide.Waits
}

// Standing implements decide.Standings.
func (o *orders) Standing(line decide.Line, ref workload.Ref) decide.Standing {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waits.Standing(line, ref)
}

// entered returns the number of targets that have come due so far.
func (o *orders) entered() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waits.Entered()
}

func (o *orders) arrived(ref workload.Ref) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waits.Arrived(ref)
}

// Open returns the open waves of a policy, and the number of waiting targets.
func (o *orders) Open(id workload.Policy) ([]decide.Hold, int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waits.Open(id)
}

func (o *orders) looked(ref workload.Ref, v *decide.Verdict, now time.Time) []workload.Ref {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v.Object == nil {
		return o.waits.Gone(ref)
	}
	return o.waits.Looked(ref, v, now)
}

func (o *orders) forget(id workload.Policy) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waits.Forget(id)
}

// resume restores the standing of a policy from the policy's status.
func (o *orders) resume(p *world.Policy) {
	if p.Kind.Status(p.Object).ObservedGeneration != p.Object.GetGeneration() {
		return // the places of a status are those of the order at that generation
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for line, at := range world.StandingsOf(p) {
		o.waits.Resume(line, at)
	}
}

// ordered is a World: a snapshot, and the standings of the orders.
type ordered struct {
	*world.Snapshot
	*orders
	// seen is the number of targets that had come due before the snapshot was taken. Changes because of which later
	// targets come due may be missing in the snapshot.
	seen uint64
}

// Standing implements decide.Standings.
func (o ordered) Standing(line decide.Line, ref workload.Ref) decide.Standing {
	at := o.orders.Standing(line, ref)
	at.Seen = o.seen
	return at
}
