package tortoise

import (
	"fmt"
	"slices"
	"strings"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// othersAmong returns the requests that a VerticalPodAutoscaler changes itself, each with the name of the
// VerticalPodAutoscaler. Flyball does not tune these requests, because two writers would overwrite each other. In mode Off
// it returns nothing, because Flyball changes no request.
func (m *learner) othersAmong(seen policy.Seen) map[workload.Amount]string {
	if isOff(m.rules.mode) {
		return nil
	}
	others := map[workload.Amount]string{}
	for _, v := range slices.Backward(seen.Verticals) {
		for name := range m.Own {
			for _, of := range []workload.Resource{workload.CPU, workload.Memory} {
				if v.Changes(name, of) {
					others[request(name, of)] = v.Name
				}
			}
		}
	}
	return others
}

// recommender returns the VerticalPodAutoscaler whose recommendation is used. It is the first by name with a
// recommendation. If none recommends anything, it is the first by name.
func recommender(all []policy.SeenVertical) *policy.SeenVertical {
	for i := range all {
		if len(all[i].Recommended) > 0 {
			return &all[i]
		}
	}
	if len(all) > 0 {
		return &all[0]
	}
	return nil
}

// vertical returns the VerticalPodAutoscaler's recommendation by container, or nil if requests have another source.
func (m *learner) vertical(seen policy.Seen) map[string]tune.Vertical {
	v := recommender(seen.Verticals)
	if !m.rules.source.Vertical || v == nil {
		return nil
	}
	all := map[string]tune.Vertical{}
	for name, r := range v.Recommended {
		all[name] = tune.Vertical{By: v.Name, Target: requestOf(r.Target), Lower: requestOf(r.Lower), Upper: requestOf(r.Upper),
			Unsure: v.LowConfidence}
	}
	return all
}

func requestOf(r workload.Requests) tune.Requests {
	return tune.Requests{CPU: r.MilliCPU, Memory: r.MemoryBytes}
}

// verticalTrouble returns the VerticalPodAutoscalers that change requests themselves, and the reason if none recommends
// anything; empty: no trouble.
func (m *learner) verticalTrouble(seen policy.Seen) string {
	var all []string
	for _, v := range seen.Verticals {
		var requests []string
		for _, of := range workload.SortedAmounts(m.others) {
			if m.others[of] == v.Name {
				requests = append(requests, of.String())
			}
		}
		if len(requests) > 0 {
			all = append(all,
				fmt.Sprintf("VerticalPodAutoscaler %s (update mode %s) changes its requests (%s) itself: they are left to it. With the mode Off "+
					"it would only recommend", v.Name, v.Mode, strings.Join(requests, ", ")))
		}
	}
	if why := m.withoutVertical(seen); why != "" {
		all = append(all, why)
	}
	return strings.Join(all, "; ")
}

// withoutVertical returns the reason why requests stay because no VerticalPodAutoscaler recommends anything; empty: there
// is no such reason.
func (m *learner) withoutVertical(seen policy.Seen) string {
	v := recommender(seen.Verticals)
	switch {
	case !m.rules.source.Vertical:
		return ""
	case v == nil:
		return "spec.history.source is VerticalPodAutoscaler, and none is for it: requests stay"
	case len(v.Recommended) > 0:
		return ""
	case v.NoPods:
		return fmt.Sprintf("VerticalPodAutoscaler %s finds no pods, so requests stay: %s", v.Name, v.Message)
	case v.Message != "":
		return fmt.Sprintf("VerticalPodAutoscaler %s recommends nothing yet, so requests stay: %s", v.Name, v.Message)
	}
	return fmt.Sprintf("VerticalPodAutoscaler %s recommends nothing yet, so requests stay. If that lasts, no recommender runs", v.Name)
}
