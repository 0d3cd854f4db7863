package gate

import (
	"context"
	"errors"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Batch lets a write through once the batch of its policy has a place. Without a rate limit it takes no place.
type Batch struct {
	world   *world.World
	batches *apply.Batches
}

// NewBatch returns the gate of the batches.
func NewBatch(w *world.World, b *apply.Batches) *Batch { return &Batch{w, b} }

// Enter implements Gate. It takes a place in the batch of the policy behind the write.
func (b *Batch) Enter(ctx context.Context, w *Write) *Wait {
	key := apply.BatchKey{Policy: w.Verdict.Result.By, Direction: w.Verdict.Result.Direction}
	limit := decide.LimitOf(b.world.Snapshot(), w.Verdict)
	if limit.Batch == 0 {
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

// Leave implements Gate. A write that the API server has accepted uses its place up.
func (b *Batch) Leave(w *Write, end End) *Wait {
	if !end.isAccepted() {
		b.batches.Return(w.place)
	}
	return nil
}

// Withdraw implements Gate. A target that waits for a batch is queued for an instant, and holds nothing.
func (*Batch) Withdraw(workload.Ref) {}

// Forget implements Gate.
func (*Batch) Forget(workload.Ref) {}
