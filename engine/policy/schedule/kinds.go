package schedule

import (
	"slices"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/times"
)

// Kinds returns the rows of schedules in the table of policy kinds.
func Kinds() []policy.Row {
	return policy.Pair(Kind, "schedules", "fsch",
		policy.NewKind[v1alpha1.Schedule, v1alpha1.ScheduleList](Compile, func(s *v1alpha1.Schedule) policy.Meta {
			return parts(s.Spec.Target, &s.Spec.ScheduleRules, &s.Status)
		}),
		policy.NewKind[v1alpha1.ClusterSchedule, v1alpha1.ClusterScheduleList](CompileCluster, func(s *v1alpha1.ClusterSchedule) policy.Meta {
			return parts(s.Spec.Target, &s.Spec.ScheduleRules, &s.Status)
		}))
}

// TargetOf returns the target section of a schedule; false: the object is no schedule.
func TargetOf(obj policy.Object) (v1alpha1.ClusterTargetSelector, bool) {
	switch s := obj.(type) {
	case *v1alpha1.Schedule:
		return v1alpha1.ClusterTargetSelector{TargetSelector: s.Spec.Target}, true
	case *v1alpha1.ClusterSchedule:
		return s.Spec.Target, true
	}
	return v1alpha1.ClusterTargetSelector{}, false
}

func parts(target any, rules *v1alpha1.ScheduleRules, status *v1alpha1.ScheduleStatus) policy.Meta {
	return policy.Meta{
		Status: &status.PolicyStatus, Order: &status.Order,
		Orphan: rules.DeletionPolicy == v1alpha1.DeletionOrphan, Calendars: times.Names(rules.Calendars),
		Rights: func() []policy.Right { return rights(target, *rules) },
	}
}

// rights returns the rights needed by a schedule: to change the selected objects, as long as it is not suspended. So
// suspending needs no right, and resuming needs all rights. A schedule with orphaned changes also needs the rights on
// the objects selected before the edit. A schedule that holds owners needs the right to change them.
func rights(target any, rules v1alpha1.ScheduleRules) []policy.Right {
	suspended := rules.Suspend
	rules.Suspend = false
	spec := policy.Right{
		Verb: "patch", Field: "spec.target.kinds", Asks: []any{target, rules}, Past: rules.DeletionPolicy == v1alpha1.DeletionOrphan,
		Annotations: annotationKeys(rules.AsleepAs), AnnotationsField: "spec.asleepAs.annotations",
	}
	all := []policy.Right{spec}
	if rules.HoldOwner {
		all = append(all, policy.Right{Verb: "patch", Owners: true, Field: "spec.holdOwner", Asks: spec.Asks})
	}
	if suspended {
		return all
	}
	for _, goesOn := range slices.Clone(all) {
		goesOn.Asks = "not to be suspended"
		all = append(all, goesOn)
	}
	return all
}
