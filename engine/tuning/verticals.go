package tuning

import (
	"context"

	"flyball.dev/flyball/engine/usage/vertical"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// readVerticals takes down which VerticalPodAutoscalers there are. While they cannot be read those known last count.
func (l *Loop) readVerticals(ctx context.Context) {
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

// makeVertical makes a VerticalPodAutoscaler for a target that has none, if its policy asks for one. It gives what is wrong with that.
func (l *Loop) makeVertical(ctx context.Context, s *world.Snapshot, ref workload.Ref, p *world.Policy, x *subject) (trouble string) {
	if !p.Tuner().Source().MakesVertical || l.verticals == nil || !l.verticals.Served || len(l.verticals.Of(ref)) > 0 {
		return ""
	}
	meta, err := l.store.meta(ref, x.uid)
	if err != nil {
		return err.Error()
	}
	of := vertical.Of{APIVersion: s.Kind(ref.GroupKind).Resource.GroupVersion().String(), Kind: ref.Kind, Name: ref.Name}
	if err := l.opts.Verticals.Make(ctx, meta, of); err != nil {
		return err.Error()
	}
	return ""
}

// tidyVerticals removes what was made and is not asked for any more, or stands beside one of somebody else. It says whether nothing that was
// made is left.
func (l *Loop) tidyVerticals(ctx context.Context, s *world.Snapshot, tuned map[workload.Ref]*world.Policy) (none bool) {
	if l.verticals == nil {
		return false
	}
	for _, m := range l.verticals.Made {
		k := s.InUse(m.Target.GroupKind)
		if k != nil && !k.Live.HasSynced() {
			continue // nobody knows who tunes it
		}
		if p := tuned[m.Target]; p != nil && p.Tuner().Source().MakesVertical && !l.verticals.HasOthers(m.Target) {
			continue
		}
		if err := l.opts.Verticals.Remove(ctx, m); err != nil {
			l.opts.Log.V(1).Info("what was made will be removed later", "object", m.Namespace+"/"+m.Name, "reason", err.Error())
		}
	}
	return len(l.verticals.Made) == 0
}
