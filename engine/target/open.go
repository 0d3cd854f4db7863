package target

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// open opens the governors of a target to the count that it is about to get. Where ok is false the target is tried again.
func (l *Loop) open(ctx context.Context, ref workload.Ref, v *decide.Verdict, s sent) (ok bool, err error) {
	for _, g := range decide.Openings(l.world.Snapshot(), v, s.at) {
		governor, sending := g.Kind.Ref(g.Object), time.Now()
		result, err := l.writer.Apply(ctx, g.Kind.Resource, g.Object, g.Result.Patch)
		l.metrics.wrote(&g, result, time.Since(sending))
		switch result {
		case apply.Applied:
			l.announce(governor, &g)
			l.drift.Wrote(governor, digest(g.Result), s.at)
		case apply.Unchanged: // a webhook undoes it, which the governor is told of in its own turn
		case apply.Refused:
			l.giveBack(ref, s)
			if apierrors.IsForbidden(err) {
				l.keeper.Forbidden(g.Kind)
			}
			return false, l.rejected(ref, v, s, fmt.Errorf("open %s to the new count: %w", governor, err))
		default:
			l.giveBack(ref, s)
			l.refused.Forget(ref)
			return false, errBehind
		}
	}
	return true, nil
}
