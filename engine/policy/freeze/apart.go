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

// maxLooks bounds the number of examined windows of maintenance windows for one rule's warnings: a year of daily windows
// takes 1464.
const maxLooks = 4000

// Apart returns warnings about maintenance windows over the same objects that are never open together with a rule within a year:
// each denies the changes that the other lets through. Cluster-scoped objects are left out. namespaces yields all namespaces.
func (s *Set) Apart(r *Rule, namespaces func(yield func(name string, labels workload.Pairs) bool), now time.Time) (warnings []string) {
	if !r.isWindow() || r.enforcement != v1alpha1.EnforcementDeny {
		return nil
	}
	var reached []workload.Object
	namespaces(func(name string, labels workload.Pairs) bool {
		if r.SelectsIn(name, labels) {
			reached = append(reached, workload.Object{Name: name, Labels: labels})
		}
		return true
	})
	looks, open := maxLooks, timeline.Not(r.denies)
	for _, other := range s.Rules() {
		common := other.deny & r.deny
		if other.id == r.id || !other.isWindow() || other.enforcement != r.enforcement || common == 0 ||
			!selector.MayShare(r.reach.selector, other.reach.selector) ||
			!slices.ContainsFunc(reached, func(ns workload.Object) bool { return other.SelectsIn(ns.Name, ns.Labels) }) {
			continue
		}
		var apart bool
		if apart, looks = timeline.Apart(open, timeline.Not(other.denies), now, now.AddDate(1, 0, 0), looks); apart {
			warnings = append(warnings,
				fmt.Sprintf("spec.windows: %s selects the same objects, and for a year none of its windows is open at the same time as one of "+
					"these: %s is always denied",
					other.id, strings.Join(common.Names(), ", ")))
		}
	}
	return warnings
}

func (r *Rule) isWindow() bool { return r.id.Kind == WindowKind || r.id.Kind == ClusterWindowKind }
