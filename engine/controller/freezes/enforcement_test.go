package freezes

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// A freeze without listed kinds is enforced regardless of the adapters of cluster-scoped kinds.
func TestClusterScopedKindsMatterOnlyToFreezesThatListThem(t *testing.T) {
	all, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	pool := v1alpha1.KindRef{Group: "karpenter.sh", Kind: "NodePool"}
	w := world.New(selector.Scope{ClusterScoped: func(gk schema.GroupKind) bool { return gk == pool.GroupKind() }})
	pools := &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: "nodepools.karpenter.sh",
		DeletionTimestamp: &metav1.Time{Time: time.Now()}}}
	pools.Spec.Target = v1alpha1.AdapterTarget{Group: pool.Group, Kind: pool.Kind, Versions: []string{"v1"}}
	begin := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	freeze := func(name string, listed ...v1alpha1.KindRef) workload.Policy {
		obj := &v1alpha1.ClusterChangeFreeze{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{v1alpha1.FinalizerRestore}}}
		obj.Spec.StartTime, obj.Spec.EndTime = metav1.NewTime(begin), metav1.NewTime(begin.Add(time.Hour))
		obj.Spec.Target.Kinds, obj.Spec.Deny = listed, []v1alpha1.Action{v1alpha1.ActionDelete}
		if len(listed) == 0 {
			obj.Spec.Target.NamespaceSelector = &metav1.LabelSelector{}
		}
		kind, _ := kinds.Find("ClusterChangeFreeze")
		w.Update(func(tx *world.Tx) { tx.SetPolicy(kind, obj) })
		return workload.Policy{Kind: kind.Name, Name: name}
	}
	w.Update(func(tx *world.Tx) {
		for i := range all {
			if all[i].Name == "deployments.apps" {
				tx.SetAdapter(&all[i], world.MayBeServed)
			}
		}
		tx.SetAdapter(pools, world.MayBeServed)
	})
	for id, want := range map[workload.Policy]string{freeze("all"): "",
		freeze("pools", pool): "the adapter nodepools.karpenter.sh is being deleted"} {
		p := w.Snapshot().Find(id)
		if p.IsBroken() {
			t.Fatalf("%s: %v", id, p.Invalid)
		}
		if why := unjudged(w, p); !strings.HasPrefix(why, want) || (why == "") != (want == "") {
			t.Errorf("%s: %q, want %q", id, why, want)
		}
	}
}
