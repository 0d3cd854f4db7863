package world_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/policy/target"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// A policy whose compiling panics is one that cannot be read. The transaction goes on, and so do the other policies.
func TestAPolicyThatPanicsStopsNoOther(t *testing.T) {
	kind := schedule.Kinds()[0]
	compile := kind.Compile
	kind.Compile = func(obj policy.Object, ctx policy.Context) (*policy.Policy, field.ErrorList) {
		if obj.GetName() == "bad" {
			panic("out of range")
		}
		return compile(obj, ctx)
	}
	named := func(name string) *v1alpha1.Schedule {
		s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Finalizers: []string{v1alpha1.FinalizerRestore}}}
		s.Spec.Upscale, s.Spec.Downscale = "0 8 * * *", "0 20 * * *"
		return s
	}
	w := world.New(target.Scope{})
	w.Update(func(tx *world.Tx) {
		tx.SetPolicy(kind, named("bad"))
		tx.SetPolicy(kind, named("good"))
	})
	find := func(name string) *world.Policy {
		return w.Snapshot().Find(workload.Policy{Kind: kind.Name, Namespace: "shop", Name: name})
	}
	if bad := find("bad"); bad == nil || !bad.IsBroken() || !strings.Contains(bad.Invalid.ToAggregate().Error(), "out of range") {
		t.Errorf("the policy that panics is %+v", bad)
	}
	if good := find("good"); good == nil || good.IsBroken() {
		t.Errorf("the other one is %+v", good)
	}
}
