package tortoise

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// advise turns a setting into advice for the target and its autoscaler, with the lines of the reasons. It returns nil if there is too
// little history. Earlier values then stay.
func (m *learner) advise(seen policy.Seen, r tune.Recommendation, lines []string) *workload.Advice {
	if r.Phase == tune.Initializing || r.Phase == tune.GatheringData {
		return nil
	}
	a := &workload.Advice{Amounts: map[workload.Amount]int64{}, Lines: lines, InPlace: m.inPlace(seen.Pods), OnCreate: seen.Pods.Able &&
		m.rules.apply == v1alpha1.ApplyOnCreate, Dry: m.Off, Back: m.isBack()}
	for name, r := range m.Setting.Requests {
		if m.tunes(name, workload.CPU) {
			a.Amounts[request(name, workload.CPU)] = r.CPU
		}
		if m.tunes(name, workload.Memory) {
			a.Amounts[request(name, workload.Memory)] = r.Memory
		}
	}
	if m.horizontal(seen) && !r.Unbound {
		m.adviseAutoscaler(a, seen.Autoscaler, r.Targets)
	}
	if last := m.last(); m.AmountsSince.IsZero() || !last.SameAmounts(a) {
		m.AmountsSince = seen.Now
	}
	if last := m.last(); !r.Unbound && (m.BoundsSince.IsZero() || !last.SameBounds(a)) {
		m.BoundsSince = seen.Now
	}
	m.Asked = asked{Amounts: listed(a.Amounts), Min: a.Min, Max: a.Max, Targets: listed(a.Targets)}
	a.AmountsSince, a.BoundsSince = m.AmountsSince, m.BoundsSince
	return a
}

// lines returns the reasons in order, a line each.
func (m *learner) lines() []string {
	lines := slices.Sorted(maps.Keys(m.Reasons))
	for i, of := range lines {
		lines[i] = of + ": " + m.Reasons[of]
	}
	return slices.Clip(lines)
}

// inPlace reports whether the pods themselves are changed, and not the template. Once the template was changed because of
// an infeasible pod, later changes go into the template too. To restore the template would be a roll-out back to the old
// requests.
func (m *learner) inPlace(pods policy.SeenPods) bool {
	m.Template = m.rules.apply == v1alpha1.ApplyInPlaceOrRollOut && !m.Off && (m.Template || pods.InTemplate || pods.Refused)
	return pods.Able && m.rules.apply != v1alpha1.ApplyRollOut && m.rules.apply != v1alpha1.ApplyOnCreate && !m.Template
}

// adviseAutoscaler adds the advice for an autoscaler. An autoscaler that may go to zero keeps its minimum.
func (m *learner) adviseAutoscaler(a *workload.Advice, g *policy.SeenAutoscaler, targets []tune.Target) {
	if !leavesMin(g) {
		a.Min = ptr.To(int64(m.Setting.Min))
	}
	a.Max = ptr.To(int64(m.Setting.Max))
	if targets == nil && m.Setting.Utilisation > 0 {
		targets = []tune.Target{{Container: m.Scaled, Percent: m.Setting.Utilisation}}
	}
	for _, u := range g.Utilisation {
		for _, t := range targets {
			of := u.Container == t.Container || u.Container == "" && t.Container == m.Scaled
			if !of || (u.Resource == workload.Memory) != t.Memory {
				continue
			}
			if a.Targets == nil {
				a.Targets = map[workload.Amount]int64{}
			}
			a.Targets[workload.Amount{Kind: workload.AmountUtilisation, Component: u.Container, Resource: u.Resource}] = int64(t.Percent)
		}
	}
}

// leavesMin reports whether the minimum of an autoscaler is not changed, because its owner lets the autoscaler go to zero.
func leavesMin(g *policy.SeenAutoscaler) bool {
	return g != nil && g.Bounds.Min != nil && *g.Bounds.Min <= 0
}

func request(name string, of workload.Resource) workload.Amount {
	return workload.Amount{Kind: workload.AmountRequest, Component: name, Resource: of}
}

// report returns the Recommendation's status, with the lines of the reasons.
func (m *learner) report(seen policy.Seen, spec tune.Spec, r tune.Recommendation, lines []string) v1alpha1.RecommendationStatus {
	st := v1alpha1.RecommendationStatus{Phase: string(r.Phase), PhaseReason: m.Reasons["phase"]}
	if r.Phase == tune.Initializing || r.Phase == tune.GatheringData {
		return st
	}
	decided := m.AmountsSince
	if m.BoundsSince.After(decided) {
		decided = m.BoundsSince
	}
	st.DecidedTime = &metav1.Time{Time: decided.Truncate(time.Second)}
	for _, name := range slices.Sorted(maps.Keys(m.Setting.Requests)) {
		st.Containers = append(st.Containers, m.reportContainer(name))
	}
	st.NewPods, st.TakenBack = m.withBoost(m.newPods(), seen), m.takenBack()
	st.Autoscaler = m.reportAutoscaler(seen, spec)
	hours := m.tuner.Hours(spec, seen.Now, m.Setting.Requests[m.Scaled].CPU)
	if leavesMin(seen.Autoscaler) {
		hours = nil
	}
	for _, n := range hours {
		st.Autoscaler.MinByHour, st.Autoscaler.TimeZone = append(st.Autoscaler.MinByHour, int32(n)), m.rules.zone.String()
	}
	if r.Upper > 0 {
		st.Demand = &v1alpha1.RecommendedDemand{Container: m.Scaled, Expected: milli(int64(r.Demand)), Upper: milli(int64(r.Upper)),
			Loss: int64(1000 * r.Loss)}
	}
	n := min(len(lines), maxReasons)
	st.Reasons = lines[:n:n]
	return st
}

