package status

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// The faults of cluster-scoped kinds affect only the cluster-scoped policies that list the kind.
func TestAilmentsOfClusterScopedKinds(t *testing.T) {
	pools := schema.GroupKind{Group: "karpenter.sh", Kind: "NodePool"}
	w := world.New(selector.Scope{ClusterScoped: func(gk schema.GroupKind) bool { return gk == pools }})
	secured := []string{v1alpha1.FinalizerRestore}
	period := v1alpha1.ScheduleRules{}
	period.Downscale, period.Upscale = "0 20 * * *", "0 8 * * *"
	listing := v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: pools.Group, Kind: pools.Kind}}}
	everywhere := v1alpha1.ClusterTargetSelector{NamespaceSelector: &metav1.LabelSelector{}}
	for _, obj := range []policy.Object{
		&v1alpha1.ClusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: "pools", Finalizers: secured},
			Spec: v1alpha1.ClusterScheduleSpec{Target: v1alpha1.ClusterTargetSelector{TargetSelector: listing}, ScheduleRules: period}},
		&v1alpha1.ClusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: "all", Finalizers: secured},
			Spec: v1alpha1.ClusterScheduleSpec{Target: everywhere, ScheduleRules: period}},
		&v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "all", Finalizers: secured},
			Spec: v1alpha1.ScheduleSpec{ScheduleRules: period}},
	} {
		name := "Schedule"
		if obj.GetNamespace() == "" {
			name = "ClusterSchedule"
		}
		kind, _ := kinds.Find(name)
		w.Update(func(tx *world.Tx) { tx.SetPolicy(kind, obj) })
	}
	s := w.Snapshot()
	for _, test := range []struct {
		ailment      Ailment
		id           workload.Policy
		why, listing string
	}{
		{Ailment{Kind: pools, Outside: true, Listing: true}, workload.Policy{Kind: "ClusterSchedule", Name: "pools"}, "", pools.String()},
		{Ailment{Kind: pools, Outside: true, Listing: true}, workload.Policy{Kind: "ClusterSchedule", Name: "all"}, "", ""},
		{Ailment{Kind: pools, Outside: true, Listing: true}, workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "all"}, "", ""},
		{Ailment{Kind: pools, Outside: true, Reason: "no"}, workload.Policy{Kind: "ClusterSchedule", Name: "all"}, "", ""},
		{Ailment{Kind: pools, Outside: true, Reason: "no"}, workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "all"}, "", ""},
		{Ailment{Kind: pools, Outside: true, Unwatched: true, Reason: "changes are not seen"},
			workload.Policy{Kind: "ClusterSchedule", Name: "pools"}, notAdapted(pools), ""},
	} {
		h := NewAdapterHealth()
		h.Set("nodepools.karpenter.sh", &test.ailment)
		p := s.Find(test.id)
		if p == nil || p.IsBroken() {
			t.Fatalf("%s: %+v", test.id, p)
		}
		if why, listing := h.unready(s, p); why != test.why || listing != test.listing {
			t.Errorf("%s under %+v: %q, %q", test.id, test.ailment, why, listing)
		}
	}
}
