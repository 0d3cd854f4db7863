package schedule

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
)

// Kinds are the rows of schedules in the table of policy kinds.
func Kinds() []policy.Kind {
	namespaced := kind[v1alpha1.Schedule, v1alpha1.ScheduleList](Kind, "schedules", Compile,
		func(s *v1alpha1.Schedule) (*v1alpha1.ScheduleRules, *v1alpha1.PolicyStatus) {
			return &s.Spec.ScheduleRules, &s.Status
		})
	cluster := kind[v1alpha1.ClusterSchedule, v1alpha1.ClusterScheduleList](ClusterKind, "clusterschedules", CompileCluster,
		func(s *v1alpha1.ClusterSchedule) (*v1alpha1.ScheduleRules, *v1alpha1.PolicyStatus) {
			return &s.Spec.ScheduleRules, &s.Status
		})
	cluster.ClusterScoped = true
	return []policy.Kind{namespaced, cluster}
}

// kind makes a row; parts takes an object apart into what the two kinds have in common.
func kind[T, L any, PT interface {
	*T
	policy.Object
}, PL interface {
	*L
	runtime.Object
}](name, resource string, compile func(PT, Context) (*policy.Policy, field.ErrorList),
	parts func(PT) (*v1alpha1.ScheduleRules, *v1alpha1.PolicyStatus),
) policy.Kind {
	k := policy.NewKind[T, L, PT, PL](name, resource, compile)
	k.Status = func(obj policy.Object) *v1alpha1.PolicyStatus {
		_, status := parts(obj.(PT))
		return status
	}
	k.Orphans = func(obj policy.Object) bool {
		rules, _ := parts(obj.(PT))
		return rules.DeletionPolicy == v1alpha1.DeletionOrphan
	}
	k.Calendars = func(obj policy.Object) []string {
		rules, _ := parts(obj.(PT))
		names := make([]string, len(rules.Calendars))
		for i, ref := range rules.Calendars {
			names[i] = ref.Name
		}
		return names
	}
	return k
}
