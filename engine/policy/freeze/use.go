package freeze

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// Use is a set of actions that rules have to judge, by where: in all namespaces and outside of them, and, besides, in some.
type Use struct {
	Everywhere workload.Change
	In         map[string]workload.Change
}

// All is what is judged anywhere.
func (u Use) All() workload.Change {
	all := u.Everywhere
	for _, actions := range u.In {
		all |= actions
	}
	return all
}

// add adds actions where a rule may select objects. One that reaches namespaces by their labels may do so in each.
func (u *Use) add(r *Rule, actions workload.Change) {
	named, byLabels := r.reach.selector.Namespaces()
	if byLabels || len(named) == 0 {
		u.Everywhere |= actions
		return
	}
	if u.In == nil {
		u.In = map[string]workload.Change{}
	}
	for _, ns := range named {
		u.In[ns] |= actions
	}
}

// InUse is what some rule that is not over has to judge on objects of a kind: the actions that it denies, and
// RollOut, which stands for every update, where it refuses that objects leave it by their labels. Objects outside namespaces
// are reached only by cluster policies that list their kind.
func (s *Set) InUse(kind schema.GroupKind, clusterScoped bool, now time.Time) Use {
	var all Use
	for _, r := range s.rules {
		if r.Over(now) || !r.reach.selector.MatchesKind(kind) {
			continue
		}
		actions := r.deny
		if r.refusesLeaving {
			actions |= workload.ChangeRollOut
		}
		switch {
		case !clusterScoped:
			all.add(r, actions)
		case r.id.Namespace == "" && r.reach.selector.ListsKind(kind):
			all.Everywhere |= actions
		}
	}
	return all
}

// ScaleInUse is where some rule that is not over denies that objects of any kind are scaled.
func (s *Set) ScaleInUse(now time.Time) Use {
	var all Use
	for _, r := range s.rules {
		if !r.Over(now) && r.deny.Has(workload.ChangeScale) {
			all.add(r, workload.ChangeScale)
		}
	}
	return all
}
