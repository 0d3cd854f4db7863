package tuning

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// TestWhatIsTuned: objects of any kind whose adapter says where it requests resources (fault 9), in the namespace of the policy, each by the one
// of the highest priority. Autoscalers and what sleeps by itself are none.
func TestWhatIsTuned(t *testing.T) {
	library, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	lists := world.Lists{Scope: world.Scope("", nil), Namespaces: []*workload.Object{{Name: "shop"}, {Name: "other"}}}
	for i := range library {
		lists.Adapters = append(lists.Adapters, &library[i])
	}
	tortoise := func(name string, priority int32, names ...string) {
		p := &v1alpha1.Tortoise{}
		p.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Tortoise"))
		p.Namespace, p.Name, p.Spec.Priority, p.Spec.Target.Names = "shop", name, priority, names
		p.Spec.Guard.MaxDisruption, p.Spec.Vertical.MaxStepDown, p.Spec.Vertical.MaxStepUp = "10%", "20%", "100%"
		lists.Policies = append(lists.Policies, policy.Object(p))
	}
	tortoise("all", -100)
	tortoise("first", 5, "web")
	const pods = `"template":{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"1","memory":"1Gi"}}}]}}`
	for _, text := range []string{
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"web"},"spec":{` + pods + `}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"other","name":"web"},"spec":{` + pods + `}}`,
		`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"namespace":"shop","name":"db"},"spec":{` + pods + `}}`,
		`{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"namespace":"shop","name":"agent"},"spec":{` + pods + `}}`,
		`{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","metadata":{"namespace":"shop","name":"canary"},"spec":{` + pods + `}}`,
		`{"apiVersion":"postgresql.cnpg.io/v1","kind":"Cluster","metadata":{"namespace":"shop","name":"orders"},"spec":{"instances":1,"resources":{"requests":{"cpu":"1"}}}}`,
		`{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"namespace":"shop","name":"erp"},"spec":{"template":{"spec":{"domain":{"cpu":{"cores":2},"memory":{"guest":"4Gi"}}}}}}`,
		`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"namespace":"shop","name":"hpa"},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"none"}}}`,
	} {
		lists.Objects = append(lists.Objects, []byte(text))
	}
	m, err := world.NewMemory(lists)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for ref, p := range assign(m.World().Snapshot()) {
		got = append(got, ref.Kind+" "+ref.Namespace+"/"+ref.Name+" by "+p.ID.Name)
	}
	slices.Sort(got)
	want := []string{"Cluster shop/orders by all", "DaemonSet shop/agent by all", "Deployment shop/web by first", "Rollout shop/canary by all", "StatefulSet shop/db by all",
		"VirtualMachine shop/erp by all"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
