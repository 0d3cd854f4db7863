package world

import (
	"fmt"
	"maps"
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
	if rule == nil {
		all = s.missing(calendars, "the policy changes nothing until there is one")
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

// missing returns a text for each calendar that does not exist, with the consequence.
func (s *Snapshot) missing(calendars []string, without string) (all []string) {
	for _, name := range calendars {
		if _, known := s.calendars[name]; !known {
			names := slices.Sorted(maps.Keys(s.calendars))
			all = append(all, fmt.Sprintf("calendars: there is no Calendar %s%s; %s", name, workload.Meant(name, names), without))
		}
	}
	return all
}

// LostWarnings returns texts about the lost events of a policy's calendars, about calendars that cannot be read, and about the
// missing calendars of a freeze. Any other policy with a missing calendar is broken, which is an error and no warning.
func (s *Snapshot) LostWarnings(p *policy.Policy, calendars []string) (all []string) {
	if freeze.RuleOf(p) != nil {
		all = s.missing(calendars, "its days do not count until there is one")
	}
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
