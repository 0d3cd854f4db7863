package reconcile

import (
	"cmp"
	"context"
	"fmt"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/reconcile/gate"
)

// open extends the bounds of a target's autoscalers to its next count. It returns nil if the target may be written now.
// Otherwise it returns the end of the target's write.
func (l *Loop) open(ctx context.Context, w *gate.Write) (opened *gate.End) {
	for _, g := range decide.Openings(l.world.Snapshot(), w.Verdict, w.Now) {
		end := l.openOne(ctx, &gate.Write{Ref: g.Kind.Ref(g.Object), Verdict: &g, Now: w.Now})
		if end != nil && end.Outcome != gate.Opened {
			return end
		}
		opened = cmp.Or(opened, end)
	}
	return opened
}

// openOne extends the bounds of one autoscaler. It does not write a contested autoscaler whose pause is not over, and
// returns nil. It also returns nil if a webhook undoes the write, and the target is written anyway.
func (l *Loop) openOne(ctx context.Context, w *gate.Write) *gate.End {
	end, wait := l.openings.Pass(ctx, w, l.patch)
	switch {
	case end.Outcome == apply.Applied:
		l.announce(w.Ref, w.Verdict)
		return &gate.End{Outcome: gate.Opened}
	case end.Outcome == apply.Unchanged, end.Outcome == gate.NotSent && wait.Err == nil:
		return nil
	case end.Outcome == gate.NotSent:
		return &gate.End{Err: wait.Err}
	case end.IsFailure():
		end.Err = fmt.Errorf("open %s to the new count: %w", w.Ref, end.Err)
	}
	return &end
}
