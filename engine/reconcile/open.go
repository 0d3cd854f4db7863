package reconcile

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
)

// open extends the bounds of a target's autoscalers to its next count. If ok is false, the target must not be written
// now and is tried again.
func (l *Loop) open(ctx context.Context, ref workload.Ref, v *decide.Verdict, s sent) (ok bool, err error) {
	for _, g := range decide.Openings(l.world.Snapshot(), v, s.at) {
		if ok, err := l.openOne(ctx, ref, v, &g, s); !ok {
			return false, err
		}
	}
	return true, nil
}

// openOne extends the bounds of one autoscaler. It does not write a contested autoscaler whose pause is not over, and
// returns true.
func (l *Loop) openOne(ctx context.Context, ref workload.Ref, v, g *decide.Verdict, s sent) (ok bool, err error) {
	governor, sum := g.Kind.Ref(g.Object), digest(g.Result)
	corrected := g.Result.Corrected || l.drift.Repeated(governor, sum, s.at)
	if !l.drift.NotBefore(governor, s.at, corrected).IsZero() {
		return true, nil
	}
	if err := l.keeper.PutFinalizer(ctx, g.Kind); err != nil {
		l.giveBack(ref, s)
		l.count(ref, v, status.Outcome{Failure: err.Error()})
		return false, err
	}
	l.unseen.begin(governor, g.Object.ResourceVersion)
	result, err := l.patch(ctx, governor, g)
	switch result {
	case apply.Applied:
		l.announce(governor, g)
		l.drift.Wrote(governor, sum, s.at)
		if corrected {
			l.drift.Corrected(governor, s.at, "")
		}
	case apply.Unchanged: // a webhook undoes the write, but the target is written anyway
		l.drift.Wrote(governor, sum, s.at)
		l.drift.RecordReverted(governor, s.at)
	case apply.Refused, apply.Failed:
		l.giveBack(ref, s)
		if apierrors.IsForbidden(err) {
			l.keeper.Forbidden(g.Kind)
		}
		return false, l.failed(ref, v, s, result, fmt.Errorf("open %s to the new count: %w", governor, err))
	default:
		l.giveBack(ref, s)
		return false, errBehind
	}
	return true, nil
}
