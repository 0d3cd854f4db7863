package world

import (
	"slices"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// adviseBy stores the advice in a Recommendation. A Recommendation without numbers is ignored, because nothing has
// been learnt yet.
func (m *Memory) adviseBy(r *v1alpha1.Recommendation) {
	st := &r.Status
	ref := workload.Ref{GroupKind: r.Spec.Target.GroupKind(), Namespace: r.Namespace, Name: r.Spec.Target.Name}
	if len(st.Containers) == 0 {
		return
	}
	a := &workload.Advice{By: workload.ParsePolicy(r.Spec.Policy), Amounts: map[workload.Amount]int64{}, Lines: st.Reasons,
		InPlace: st.Pods != nil, Dry: st.Mode == v1alpha1.TortoiseOff}
	a.OnCreate = !a.InPlace && st.NewPods != nil && slices.ContainsFunc(st.NewPods.Containers,
		func(c v1alpha1.NewContainer) bool { return c.CPU != nil || c.Memory != nil })
	if st.DecidedTime != nil {
		a.AmountsSince, a.BoundsSince = st.DecidedTime.Time, st.DecidedTime.Time
	}
	for _, c := range st.Containers {
		if c.CPU != nil {
			a.Amounts[workload.Amount{Component: c.Name, Resource: workload.CPU}] = c.CPU.Recommended.MilliValue()
		}
		if c.Memory != nil {
			a.Amounts[workload.Amount{Component: c.Name, Resource: workload.Memory}] = c.Memory.Recommended.Value()
		}
	}
	if st.Autoscaler != nil && st.Autoscaler.Name != "" {
		m.adviseAutoscaler(a, ref, st)
	}
	m.Advise(ref, a)
}

// adviseAutoscaler adds the advice for the autoscaler.
func (m *Memory) adviseAutoscaler(a *workload.Advice, ref workload.Ref, st *v1alpha1.RecommendationStatus) {
	low, high := int64(st.Autoscaler.Min.Recommended), int64(st.Autoscaler.Max.Recommended)
	a.Min, a.Max = &low, &high
	for _, g := range m.Autoscalers(ref) {
		k, obj := m.Kind(g.GroupKind), m.Object(g)
		if g.Name != st.Autoscaler.Name || k == nil || obj == nil || st.Autoscaler.Utilisation == nil || st.Demand == nil {
			continue
		}
		for _, u := range k.Adapter.Observe(obj).Utilisation {
			if u.Resource == workload.CPU && (u.Container == "" || u.Container == st.Demand.Container) {
				a.Targets = map[workload.Amount]int64{
					{Kind: workload.AmountUtilisation, Component: u.Container, Resource: u.Resource}: int64(st.Autoscaler.Utilisation.Recommended)}
			}
		}
	}
}
