package tortoise

import (
	"flyball.dev/flyball/engine/policy/tortoise/classic"
	"flyball.dev/flyball/engine/policy/tortoise/optimize"
	"flyball.dev/flyball/engine/policy/tortoise/original"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
)

// original gives what the profile Tortoise is told, for containers that there are.
func (r *rules) original(containers map[string]tune.Request) original.Rules {
	out := original.Rules{Least: map[string]tune.Request{}, Most: map[string]tune.Request{}, Cooldown: r.cooldown}
	for _, n := range []struct {
		in *int
		to *int
	}{{r.min, &out.Min}, {r.max, &out.Max}, {r.preferredMax, &out.PreferredMax}} {
		if n.in != nil {
			*n.to = *n.in
		}
	}
	if r.guard.Down != optimize.DefaultGuard().Down {
		out.StepDown = r.guard.Down
	}
	for name := range containers {
		rule := r.of(name)
		out.Least[name] = givenOf(rule.limits.Min, rule.given.minCPU, rule.given.minMemory)
		out.Most[name] = givenOf(rule.limits.Max, rule.given.maxCPU, rule.given.maxMemory)
		if rule.cpu != "" || rule.memory != "" {
			if out.Asked == nil {
				out.Asked = map[string]classic.Scalings{}
			}
			out.Asked[name] = classic.Scalings{CPU: classic.Scaling(rule.cpu), Memory: classic.Scaling(rule.memory)}
		}
	}
	return out
}

// givenOf leaves out what the spec does not give.
func givenOf(r tune.Request, cpu, memory bool) tune.Request {
	if !cpu {
		r.CPU = 0
	}
	if !memory {
		r.Memory = 0
	}
	return r
}
