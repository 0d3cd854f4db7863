package resize

import (
	"context"
	"time"

	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
)

// endBoosts lowers the pods of a target with an expired boost. It does not wait for a freeze, because the pods fall to
// their siblings' requests. It reports whether a pod was written; the watch brings the result.
func (l *Actuator) endBoosts(ctx context.Context, ref workload.Ref, f *workload.Fleet) (wrote bool, err error) {
	now := l.watch.Now()
	server, err := l.opts.Server()
	if err != nil {
		return false, err
	}
	changes, next := podsize.EndBoosts(f, now, server, l.refusals(ref))
	if !next.IsZero() {
		l.queue.AddAfter(ref, next.Sub(now))
	}
	if len(changes) == 0 {
		return false, nil
	}
	done, refused, err := l.writeAll(ctx, ref, workload.Policy{}, changes)
	if err == nil && done+refused < len(changes) {
		l.queue.AddAfter(ref, calm)
	}
	return done > 0, err
}

// knownAfter is the time for which a pod must be ready before missing resources in its status count, because a node may
// report them a moment after the containers run.
const knownAfter = 30 * time.Second

// Unable returns the known reason why pods of a target cannot come down from a boost in place, or "".
func (l *Actuator) Unable(f *workload.Fleet) string {
	server, err := l.opts.Server()
	switch {
	case err != nil:
		return err.Error()
	case server.Unserved:
		return "the API server does not serve pods/resize"
	}
	for _, p := range f.Pods {
		if p.Resize.Unsupported && p.Ready && l.watch.Since(time.Unix(p.Changed, 0)) >= knownAfter {
			return "the node of pod " + p.Name + " does not support changes in place"
		}
	}
	return ""
}

// hasBoosted reports whether some pod still has a boost.
func hasBoosted(f *workload.Fleet) bool {
	for _, p := range f.Pods {
		if _, boosted := podsize.Boosted(p); boosted {
			return true
		}
	}
	return false
}

// asksOfRequests reports whether a plan sets a request of any container. If not, the target is not tuned, and the
// boosts noted on its pods are left alone.
func asksOfRequests(p workload.Plan) bool {
	for key := range p.Amounts {
		if key.Kind != workload.AmountUtilisation {
			return true
		}
	}
	return false
}
