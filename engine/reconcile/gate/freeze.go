package gate

import (
	"context"
	"sync"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
)

// Freeze lets a write through unless a freeze refuses the change. Many goroutines may use it.
type Freeze struct {
	placeless
	// frozen has the targets (workload.Ref) waiting for the end of a freeze.
	frozen sync.Map
}

// Enter implements Gate.
func (f *Freeze) Enter(_ context.Context, w *Write) *Wait {
	if w.Verdict.Gate.Kind != decide.GateFreeze {
		return nil
	}
	f.frozen.Store(w.Ref, nil)
	return &Wait{Outcome: status.Outcome{Waiting: w.Verdict.Gate.Reason}, Until: w.Verdict.Gate.Until}
}

// Release queues all targets waiting for a freeze, because an input of admission verdicts has changed.
func (f *Freeze) Release(queue func(...workload.Ref)) {
	f.frozen.Range(func(ref, _ any) bool {
		f.frozen.Delete(ref) // delete before queueing, so a target that begins to wait again stays in the map
		queue(ref.(workload.Ref))
		return true
	})
}
