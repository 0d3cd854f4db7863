package status

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
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
		tx.UseKind(&world.LiveKind{Kind: k, Live: live})
		tx.SetPolicy(kind, obj)
	})
	p := w.Snapshot().Find(id)
	if p == nil || p.IsBroken() {
		t.Fatalf("the policy: %+v", p)
	}
	got := unmatched(w.Snapshot(), p, newCounts(), true, false)
	want := selector.Unmatched{Reason: selector.NoObjects, Message: "there is no object of the kinds and namespaces selected"}
	if len(got) != 1 || got[0] != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// Selecting names the missing adapters, and is false if the policy leaves all its objects to controllers.
func TestSelectingNamesMissingAdapters(t *testing.T) {
	rollouts := schema.GroupKind{Group: "argoproj.io", Kind: "Rollout"}
	left := decide.Control{By: workload.Ref{GroupKind: rollouts, Namespace: "shop", Name: "web"},
		Adapter: "rollouts.argoproj.io"}
	for _, tc := range []struct {
		left, asleep int
		status       metav1.ConditionStatus
		reason, says string
	}{
		{0, 1, metav1.ConditionTrue, "Selected", "every term of the target matches something"},
		{2, 1, metav1.ConditionTrue, "Controlled", "2 objects are controlled by Rollout.argoproj.io: put the adapter rollouts.argoproj.io to " +
			"use; every term of the target matches something"},
		{1, 0, metav1.ConditionFalse, "Controlled", "1 object is controlled by Rollout.argoproj.io: put the adapter rollouts.argoproj.io to " +
			"use; every term of the target matches something"},
	} {
		b := NewTracker(nil, nil, nil)
		for i := range tc.left {
			b.Count(object(fmt.Sprint("left", i)), []TargetResult{{Policy: policyID, State: Unable, Unable: left.String(), Control: left}})
		}
		for i := range tc.asleep {
			b.Count(object(fmt.Sprint("asleep", i)), []TargetResult{{Policy: policyID, State: Asleep}})
		}
		v := view{policy: &world.Policy{Policy: decide.Policy{Policy: &policy.Policy{ID: policyID, Target: selector.Nothing()}}}}
		b.read(policyID, func(t *counts) { v.counts = t.copy() })
		st := &v1alpha1.PolicyStatus{}
		v.fillSelecting(st)
		if c := st.Conditions[0]; c.Status != tc.status || c.Reason != tc.reason || c.Message != tc.says {
			t.Errorf("%d left and %d asleep: %s %s %q", tc.left, tc.asleep, c.Status, c.Reason, c.Message)
		}
	}
}
