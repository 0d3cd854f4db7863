package world_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// A policy whose compilation panics counts as unreadable. The transaction and the other policies continue.
func TestAPanickingPolicyStopsNoOtherPolicy(t *testing.T) {
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
	w := world.New(selector.Scope{})
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

// A calendar or adapter whose reading panics counts as unreadable. The other objects of the transaction are stored.
func TestAPanickingCalendarOrAdapterStopsNoOther(t *testing.T) {
	const bad, good = "ovens.bakery.example.com", "stoves.bakery.example.com"
	w := world.New(selector.Scope{})
	w.PanicOver(bad)
	calendar := func(name string) *v1alpha1.Calendar {
		c := &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Name: name}}
		c.Spec.Dates = []v1alpha1.CalendarDate{{Date: "2037-12-25"}}
		return c
	}
	adapter := func(name, kind string) *v1alpha1.Adapter {
		a := &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: name}}
		a.Spec.Target.Group, a.Spec.Target.Kind, a.Spec.Target.Versions = "bakery.example.com", kind, []string{"v1"}
		a.Spec.Scale = []v1alpha1.ScaleComponent{{Name: "trays", Replicas: ".spec.trays"}}
		return a
	}
	kind := schedule.Kinds()[0]
	uses := func(name, calendar string) *v1alpha1.Schedule {
		s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Finalizers: []string{v1alpha1.FinalizerRestore}}}
		s.Spec.Upscale, s.Spec.Downscale, s.Spec.Calendars = "0 8 * * *", "0 20 * * *",
			[]v1alpha1.CalendarRef{{Name: calendar, Effect: v1alpha1.EffectAsleep}}
		return s
	}
	w.Update(func(tx *world.Tx) {
		if errs := tx.SetCalendar(calendar(bad)); len(errs) != 1 || !strings.Contains(errs.ToAggregate().Error(), "a stone in the works") {
			t.Errorf("the calendar that panics: %v", errs)
		}
		if errs := tx.SetCalendar(calendar(good)); len(errs) > 0 {
			t.Errorf("the other one: %v", errs)
		}
		tx.SetAdapter(adapter(bad, "Oven"), world.MayBeServed)
		tx.SetAdapter(adapter(good, "Stove"), world.MayBeServed)
		tx.SetPolicy(kind, uses("bad", bad))
		tx.SetPolicy(kind, uses("good", good))
	})
	adapters := w.Snapshot().Adapters()
	if a := adapters[schema.ParseGroupResource(bad)]; a == nil || a.Compiled != nil {
		t.Errorf("the adapter that panics is %+v", a)
	}
	if a := adapters[schema.ParseGroupResource(good)]; a == nil || a.Compiled == nil {
		t.Errorf("the other one is %+v", a)
	}
	for name, broken := range map[string]bool{"bad": true, "good": false} {
		if p := w.Snapshot().Find(workload.Policy{Kind: kind.Name, Namespace: "shop", Name: name}); p == nil || p.IsBroken() != broken {
			t.Errorf("the policy that uses the %s calendar is %+v", name, p)
		}
	}
}
