// Package algorithm says which deletion cost each pod of a target is to have, and finds the fewest changes that lead there. It sees
// a fleet and an instant, and no client. An algorithm is one line in the registry, and a function or a type.
package algorithm

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"flyball.dev/flyball/engine/fleet"
)

// Params are what a policy says besides the name of its algorithm.
type Params struct {
	// SpreadBy are node labels, the most important first.
	SpreadBy []string
	// GoingTaints and GoingLabels say of which nodes it is known that they do not last.
	GoingTaints []string
	GoingLabels map[string]string
	// Weights say how much each algorithm counts in Weighted.
	Weights []Weight
}

// Weight is how much an algorithm counts.
type Weight struct {
	Name   string
	Weight int32
}

// Algorithm says how long each pod is to stay.
type Algorithm interface {
	// Tiers gives each pod a number: those of the lowest go first, and those of one number in any order. The pods are those of one
	// group.
	Tiers(f *fleet.Fleet, pods []*fleet.Pod, p Params) []int64
}

// byPod is an Algorithm that gives each pod its number by itself.
type byPod func(*fleet.Pod, Params) int64

// Tiers implements Algorithm.
func (of byPod) Tiers(_ *fleet.Fleet, pods []*fleet.Pod, p Params) []int64 {
	tiers := make([]int64, len(pods))
	for i, pod := range pods {
		tiers[i] = of(pod, p)
	}
	return tiers
}

// planner is an Algorithm that gives costs itself. They have to mean the same in all groups.
type planner interface {
	plan(f *fleet.Fleet, p Params, expected func(*fleet.Pod) fleet.Class) []fleet.Change
}

// refresher is an Algorithm that looks at what changes without a change of the fleet.
type refresher interface {
	// refresh is after which time to look again.
	refresh(p Params) time.Duration
}

// registry has every algorithm by its name. Youngest has the pods go first that were made last, Oldest those that were made first.
var registry = map[string]Algorithm{
	"Spread":        spread{},
	"Youngest":      byPod(func(p *fleet.Pod, _ Params) int64 { return -p.Created }),
	"Oldest":        byPod(func(p *fleet.Pod, _ Params) int64 { return p.Created }),
	"NodeOccupancy": nodeOccupancy{byPod(occupancy)},
	"NodeLifetime":  byPod(lifetime),
	"Weighted":      weighted{},
}

// Default is the algorithm of a policy that names none.
const Default = "Spread"

// Combined is the algorithm that others are listed for.
const Combined = "Weighted"

// Names lists the algorithms there are.
func Names() []string {
	return slices.Sorted(maps.Keys(registry))
}

// Known says whether there is an algorithm of a name.
func Known(name string) bool { _, ok := registry[name]; return ok }

const (
	// grace is how long a pod that is not ready is expected to become so.
	grace = 30 * time.Second
	// settling is how long pods of several revisions have to stay as they are for a roll-out to be over.
	settling = 30 * time.Second
	// starting is how long a new pod may take to become ready while the roll-out that made it goes on: the time after which a
	// Deployment counts as stuck.
	starting = 10 * time.Minute
)

// Make plans for a fleet at an instant. While a roll-out is under way there are no changes, unless duringRollOut says so.
func Make(name string, f *fleet.Fleet, p Params, duringRollOut bool, now time.Time) fleet.Plan {
	var out fleet.Plan
	if over := rollOutEnds(f, now); !duringRollOut && now.Before(over) {
		return fleet.Plan{RollingOut: true, Again: over}
	}
	expected := func(pod *fleet.Pod) fleet.Class {
		c := fleet.ClassOf(pod)
		if c == fleet.ClassReady || c == 0 {
			return c
		}
		if until := unreadySince(pod).Add(grace); now.Before(until) {
			out.WakeAt(until)
			return fleet.ClassReady
		}
		return c
	}
	a := registry[name]
	if r, ok := a.(refresher); ok {
		if every := r.refresh(p); every > 0 {
			out.WakeAt(now.Add(every))
		}
	}
	if own, ok := a.(planner); ok {
		out.Changes = own.plan(f, p, expected)
	} else {
		out.Changes = inTiers(f, func(pods []*fleet.Pod) []int64 { return a.Tiers(f, pods, p) })
	}
	slices.SortFunc(out.Changes, func(a, b fleet.Change) int {
		return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.Pod.Namespace, b.Pod.Namespace), cmp.Compare(a.Pod.Name, b.Pod.Name))
	})
	return out
}

// rollOutEnds is when a roll-out is over if nothing happens until then: pods of several revisions exist, and one came, went or changed its
// readiness a moment ago, or is starting.
func rollOutEnds(f *fleet.Fleet, now time.Time) time.Time {
	if f.Revisions() < 2 {
		return time.Time{}
	}
	over := f.Moved.Add(settling)
	for _, p := range f.Pods {
		if until := time.Unix(p.Created, 0).Add(starting); !p.Ready && until.After(over) && until.After(now) {
			over = until
		}
	}
	return over
}

func unreadySince(p *fleet.Pod) time.Time { return time.Unix(cmp.Or(p.Changed, p.Created), 0) }

// plannable are the pods of a group whose cost may be set and is worth setting: those that are on a known node. The others go
// first whatever they cost, or are about to vanish with their node.
func plannable(f *fleet.Fleet, group []*fleet.Pod) []*fleet.Pod {
	return slices.DeleteFunc(slices.Clone(group), func(p *fleet.Pod) bool { return p.Node == nil || f.IsForeign(p) })
}
