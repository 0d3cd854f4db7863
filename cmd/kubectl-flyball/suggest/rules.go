package suggest

import (
	"fmt"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// rulesFor returns the rules and the name of the Tortoise that would tune a target. If the world has no such Tortoise,
// it returns the default rules.
func rulesFor(memory *world.Memory, target source.Target) (rules v1alpha1.TortoiseRules, from string) {
	var best *world.Policy
	for p := range memory.Policies {
		if p.Tuner == nil || p.Deleting || p.IsBroken() || !selects(memory, p, target) {
			continue
		}
		if best == nil || p.Tuner.Precedence() > best.Tuner.Precedence() ||
			p.Tuner.Precedence() == best.Tuner.Precedence() && p.ID.Compare(best.ID) < 0 {
			best = p
		}
	}
	if best == nil {
		return rules, ""
	}
	rules, _ = tortoise.RulesOf(best.Object)
	return rules, best.ID.String()
}

func selects(memory *world.Memory, p *world.Policy, target source.Target) (found bool) {
	for _, k := range memory.Kinds() {
		if k.GroupKind == target.GroupKind {
			memory.EachSelected(p, k, func(ref workload.Ref) { found = found || ref == target.Ref })
		}
	}
	return found
}

// tunerOf compiles the rules of a Tortoise.
func tunerOf(rules v1alpha1.TortoiseRules) (policy.Tuner, error) {
	tuner, errs := tortoise.NewTuner(rules)
	if len(errs) > 0 {
		return nil, fmt.Errorf("read how to tune: %w", errs.ToAggregate())
	}
	return tuner, nil
}
