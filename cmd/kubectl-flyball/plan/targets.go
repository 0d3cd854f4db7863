package plan

import (
	"slices"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// policies returns, for each target, the policies that act on it or, through its autoscalers, on its size, in order.
func policies(memory *world.Memory) map[workload.Ref][]string {
	all := map[workload.Ref][]string{}
	memory.EachObject(func(ref workload.Ref) {
		for _, s := range decide.SizedBy(memory, ref) {
			all[ref] = append(all[ref], s.Policy.ID.String())
		}
	})
	memory.Policies(func(p *world.Policy) bool {
		if !p.IsBroken() && p.Kind.ActsOnTargets() {
			memory.EachTarget(p, func(ref workload.Ref) { all[ref] = append(all[ref], p.ID.String()) })
		}
		return true
	})
	for ref, list := range all {
		slices.Sort(list)
		all[ref] = slices.Compact(list)
	}
	return all
}

// Policies returns the policies that act on the target, in order, or else those that have left a value on it. An object without
// such policies is no target, although a policy may write it for the sake of a target.
func (t *Timeline) Policies() []string {
	if len(t.policies) > 0 {
		return t.policies
	}
	return t.Steps[0].By
}
