package freeze

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// Use is a set of actions that rules judge. Everywhere has the actions judged in all namespaces and for cluster-scoped
// objects. In has the actions judged additionally in single namespaces.
type Use struct {
	Everywhere workload.Change
	In         map[string]workload.Change
}

// All returns the actions judged anywhere.
func (u Use) All() workload.Change {
	all := u.Everywhere
	for _, actions := range u.In {
		all |= actions
	}
	return all
}

// add adds actions for the places where a rule may select objects. A rule that selects namespaces by labels or globs may
// select objects in every namespace.
func (u *Use) add(r *Rule, actions workload.Change) {
	named, others := r.reach.selector.Namespaces()
	if others || len(named) == 0 {
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

// InUse returns the actions on objects of a kind that rules deny. Rules that are over do not count. If a rule refuses that
// objects leave it by an edit of labels, RollOut is included, because RollOut stands for every update. Cluster-scoped
// objects are reached only by cluster policies that list their kind.
func (s *Set) InUse(kind schema.GroupKind, clusterScoped bool, now time.Time) Use {
	var all Use
	for _, r := range s.rules {
		has := func(h reach) bool {
			return h.selector.MatchesKind(kind) && (!clusterScoped || r.id.Namespace == "" && h.selector.ListsKind(kind))
		}
		var actions workload.Change
		if has(r.reach) {
			actions = r.deny
		}
		if r.refusesLeaving && slices.ContainsFunc(r.held, has) {
			actions |= workload.ChangeRollOut
		}
		switch {
		case actions == 0 || r.Over(now):
		case clusterScoped:
			all.Everywhere |= actions
		default:
			all.add(r, actions)
		}
	}
	return all
}

// ScaleInUse returns the places where some rule that is not over denies Scale for any kind.
func (s *Set) ScaleInUse(now time.Time) Use {
	var all Use
	for _, r := range s.rules {
		if !r.Over(now) && r.deny.Has(workload.ChangeScale) {
			all.add(r, workload.ChangeScale)
		}
	}
	return all
}
