package resize

import (
	"context"
	"time"

	"flyball.dev/flyball/engine/fleet"
	"flyball.dev/flyball/engine/fleet/inplace"
	"flyball.dev/flyball/engine/workload"
)

// endBoosts has the pods of a target come down whose boost for their start is over. A freeze is no reason to wait: what they come down to is what their
// siblings have. It reports whether anything was written; the watch brings what the pods are now.
func (l *Loop) endBoosts(ctx context.Context, ref workload.Ref, f *fleet.Fleet) (wrote bool, err error) {
	now := l.watch.Now()
	server, err := l.opts.Server()
	if err != nil {
		return false, err
	}
	changes, next := inplace.EndBoosts(f, now, server, l.refusals(ref))
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

// knownAfter is how long a pod is ready before what its node does not say of its containers counts: a node may say so a moment after they run.
const knownAfter = 30 * time.Second

// Unable says why pods of a target cannot come down from a boost in place; empty: they can, as far as anybody knows.
func (l *Loop) Unable(f *fleet.Fleet) string {
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

// hasBoosted reports whether some pod has a boost for its start still.
func hasBoosted(f *fleet.Fleet) bool {
	for _, p := range f.Pods {
		if _, boosted := p.Boosted(); boosted {
			return true
		}
	}
	return false
}

// asksOfRequests reports whether a plan asks for requests, wherever: what is noted on pods of a target that nobody tunes is nobody's business here.
func asksOfRequests(p workload.Plan) bool {
	for key := range p.Amounts {
		if key.Kind != workload.AmountUtilisation {
			return true
		}
	}
	return false
}
