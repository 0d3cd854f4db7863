package gate

import (
	"context"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/status"
)

// Protector keeps adapters from being deleted.
type Protector interface {
	// PutFinalizer adds the finalizer to the adapter of a kind, so the adapter stays while something has to be
	// restored.
	PutFinalizer(ctx context.Context, k *decide.Kind) error
}

// Finalizer lets a write through once the adapter of its kind has the finalizer. The finalizer stays after the write.
type Finalizer struct {
	placeless
	Protector
}

// Enter implements Gate.
func (f *Finalizer) Enter(ctx context.Context, w *Write) *Wait {
	if err := f.PutFinalizer(ctx, w.Verdict.Kind); err != nil {
		return &Wait{Outcome: status.Outcome{Failure: err.Error()}, Err: err}
	}
	return nil
}