// newPods returns the settings of runtimes for the containers of created pods, or nil. The requests of these containers
// come from the merged plan of all policies.
func (m *learner) newPods() *v1alpha1.NewPods {
	if m.rules.runtime == (v1alpha1.TunedRuntime{}) || isOff(m.rules.mode) {
		return nil
	}
	n := &v1alpha1.NewPods{GoMaxProcs: m.rules.runtime.GoMaxProcs, GoMemLimit: m.rules.runtime.GoMemLimit}
	for _, name := range slices.Sorted(maps.Keys(m.Own)) {
		n.Containers = append(n.Containers, v1alpha1.NewContainer{Name: name})
	}
	return n
}

// maxReasons is the maximum number of reasons in a Recommendation.
const maxReasons = 64

func (m *learner) reportContainer(name string) v1alpha1.RecommendedContainer {
	own, now := m.Own[name], m.Setting.Requests[name]
	c := v1alpha1.RecommendedContainer{Name: name}
	if own.CPU > 0 {
		c.CPU = &v1alpha1.RecommendedRequest{Own: ptr.To(milli(own.CPU)), Recommended: milli(now.CPU),
			Reason: m.why(name, workload.CPU, m.Reasons[tune.CPUReason(m.Scaled, name)]) + m.limitText(name, workload.CPU)}
	}
	if own.Memory > 0 {
		c.Memory = &v1alpha1.RecommendedRequest{Own: ptr.To(inBytes(own.Memory)), Recommended: inBytes(now.Memory),
			Reason: m.why(name, workload.Memory, m.Reasons[name+" memory"]) + m.limitText(name, workload.Memory)}
	}
	return c
}

// why returns the reason for a request.
func (m *learner) why(name string, of workload.Resource, reason string) string {
	switch other := m.others[request(name, of)]; {
	case other != "":
		return "VerticalPodAutoscaler " + other + " changes it: it is left to that"
	case !m.tunes(name, of):
		return "spec.resources says Off"
	case reason == "":
		return "as its owner has it: too little is known yet"
	}
	return reason
}

func (m *learner) reportAutoscaler(seen policy.Seen, spec tune.Spec) *v1alpha1.RecommendedAutoscaler {
	a := &v1alpha1.RecommendedAutoscaler{
		Min: v1alpha1.RecommendedNumber{Recommended: int32(m.Setting.Min), Reason: m.Reasons["min"]},
		Max: v1alpha1.RecommendedNumber{Recommended: int32(m.Setting.Max), Reason: "spec.replicas.max"},
	}
	if why := m.Reasons["max"]; why != "" {
		a.Max.Reason = why
	} else if m.rules.max == nil {
		a.Max.Reason = "what the owner has"
	}
	if m.Setting.Utilisation > 0 {
		a.Utilisation = &v1alpha1.RecommendedNumber{Recommended: int32(m.Setting.Utilisation), Reason: m.Reasons["utilisation"]}
	}
	g := seen.Autoscaler
	switch {
	case g == nil:
		a.Min.Reason = fmt.Sprintf("no autoscaler governs it: its %s stay", workload.Count(spec.Bounds.Min, "replica"))
		a.Max.Reason = a.Min.Reason
		return a
	case !m.horizontal(seen):
		a.Min.Reason = fmt.Sprintf("the CPU of %s is %s: bounds stay", m.Scaled, m.rules.of(m.Scaled).cpu)
		a.Max.Reason = a.Min.Reason
		least, greatest := ownBounds(g, seen.Replicas)
		a.Min.Recommended, a.Max.Recommended, a.Utilisation = int32(least), int32(greatest), nil
	case leavesMin(g):
		a.Min.Recommended, a.Min.Reason = 0, "its owner has 0, which is left alone. Else "+a.Min.Reason
	}
	a.Kind, a.Name = g.GroupKind.String(), g.Name
	a.Min.Own, a.Max.Own = number(g.Bounds.Min), number(g.Bounds.Max)
	if u := utilisationOf(g, m.Scaled); u > 0 && a.Utilisation != nil {
		a.Utilisation.Own = ptr.To(int32(u))
	} else {
		a.Utilisation = nil
	}
	return a
}

func number(n *int64) *int32 {
	if n == nil {
		return nil
	}
	return ptr.To(int32(min(*n, mostReplicas)))
}

func milli(n int64) resource.Quantity { return *resource.NewMilliQuantity(n, resource.DecimalSI) }

func inBytes(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.BinarySI) }

// saved returns the owner's requests minus the recommended requests, over all pods.
func (m *learner) saved(seen policy.Seen) workload.Requests {
	var s workload.Requests
	for name, own := range m.Own {
		now := m.Setting.Requests[name]
		s.MilliCPU += (own.CPU - now.CPU) * int64(seen.Replicas)
		s.MemoryBytes += (own.Memory - now.Memory) * int64(seen.Replicas)
	}
	return s
}
