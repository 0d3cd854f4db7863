package world

import (
	"fmt"
	"slices"
	"time"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// Warnings returns texts about parts of a policy that probably do not have the intended effect, from an instant on.
// The policy must compile apart from its calendars. A warning is no reason for a refusal, because a missing object
// may be created soon.
func (s *Snapshot) Warnings(p *policy.Policy, calendars []string, now time.Time) []string {
	var all []string
	rule := freeze.RuleOf(p)
	without := "the policy changes nothing until there is one"
	if rule != nil {
		without = "its days do not count until there is one"
	}
	for _, name := range calendars {
		if _, known := s.calendars[name]; !known {
			var names []string
			for other := range s.calendars {
				names = append(names, other)
			}
			slices.Sort(names)
			all = append(all, fmt.Sprintf("calendars: there is no Calendar %s%s; %s", name, workload.Meant(name, names), without))
		}
	}
	all = append(all, s.LostWarnings(p, calendars)...)
	if rule != nil {
		for _, u := range p.Target.UnknownSuspends(s.Inventory()) {
			all = append(all, "spec."+u.Message)
		}
		all = append(all, s.set.Apart(rule, s.Inventory().Namespaces, now)...)
	}
	return all
}

// LostWarnings returns texts about the lost events of a policy's calendars, and about calendars that cannot be read.
func (s *Snapshot) LostWarnings(p *policy.Policy, calendars []string) (all []string) {
	for _, name := range calendars {
		text, means := s.Lost(name).String(), "the policy goes on without it"
		switch _, valid := s.Days(name); {
		case text == "":
			continue
		case freeze.RuleOf(p) != nil:
			means = "where this matters, it cannot be said whether changes are frozen, and the policy denies them"
		case !valid:
			means = "the policy changes nothing until it can"
		}
		all = append(all, "calendars: "+text+"; "+means)
	}
	return all
}
