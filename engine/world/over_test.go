package world_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// An Override stays for a day after its end. Decisions do not look at it then, however many there are.
func TestAnOverrideThatIsOverIsNotFound(t *testing.T) {
	created := time.Date(2037, 5, 13, 19, 0, 0, 0, time.UTC)
	o := &v1alpha1.Override{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "demo", CreationTimestamp: metav1.NewTime(created)}}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Override"))
	o.Spec.OverrideRules = v1alpha1.OverrideRules{Effect: v1alpha1.OverrideAwake, For: "3600.5s", Reason: "demo"}
	m, err := world.NewMemory(world.Lists{Policies: []policy.Object{o}, Namespaces: []*workload.Object{{Name: "shop"}}})
	if err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]int{-time.Hour: 1, 0: 1, time.Hour: 1, time.Hour + time.Second: 0, 20 * time.Hour: 0} {
		found := 0
		m.World().Snapshot().EachPolicyFor(schema.GroupKind{Group: "apps", Kind: "Deployment"}, &workload.Object{Namespace: "shop", Name: "web"},
			nil, created.Add(after), func(*decide.Policy) { found++ })
		if found != want {
			t.Errorf("%s after the creation: found %d policies, want %d", after, found, want)
		}
	}
}
