package gate

import (
	"context"
	"errors"
	"sync"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Batch lets a write through once the batch of its policy has a place. Without a rate limit no place is needed.
type Batch struct {
	world   *world.World
	batches *apply.Batches
	// opened has, by target (workload.Ref), the apply.BatchKey of the place that a write keeps after an autoscaler was opened for it.
	opened sync.Map
}

// NewBatch returns the gate of the batches.
func NewBatch(w *world.World, b *apply.Batches) *Batch { return &Batch{world: w, batches: b} }

// Enter implements Gate. It takes a place in the batch of the policy behind the write.
func (b *Batch) Enter(ctx context.Context, w *Write) *Wait {
	key := keyOf(w)
	limit := decide.LimitOf(b.world.Snapshot(), w.Verdict)
	if has, opened := b.opened.Load(w.Ref); limit.Batch == 0 || opened && has == key {
		return nil
	}
	waits := &Wait{Outcome: status.Outcome{Waiting: "waits for its batch"}}
	place, again, err := b.batches.Take(ctx, key, limit.Batch, limit.Delay, w.Now)
	switch {
	case errors.Is(err, apply.ErrOpening):
		waits.Err = ErrSoon
	case err != nil:
		return &Wait{Outcome: status.Outcome{Failure: err.Error()}, Err: err}
	case !again.IsZero():
		waits.Until = again
	default:
		w.place = place
		return nil
	}
	return waits
}

func keyOf(w *Write) apply.BatchKey {
	return apply.BatchKey{Policy: w.Verdict.Result.By, Direction: w.Verdict.Result.Direction}
}

// Leave implements Gate. A write that the API server has accepted uses its place up, and one with an opened autoscaler keeps it.
func (b *Batch) Leave(w *Write, end End) *Wait {
	switch {
	case end.isAccepted():
		b.opened.Delete(w.Ref)
	case end.Outcome == Opened:
		b.opened.Store(w.Ref, keyOf(w))
	default:
		b.batches.Return(w.place)
	}
	return nil
}

// Withdraw implements Gate. A target that waits for a batch is queued for an instant, and holds nothing.
func (*Batch) Withdraw(workload.Ref) {}

// Forget implements Gate. Nor is a target kept once it is as its policies want it.
func (b *Batch) Forget(ref workload.Ref) { b.opened.Delete(ref) }
