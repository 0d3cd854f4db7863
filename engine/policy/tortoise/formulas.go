package tortoise

import (
	"cmp"

	"flyball.dev/flyball/engine/policy/tortoise/mercari"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
)

// original returns the rules for the profile Tortoise, for the given containers.
func (r *rules) original(containers map[string]tune.Requests) mercari.Rules {
	out := mercari.Rules{Least: map[string]tune.Requests{}, Most: map[string]tune.Requests{}, Cooldown: r.cooldown}
	for _, n := range []struct {
		in *int
		to *int
	}{{r.min, &out.Min}, {r.max, &out.Max}, {r.preferredMax, &out.PreferredMax}} {
		if n.in != nil {
			*n.to = *n.in
		}
	}
	if r.guard.Down != tune.DefaultGuard().Down {
		out.StepDown = r.guard.Down
	}
	for name := range containers {
		rule := r.of(name)
		out.Least[name], out.Most[name] = rule.given.Min, rule.given.Max
		if rule.cpu != "" || rule.memory != "" {
			if out.Asked == nil {
				out.Asked = map[string]mercari.Scalings{}
			}
			out.Asked[name] = mercari.Scalings{CPU: mercari.Scaling(rule.cpu), Memory: mercari.Scaling(rule.memory)}
		}
	}
	return out
}

// original returns the rules for the profile Tortoise, for the containers of the target.
func (m *learner) original() mercari.Rules {
	out := m.rules.original(m.Own)
	for name := range m.Own {
		given := m.rules.of(name).given
		most := tune.Requests{CPU: cmp.Or(given.Max.CPU, tune.Unbounded), Memory: cmp.Or(given.Max.Memory, tune.Unbounded)}
		left := m.narrowed(name, tune.Limits{Min: given.Min, Max: most})
		if left.Max.CPU == tune.Unbounded {
			left.Max.CPU = 0
		}
		if left.Max.Memory == tune.Unbounded {
			left.Max.Memory = 0
		}
		out.Least[name], out.Most[name] = left.Min, left.Max
	}
	return out
}
