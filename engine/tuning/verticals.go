package tuning

import (
	"context"

	"flyball.dev/flyball/engine/tuning/measure"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// readVerticals reads the VerticalPodAutoscalers. If they cannot be read, the result of the last successful read stays
// in use.
func (l *Actuator) readVerticals(ctx context.Context) {
	if l.opts.Verticals == nil {
		return
	}
	all, err := l.opts.Verticals.List(ctx)
	if ctx.Err() != nil {
		return
	}
	unread, unserved := "", false
	if err != nil {
		unread = err.Error()
	} else {
		l.verticals, unserved = all, !all.Served
	}
	l.tell(l.book.setVerticals(unread, unserved))
}

// makeVertical creates a VerticalPodAutoscaler for a target without one, if its policy asks for it. It returns the
// failure, or "".
func (l *Actuator) makeVertical(ctx context.Context, s *world.Snapshot, ref workload.Ref, p *world.Policy, x *subject) (trouble string) {
	if !p.Tuner.Source().MakesVertical || l.verticals == nil || !l.verticals.Served || len(l.verticals.Of(ref)) > 0 {
		return ""
	}
	meta, err := l.store.meta(ref, x.uid)
	if err != nil {
		return err.Error()
	}
	of := measure.TargetRef{APIVersion: s.Kind(ref.GroupKind).Resource.GroupVersion().String(), Kind: ref.Kind, Name: ref.Name}
	if err := l.opts.Verticals.Make(ctx, meta, of); err != nil {
		return err.Error()
	}
	return ""
}

// tidyVerticals removes created VerticalPodAutoscalers that no policy asks for any more, or whose target has another
// one from a different writer. It reports whether no created VerticalPodAutoscaler is left.
func (l *Actuator) tidyVerticals(ctx context.Context, s *world.Snapshot, tuned map[workload.Ref]*world.Policy) (none bool) {
	if l.verticals == nil {
		return false
	}
	for _, m := range l.verticals.Made {
		k := s.InUse(m.Target.GroupKind)
		if k != nil && !k.Live.HasSynced() {
			continue // the tuning policy is unknown
		}
		if p := tuned[m.Target]; p != nil && p.Tuner.Source().MakesVertical && !l.verticals.HasOthers(m.Target) {
			continue
		}
		if err := l.opts.Verticals.Remove(ctx, m); err != nil {
			l.opts.Log.V(1).Info("Failed to delete a VerticalPodAutoscaler; will retry", "object", m.Namespace+"/"+m.Name, "reason", err.Error())
		}
	}
	return len(l.verticals.Made) == 0
}
