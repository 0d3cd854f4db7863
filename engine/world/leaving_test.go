package world_test

import (
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Pods are restored to the requests in their template, even if the policy that changed them has become unreadable or
// was deleted.
func TestRequestsAreReadUntilPodsAreRestored(t *testing.T) {
	w := world.New(selector.Scope{})
	all, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	update(w, func(tx *world.Tx) {
		for i := range all {
			tx.SetAdapter(&all[i], world.MayBeServed)
		}
	})
	tuned := &v1alpha1.Tortoise{ObjectMeta: meta("shop", "tuned")}
	tuned.Spec.Mode = v1alpha1.TortoiseAuto
	id := workload.Policy{Kind: "Tortoise", Namespace: "shop", Name: "tuned"}
	sets, autoscalers := schema.GroupKind{Group: "apps", Kind: "ReplicaSet"},
		schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
	for _, step := range []struct {
		what             string
		do               func(*world.Tx)
		keys             bool
		sets, autoscaler bool
	}{
		{"it comes", func(tx *world.Tx) { tx.SetPolicy(kind("Tortoise"), tuned) }, true, true, true},
		{"it cannot be read any more", func(tx *world.Tx) {
			broken := tuned.DeepCopy()
			broken.Generation, broken.Spec.History.TimeZone = 2, "Nowhere/Land"
			tx.SetPolicy(kind("Tortoise"), broken)
		}, false, true, true},
		{"it goes", func(tx *world.Tx) { tx.RemovePolicy(id) }, true, true, false},
		{"another policy goes", func(tx *world.Tx) {
			tx.RemovePolicy(workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"})
		}, false, true, false},
		{"nothing is left", func(tx *world.Tx) { tx.LeavePods(false) }, true, false, false},
		{"a manager finds something", func(tx *world.Tx) { tx.LeavePods(true) }, true, true, false},
	} {
		if c := update(w, step.do); c.Keys != step.keys {
			t.Errorf("%s: other keys: %t", step.what, c.Keys)
		}
		s := w.Snapshot()
		if got := s.Keys(sets).Amounts; got != step.sets {
			t.Errorf("%s: requests of ReplicaSets are read: %t", step.what, got)
		}
		if got := s.Keys(autoscalers).Amounts; got != step.autoscaler {
			t.Errorf("%s: targets of autoscalers are read: %t", step.what, got)
		}
	}
}

// A watch keeps only what policies need of its kind, so a need is new even if another kind has it already.
func TestANeedIsNewForEachKind(t *testing.T) {
	w := world.New(selector.Scope{})
	for _, step := range []struct {
		name, kind, annotation string
		keys                   bool
	}{
		{"first", "Deployment", "team", true},
		{"alike", "Deployment", "team", false},
		{"other-kind", "StatefulSet", "team", true},
		{"other-key", "StatefulSet", "zone", true},
		{"without-annotation", "DaemonSet", "", true}, // it sleeps: the ready predicates of DaemonSets
		{"alike-without", "DaemonSet", "", false},
	} {
		s := nights()
		s.Name = step.name
		s.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: step.kind}}
		if step.annotation != "" {
			s.Spec.Target.Annotations = map[string]string{step.annotation: "a"}
		}
		if c := update(w, func(tx *world.Tx) { tx.SetPolicy(kind("Schedule"), s) }); c.Keys != step.keys {
			t.Errorf("%s: other keys: %t", step.name, c.Keys)
		}
		keys := w.Snapshot().Keys(schema.GroupKind{Group: "apps", Kind: step.kind})
		if step.annotation != "" && !slices.Contains(keys.Match, step.annotation) || !keys.Ready {
			t.Errorf("%s: the watch keeps %+v", step.name, keys)
		}
	}
}

// Adapters are checked again only after a change of keys, so no watch may need something else without one.
func TestEveryChangeOfNeedsIsAChangeOfKeys(t *testing.T) {
	all, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		w := world.New(selector.Scope{})
		update(w, func(tx *world.Tx) {
			for i := range all {
				tx.SetAdapter(&all[i], world.MayBeServed)
			}
		})
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			before := w.Snapshot()
			c := update(w, drawChangeOfPolicy(t))
			after := w.Snapshot()
			for i := range all {
				gk := schema.GroupKind{Group: all[i].Spec.Target.Group, Kind: all[i].Spec.Target.Kind}
				if old, now := before.Keys(gk), after.Keys(gk); !reflect.DeepEqual(old, now) && !c.Keys {
					t.Fatalf("the watch of %s needs %+v instead of %+v, and no adapter is checked again", gk, now, old)
				}
			}
		}
	})
}

func drawChangeOfPolicy(t *rapid.T) func(*world.Tx) {
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
	of := rapid.SampledFrom([]string{"Schedule", "Trigger", "Tortoise"}).Draw(t, "policy")
	if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
		return func(tx *world.Tx) { tx.RemovePolicy(workload.Policy{Kind: of, Namespace: "shop", Name: name}) }
	}
	kinds := rapid.SliceOfNDistinct(rapid.SampledFrom([]v1alpha1.KindRef{
		{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "StatefulSet"},
		{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}, {Group: "batch", Kind: "CronJob"},
	}), 0, 2, rapid.ID[v1alpha1.KindRef]).Draw(t, "kinds")
	annotations := rapid.SampledFrom([]map[string]string{nil, {"team": "a"}, {"zone": "a"}, {"team": "b", "zone": "b"}})
	matched, written := annotations.Draw(t, "matched"), annotations.Draw(t, "written")
	meta := meta("shop", name)
	meta.Generation = int64(rapid.IntRange(1, 1_000_000).Draw(t, "generation"))
	target := v1alpha1.TargetSelector{Kinds: kinds, Annotations: matched}
	switch of {
	case "Trigger":
		p := &v1alpha1.Trigger{ObjectMeta: meta}
		p.Spec.Target = target
		return func(tx *world.Tx) { tx.SetPolicy(kind(of), p) }
	case "Tortoise":
		p := &v1alpha1.Tortoise{ObjectMeta: meta}
		p.Spec.Mode, p.Spec.Target = v1alpha1.TortoiseAuto, target
		return func(tx *world.Tx) { tx.SetPolicy(kind(of), p) }
	}
	p := nights()
	p.ObjectMeta, p.Spec.Target = meta, target
	if written != nil {
		p.Spec.AsleepAs = &v1alpha1.AsleepAs{Annotations: written}
	}
	p.Spec.HoldOwner = rapid.Bool().Draw(t, "hold owners")
	return func(tx *world.Tx) { tx.SetPolicy(kind(of), p) }
}
