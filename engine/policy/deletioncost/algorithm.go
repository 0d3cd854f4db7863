package deletioncost

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// Params are the parameters of a policy besides the name of its algorithm.
type Params struct {
	// SpreadBy are node labels, the most important first.
	SpreadBy []string
	// GoingTaints and GoingLabels identify nodes that are not expected to last.
	GoingTaints []string
	GoingLabels map[string]string
	// Weights are the weights of the algorithms in Weighted.
	Weights []Weight
}

// Weight is the weight of an algorithm.
type Weight struct {
	Name   string
	Weight int32
}

// Algorithm orders pods for deletion. A new algorithm needs a line in the registry, and a function or a type.
type Algorithm interface {
	// Tiers returns a number for each pod of a group. Pods with the lowest number are deleted first. Pods with equal numbers
	// are deleted in any order.
	Tiers(f *workload.Fleet, pods []*workload.Pod, p Params) []int64
}

// byPod is an Algorithm that numbers each pod independently.
type byPod func(*workload.Pod, Params) int64

// Tiers implements Algorithm.
func (of byPod) Tiers(_ *workload.Fleet, pods []*workload.Pod, p Params) []int64 {
	tiers := make([]int64, len(pods))
	for i, pod := range pods {
		tiers[i] = of(pod, p)
	}
	return tiers
}

// registry has every algorithm by its name. Youngest deletes the newest pods first. Oldest deletes the oldest pods first.
var registry = map[string]Algorithm{
	Default:        spread{},
	"Youngest":     byPod(func(p *workload.Pod, _ Params) int64 { return -p.Created }),
	"Oldest":       byPod(func(p *workload.Pod, _ Params) int64 { return p.Created }),
	Occupancy:      byPod(occupancy),
	"NodeLifetime": byPod(lifetime),
	Combined:       weighted{},
}

// Default is the algorithm of a policy that names none.
const Default = "Spread"

// Occupancy is the name of the algorithm that empties nearly idle nodes first. The other pods on a node are counted again
// every lookAgain, because they change while the fleet does not.
const Occupancy = "NodeOccupancy"

// Combined is the name of the algorithm that adds up weighted other algorithms.
const Combined = "Weighted"

// Names returns the names of the algorithms.
func Names() []string {
	return slices.Sorted(maps.Keys(registry))
}

// Known reports whether an algorithm of the name exists.
func Known(name string) bool { _, ok := registry[name]; return ok }

const (
	// grace is the time for which an unready pod counts as ready, because it is expected to become ready.
	grace = 30 * time.Second
	// settling is the time after the last change of a fleet's pods at which a roll-out counts as over.
	settling = 30 * time.Second
	// starting is the time that a new pod may take to become ready during a roll-out. A Deployment counts as stuck after the
	// same time.
	starting = 10 * time.Minute
)

// Make returns the plan for a fleet at an instant. During a roll-out there are no changes, unless
// duringRollOut is true.
func Make(name string, f *workload.Fleet, p Params, duringRollOut bool, now time.Time) workload.CostPlan {
	var out workload.CostPlan
	if over := rollOutEnds(f, now); !duringRollOut && now.Before(over) {
		return workload.CostPlan{RollingOut: true, Again: over}
	}
	expected := func(pod *workload.Pod) workload.PodClass {
		c := workload.PodClassOf(pod)
		if c == workload.PodClassReady || c == 0 {
			return c
		}
		if until := unreadySince(pod).Add(grace); now.Before(until) {
			out.WakeAt(until)
			return workload.PodClassReady
		}
		return c
	}
	if countsOthers(name, p) {
		out.WakeAt(now.Add(lookAgain))
	}
	if name == Default {
		out.Changes = planSpread(f, p, expected)
	} else {
		out.Changes = inTiers(f, func(pods []*workload.Pod) []int64 { return registry[name].Tiers(f, pods, p) })
	}
	slices.SortFunc(out.Changes, func(a, b workload.CostChange) int {
		return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.Pod.Namespace, b.Pod.Namespace), cmp.Compare(a.Pod.Name, b.Pod.Name))
	})
	return out
}

// countsOthers reports whether an algorithm counts the other pods on nodes.
func countsOthers(name string, p Params) bool {
	return name == Occupancy || name == Combined && slices.ContainsFunc(p.Weights, func(w Weight) bool { return w.Name == Occupancy })
}

// rollOutEnds returns the time at which a roll-out counts as over if no further event arrives. It returns zero if all
// pods have the same revision. A roll-out is over 30 s (settling) after the last pod came, went or changed its
// readiness. A pod that is not ready prolongs the roll-out until ten minutes (starting) after the creation of the pod.
func rollOutEnds(f *workload.Fleet, now time.Time) time.Time {
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

func unreadySince(p *workload.Pod) time.Time { return time.Unix(cmp.Or(p.Changed, p.Created), 0) }

// plannable returns the pods of a group whose cost may be set: pods on a known node without a foreign cost. The controller
// deletes pods without a node first, whatever their cost. Pods on a vanished node are about to go.
func plannable(f *workload.Fleet, group []*workload.Pod) []*workload.Pod {
	return slices.DeleteFunc(slices.Clone(group), func(p *workload.Pod) bool { return p.Node == nil || f.IsForeign(p) })
}
