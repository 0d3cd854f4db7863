package world_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// The objects come from manifests that were not applied yet, so they have no resourceVersion. One object is changed
// by a merge patch. The other is changed by a JSON patch that is conditional on a resourceVersion.
func TestSimulationOfManifestsWithoutAResourceVersion(t *testing.T) {
	m := nightly(t)
	from := time.Date(2037, 5, 13, 12, 0, 0, 0, time.UTC)
	writes, err := decide.Simulate(m, from, from.Add(12*time.Hour))
	if err != nil || len(writes) != 2 {
		t.Fatalf("%d writes, %v", len(writes), err)
	}
	m.EachObject(func(ref workload.Ref) {
		raw := m.Raw(ref)
		if rawjson.GetBytes(raw, "metadata.resourceVersion").Str != "2" {
			t.Errorf("%s is at version %q after its first write", ref, rawjson.GetBytes(raw, "metadata.resourceVersion").Str)
		}
		if rawjson.GetBytes(raw, "spec.replicas").Int()+rawjson.GetBytes(raw, "spec.nodeSets.0.count").Int() > 1 {
			t.Errorf("%s is awake: %s", ref, raw)
		}
	})
}

// nightly is a world with a Deployment and an Elasticsearch that sleep at night.
func nightly(t *testing.T) *world.Memory {
	t.Helper()
	library, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	lists := world.Lists{Scope: world.Scope("", nil), Namespaces: []*workload.Object{{Name: "shop"}}}
	for i := range library {
		switch library[i].Name {
		case "deployments.apps", "elasticsearches.elasticsearch.k8s.elastic.co":
			lists.Adapters = append(lists.Adapters, &library[i])
		}
	}
	nights := &v1alpha1.Schedule{}
	nights.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Schedule"))
	nights.Namespace, nights.Name, nights.Spec.Upscale, nights.Spec.Downscale = "shop", "nights", "0 8 * * *", "0 20 * * *"
	lists.Policies = []policy.Object{nights}
	lists.Objects = [][]byte{
		[]byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"web"},"spec":{"replicas":3}}`),
		[]byte(
			`{"apiVersion":"elasticsearch.k8s.elastic.co/v1","kind":"Elasticsearch","metadata":{"namespace":"shop","name":"logs"},"spec":{"nodeSets":[{"name":"hot","count":3}]}}`),
	}
	m, err := world.NewMemory(lists)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Worlds of equal adapters share the compiled ones. A world with an edited adapter has the edited one, and no other world
// has it.
func TestWorldsInMemoryShareEqualAdapters(t *testing.T) {
	gk := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	first, second := nightly(t), nightly(t)
	if first.Kind(gk).Adapter != second.Kind(gk).Adapter {
		t.Error("the adapter of Deployments was compiled for each world")
	}
	library, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(library, func(a v1alpha1.Adapter) bool { return a.Name == "deployments.apps" })
	edited := &library[i]
	edited.Spec.Scale[0].Replicas = ".spec.copies"
	third, err := world.NewMemory(world.Lists{Scope: world.Scope("", nil), Adapters: []*v1alpha1.Adapter{edited}})
	if err != nil {
		t.Fatal(err)
	}
	edited.Spec.Scale[0].Replicas = ".spec.replicas" // after its use, which must not change the worlds that exist or come
	for m, want := range map[*world.Memory]string{first: ".spec.replicas", third: ".spec.copies", nightly(t): ".spec.replicas"} {
		if uses := fmt.Sprint(m.Kind(gk).Adapter.Uses()); !strings.Contains(uses, want) {
			t.Errorf("the adapter uses %s, not %s", uses, want)
		}
	}
}

// Each simulation runs in a copy of the world with one of its objects. The world and the other copy stay unchanged.
func TestSandboxesAreIndependent(t *testing.T) {
	m := nightly(t)
	web := workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
	before := string(m.Raw(web))
	from := time.Date(2037, 5, 13, 12, 0, 0, 0, time.UTC)
	for range 2 {
		writes, err := decide.Simulate(m.Sandbox([]workload.Ref{web, web, {GroupKind: web.GroupKind, Namespace: "shop", Name: "none"}}), from,
			from.Add(24*time.Hour))
		if err != nil || len(writes) != 2 || writes[0].Target != web || writes[0].Message != "replicas 3 -> 0" ||
			writes[1].Message != "replicas 0 -> 3" {
			t.Fatalf("%+v, %v", writes, err)
		}
	}
	if got := string(m.Raw(web)); got != before || m.Object(web).Ledger != nil || m.InUse(web.GroupKind).Live.Ledgers() > 0 {
		t.Errorf("the world has become %s", got)
	}
}
