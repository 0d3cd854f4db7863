package cost

import (
	"context"
	"slices"
	"time"

	"flyball.dev/flyball/engine/poke"
	"flyball.dev/flyball/engine/world"
)

// Changed implements world.Observer: which policies there are says what is to be watched, and which adapters there are, for whose sake costs stay.
func (l *Loop) Changed(_ *world.Snapshot, c *world.Change) {
	for _, p := range c.Policies {
		if p.New == nil {
			l.book.forgetPolicy(p.ID)
			l.metrics.forget(p.ID)
		}
	}
	if len(c.Policies) > 0 || len(c.Kinds) > 0 || c.Judging {
		poke.Poke(l.needs)
	}
}

// followNeeds has pods and nodes watched while some policy orders pods, and while there are costs to be removed: a policy may have gone without
// waiting for that.
func (l *Loop) followNeeds(ctx context.Context) {
	poke.Poke(l.needs)
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.needs:
		}
		needed := false
		var labels []string
		for p := range l.world.Snapshot().Policies {
			if o := p.PodOrderer(); o != nil {
				needed, labels = true, append(labels, o.NodeLabels()...)
			}
		}
		if l.leaving.Store(!needed); !needed {
			if len(l.members.Costed()) == 0 {
				l.members.Drop()
			} else {
				l.MembersSettled()
			}
			continue
		}
		slices.Sort(labels)
		if err := l.members.Need(ctx, slices.Compact(labels)); err != nil && ctx.Err() == nil {
			l.log.Error(err, "pods and nodes are not watched")
			time.AfterFunc(time.Second, func() { poke.Poke(l.needs) })
			continue
		}
		l.members.Refresh()
		l.MembersSettled()
	}
}
