package gate

import (
	"context"
	"fmt"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
)

// Verdict lets a write through if the adapter of its kind is usable, the records of owners are read, and no other object
// has to be written, or to be seen by its controller, first.
type Verdict struct {
	placeless
	// Failing returns the error of another target that counts as failed. Queue queues another target.
	Failing func(workload.Ref) (why string, failing bool)
	Queue   func(...workload.Ref)
}

// Enter implements Gate.
func (g *Verdict) Enter(_ context.Context, w *Write) *Wait {
	is := w.Verdict.Gate
	out := status.Outcome{Waiting: is.Reason}
	switch is.Kind {
	case decide.GateBlocked:
		out.Failure = is.Reason
	case decide.GateUnread, decide.GateUnreported:
	case decide.GateOther:
		if why, failing := g.Failing(is.First); failing {
			out.Failure = fmt.Sprintf("%s, which fails: %s", is.Reason, why)
		} else {
			g.Queue(is.First)
		}
	default:
		return nil
	}
	return &Wait{Outcome: out, Until: is.Until}
}
