// Package kinds is the table of policy kinds. Code for each kind of policy (scheme, controllers, webhook, status,
// rights) loops over the table. A new policy is one package below engine/policy and one line here.
package kinds

import (
	"slices"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/deletioncost"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/override"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/policy/tortoise"
	"flyball.dev/flyball/engine/policy/trigger"
)

var (
	all    = slices.Concat(schedule.Kinds(), override.Kinds(), trigger.Kinds(), freeze.Kinds(), deletioncost.Kinds(), tortoise.Kinds())
	acting = slices.DeleteFunc(slices.Clone(all), func(k policy.Row) bool { return !k.ActsOnTargets() })
	byName = index(all)
)

func index(rows []policy.Row) map[string]policy.Row {
	m := make(map[string]policy.Row, len(rows))
	for _, k := range rows {
		m[k.Name] = k
	}
	return m
}

// All returns every kind. The caller must not change the list.
func All() []policy.Row { return all }

// Acting returns the kinds of policies that act on targets. The caller must not change the list.
func Acting() []policy.Row { return acting }

// Find returns the row of a kind; false: unknown name.
func Find(name string) (policy.Row, bool) {
	k, ok := byName[name]
	return k, ok
}
