package cost

import (
	"context"
	"slices"
	"time"

	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/world"
)

// AfterPublish implements world.Observer: the policies decide the watches, and the adapters decide which costs stay.
func (l *Actuator) AfterPublish(_ *world.Snapshot, c *world.Change) {
	for _, p := range c.Policies {
		if p.New == nil {
			l.book.forgetPolicy(p.ID)
			l.metrics.forget(p.ID)
		}
	}
	if c.MovesClaims() {
		workers.Poke(l.needs)
	}
}

// followNeeds watches pods and nodes while a policy orders pods, and while costs must be removed: a policy may have
// been removed before its costs.
func (l *Actuator) followNeeds(ctx context.Context) {
	workers.Poke(l.needs)
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.needs:
		}
		needed := false
		var labels []string
		for p := range l.world.Snapshot().Policies {
			if o := p.PodOrderer; o != nil {
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
			l.log.Error(err, "Failed to watch pods and nodes; will retry")
			time.AfterFunc(time.Second, func() { workers.Poke(l.needs) })
			continue
		}
		l.members.Refresh()
		l.MembersSettled()
	}
}
