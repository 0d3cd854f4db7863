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

// tortoise returns a policy of the namespace shop that selects some names, or all.
func tortoise(name string, priority int32, names ...string) policy.Object {
	p := &v1alpha1.Tortoise{}
	p.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Tortoise"))
	p.Namespace, p.Name, p.Spec.Priority, p.Spec.Target.Names = "shop", name, priority, names
	p.Spec.Guard.MaxDisruption, p.Spec.Vertical.MaxStepDown, p.Spec.Vertical.MaxStepUp = "10%", "20%", "100%"
	return p
}

// TestEachObjectIsTunedByThePolicyOfHighestPriority: objects of any kind with resources in its adapter are tuned
// (fault 9), in the namespace of the
// policy. Each object is tuned by the selecting policy with the highest priority. Autoscalers and sleeping objects are
// not tuned.
func TestEachObjectIsTunedByThePolicyOfHighestPriority(t *testing.T) {
	library, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	lists := world.Lists{Scope: world.Scope("", nil), Namespaces: []*workload.Object{{Name: "shop"}, {Name: "other"}}}
	for i := range library {
		lists.Adapters = append(lists.Adapters, &library[i])
	}
	lists.Policies = []policy.Object{tortoise("all", -100), tortoise("first", 5, "web")}
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
	want := []string{"Cluster shop/orders by all", "DaemonSet shop/agent by all", "Deployment shop/web by first", "Rollout shop/canary by all",
		"StatefulSet shop/db by all",
		"VirtualMachine shop/erp by all"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

var tuned = workload.Policy{Kind: "Tortoise", Namespace: "shop", Name: "tuned"}

// TestStatusHasTotalsOfTheLastCompleteRound: a status that is written during a round has the totals of the last
// complete round.
func TestStatusHasTotalsOfTheLastCompleteRound(t *testing.T) {
	m, err := world.NewMemory(world.Lists{Scope: world.Scope("", nil), Namespaces: []*workload.Object{{Name: "shop"}},
		Policies: []policy.Object{tortoise("tuned", 0)}})
	if err != nil {
		t.Fatal(err)
	}
	s, b, x := m.World().Snapshot(), newBook(), &subject{}
	x.found.Report.Phase, x.found.Saved.MilliCPU = "Working", 100
	check := func(reason string, targets int) {
		t.Helper()
		if got := b.summary(tuned); got.Phases["Working"] != targets || got.Saved.MilliCPU != int64(100*targets) {
			t.Errorf("%s: it is told of %+v", reason, got)
		}
	}
	for round, targets := range []int{3, 3, 2} {
		b.begin(nil, s)
		for range targets {
			b.phase(tuned, x)
			check("in a round", []int{0, 3, 3}[round])
		}
		news := b.end()
		check("after it", targets)
		if told := len(news) > 0; told != (round != 1) {
			t.Errorf("round %d is news of %v", round, news)
		}
	}
	if news := b.setTrouble("gone", ""); len(news) != 1 || news[0] != tuned {
		t.Errorf("what is wrong with the metrics is told to %v", news)
	}
}
