package status

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

// Objects of kinds without the needed capability count neither as excluded nor as controlled by other objects.
func TestKindsWithoutTheNeededCapabilitySelectNothing(t *testing.T) {
	all, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	k := worldtest.Kind(t, "statefulsets.apps") // the StatefulSet controller ignores deletion costs
	live, objects, namespaces := world.NewLive(k.Adapter), &worldtest.Store{}, &worldtest.Store{}
	live.Objects = objects
	objects.Put(&workload.Object{Namespace: "shop", Name: "queue"})
	namespaces.Put(&workload.Object{Name: "shop"})
	id := workload.Policy{Kind: "DeletionCost", Namespace: "shop", Name: "even"}
	kind, _ := kinds.Find(id.Kind)
	obj := &v1alpha1.DeletionCost{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "even",
		Finalizers: []string{v1alpha1.FinalizerRestore}}}
	obj.Spec.Algorithm = "Youngest"
	w := world.New(selector.Scope{})
	w.Update(func(tx *world.Tx) {
		for i := range all {
			if all[i].Name == "statefulsets.apps" {
				tx.SetAdapter(&all[i], world.MayBeServed)
			}
		}
		tx.SetNamespaces(namespaces)
		tx.UseKind(&world.Kind{Kind: k, Live: live})
		tx.SetPolicy(kind, obj)
	})
	p := w.Snapshot().Find(id)
	if p == nil || p.IsBroken() {
		t.Fatalf("the policy: %+v", p)
	}
	got := unmatched(w.Snapshot(), p, newCounts(), true)
	want := selector.Unmatched{Reason: selector.NoObjects, Message: "there is no object of the kinds and namespaces selected"}
	if len(got) != 1 || got[0] != want {
		t.Errorf("%v, want %v", got, want)
	}
}
