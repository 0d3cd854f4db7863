package world_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

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
