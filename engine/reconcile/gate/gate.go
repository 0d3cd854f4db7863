// Package gate has the gates of a write. A write is sent after entering every gate, and afterwards leaves the gates in
// reverse, for every outcome. So one loop returns the place of a write at a gate, such as a place in a batch, and no caller
// can forget to return a place.
package gate

import (
	"context"
	"errors"
	"slices"
	"time"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
)

var (
	// ErrSoon requests another decision after a short pause.
	ErrSoon = errors.New("look again in a moment")
	// ErrBehind is the error for an object that was changed or deleted since it was read. The watch will deliver the
	// change.
	ErrBehind = errors.New("the watch is behind")
	// ErrQueued is the error for a target already queued again.
	ErrQueued = errors.New("queued already")
)

// Gate is a condition for a write to be sent.
type Gate interface {
	// Enter returns nil if the write may go on to the next gate. Otherwise Enter returns the reason to wait, and the gate
	// queues the target when the reason ends, unless the Wait itself says when.
	Enter(ctx context.Context, w *Write) *Wait
	// Leave ends the stay of an entered write. Leave returns the reason for which the target must wait before its
	// next write; nil: none.
	Leave(w *Write, end End) *Wait
	// Withdraw drops the wait of a target whose present decision does not ask to enter.
	Withdraw(ref workload.Ref)
	// Forget drops a deleted target.
	Forget(ref workload.Ref)
}

// Write is the wanted write of a decision about a target, on the way through the gates.
type Write struct {
	Ref workload.Ref
	// Verdict is the decision, and Now its instant. Relatives has the autoscalers and the scale target at that instant.
	Verdict   *decide.Verdict
	Now       time.Time
	Relatives []Relative

	// asked is the number of gates already asked.
	asked int
	// sum identifies the change. corrects is true if the write undoes a change of another writer, whose field manager is
	// other; empty: unknown.
	sum      uint64
	corrects bool
	other    string
	// place is the place in a batch.
	place apply.Place
}

// Wait is the reason why a target must wait.
type Wait struct {
	// Outcome is the reason for users. The zero Outcome leaves the target's state as it is.
	status.Outcome
	// Until is the time of the next decision; zero: only after an event.
	Until time.Time
	// Err is the error of the decision, by which the target is retried; nil: no retry.
	Err error
}

// NotSent is the outcome of a write that was not sent.
const NotSent apply.Outcome = ""

// Opened is the outcome of a write for which an autoscaler was opened. It is sent once the autoscaler's controller has seen its bounds.
const Opened apply.Outcome = "opened"

// End is the end of a write.
type End struct {
	apply.Outcome
	// Err is the error of a write that was refused, failed or could not be sent.
	Err error
}

// isAccepted reports whether the API server accepted the write, even if an admission webhook has undone it.
func (e End) isAccepted() bool { return e.Outcome == apply.Applied || e.Outcome == apply.Unchanged }

// Chain has the gates of a write in the order of entering.
type Chain []Gate

// Pass sends a write after the last gate, and then leaves the entered gates in reverse, also after a panic. wait
// is the reason why the target must wait; nil: none.
func (c Chain) Pass(ctx context.Context, w *Write, send func(context.Context, *Write) End) (end End, wait *Wait) {
	w.sum = digest(w.Verdict.Result)
	entered := 0
	defer func() {
		for _, g := range slices.Backward(c[:entered]) {
			if next := g.Leave(w, end); wait == nil {
				wait = next
			}
		}
		if wait == nil && end.Err != nil {
			wait = &Wait{Outcome: status.Outcome{Failure: end.Err.Error()}, Err: end.Err}
		}
	}()
	for _, g := range c {
		w.asked++
		if wait = g.Enter(ctx, w); wait != nil {
			return end, wait
		}
		entered++
	}
	return send(ctx, w), nil
}

// Withdraw drops the waits of a target at the gates not asked by the write.
func (c Chain) Withdraw(w *Write) {
	for _, g := range c[w.asked:] {
		g.Withdraw(w.Ref)
	}
}

// Forget drops a deleted target.
func (c Chain) Forget(ref workload.Ref) {
	for _, g := range c {
		g.Forget(ref)
	}
}

// placeless is a gate at which nothing has to be given back: neither by a write that leaves, nor for a target that no longer
// waits.
type placeless struct{}

func (placeless) Leave(*Write, End) *Wait { return nil }
func (placeless) Withdraw(workload.Ref)   {}
func (placeless) Forget(workload.Ref)     {}
