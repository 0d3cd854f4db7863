package freeze

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// maxLooks is the maximum number of windows that the warnings of one rule may examine. A comparison of daily windows over
// a year examines 1464. maxAllLooks is the maximum for all rules together, which takes some tenths of a second.
const maxLooks, maxAllLooks = 4000, 200_000

// Namespaces yields all namespaces with their labels.
type Namespaces func(yield func(name string, labels workload.Pairs) bool)

// Apart returns warnings about maintenance windows over the same objects that are surely never open at the same time as a rule
// within a year. Each of the two denies the changes that the other lets through. Cluster-scoped objects are not
// considered, nor are windows that judge only some subjects or have days of calendars that are not known.
func (s *Set) Apart(r *Rule, namespaces Namespaces, now time.Time) (warnings []string) {
	if !r.closes() {
		return nil
	}
	p := newPairing(namespaces, now, maxLooks)
	reached := p.reached(r)
	for _, other := range s.Rules() {
		if other.id == r.id || !other.closes() {
			continue
		}
		if always := p.shut(r, other, reached); always != 0 {
			warnings = append(warnings, "spec.windows: "+shutText(other, always))
		}
	}
	return warnings
}

// NeverOpen returns, for each maintenance window, texts about other maintenance windows over the same objects that are
// never open at the same time within a year. If there are very many windows, it compares only some of them.
func (s *Set) NeverOpen(namespaces Namespaces, now time.Time) map[workload.Policy][]string {
	own, wide := map[string][]*Rule{}, []*Rule(nil)
	for _, r := range s.Rules() {
		if ns := r.id.Namespace; !r.closes() {
			continue
		} else if ns != "" {
			own[ns] = append(own[ns], r)
		} else {
			wide = append(wide, r)
		}
	}
	p, found := newPairing(namespaces, now, maxAllLooks), map[workload.Policy][]string{}
	compare := func(r *Rule, others []*Rule) {
		reached := p.reached(r)
		for _, other := range others {
			if always := p.shut(r, other, reached); always != 0 {
				found[r.id] = append(found[r.id], shutText(other, always))
				found[other.id] = append(found[other.id], shutText(r, always))
			}
		}
	}
	for i, r := range wide {
		compare(r, wide[i+1:])
	}
	for _, rules := range own {
		for i, r := range rules {
			compare(r, rules[i+1:])
			compare(r, wide)
		}
	}
	for _, texts := range found {
		slices.Sort(texts)
	}
	return found
}

// shutText returns the text about a maintenance window that is never open at the same time as the one that gets the text.
func shutText(other *Rule, always workload.Change) string {
	return fmt.Sprintf("%s selects the same objects, and for a year none of its windows is open at the same time as one of these: without "+
		"an exception, %s is always denied; give both a time in common, or have one select or deny less", other.id,
		strings.Join(always.Names(), ", "))
}

// closes reports whether the rule is a maintenance window that surely refuses changes of everybody outside its windows.
func (r *Rule) closes() bool {
	return r.isWindow() && r.enforcement == v1alpha1.EnforcementDeny && r.judged.everybody() && len(r.missing)+len(r.lost) == 0
}

func (r *Rule) isWindow() bool { return r.id.Kind == WindowKind || r.id.Kind == ClusterWindowKind }

// pairing compares maintenance windows.
type pairing struct {
	spaces map[string]workload.Pairs
	now    time.Time
	looks  int
}

func newPairing(namespaces Namespaces, now time.Time, looks int) *pairing {
	p := &pairing{spaces: map[string]workload.Pairs{}, now: now, looks: looks}
	namespaces(func(name string, labels workload.Pairs) bool {
		p.spaces[name] = labels
		return true
	})
	return p
}

// reached returns the namespaces that a rule reaches, without the protected ones, in some of which changes are never judged.
func (p *pairing) reached(r *Rule) (names []string) {
	if ns := r.id.Namespace; ns != "" {
		if _, known := p.spaces[ns]; known && !r.reach.selector.IsProtected(ns) {
			return []string{ns}
		}
		return nil
	}
	for name, labels := range p.spaces {
		if r.SelectsIn(name, labels) && !r.reach.selector.IsProtected(name) {
			names = append(names, name)
		}
	}
	return names
}

// shut returns the actions that at least one of two maintenance windows denies at each instant of a year; none: no action
// is certain to be denied. reached are the namespaces that a reaches.
func (p *pairing) shut(a, b *Rule, reached []string) workload.Change {
	always := a.deny & b.deny
	if p.looks--; p.looks < 0 || always == 0 || !selector.SurelyShare(a.reach.selector, b.reach.selector) ||
		!slices.ContainsFunc(reached, func(ns string) bool { return b.SelectsIn(ns, p.spaces[ns]) }) {
		return 0
	}
	var apart bool
	apart, p.looks = timeline.Apart(timeline.Not(a.denies), timeline.Not(b.denies), p.now, p.now.AddDate(1, 0, 0), p.looks)
	if !apart {
		return 0
	}
	return always
}
