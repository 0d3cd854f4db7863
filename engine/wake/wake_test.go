package wake_test

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/wake"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

// shop is a world with three Deployments: web under both schedules, api under one, and free under none.
func shop(t *testing.T) *world.Memory {
	t.Helper()
	library, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	lists := world.Lists{Scope: world.Scope("", nil), Namespaces: []*workload.Object{{Name: "shop"}}}
	for i := range library {
		if library[i].Name == worldtest.Deployments {
			lists.Adapters = append(lists.Adapters, &library[i])
		}
	}
	nights := &v1alpha1.Schedule{}
	nights.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Schedule"))
	nights.Namespace, nights.Name, nights.Spec.Upscale, nights.Spec.Downscale = "shop", "nights", "0 8 * * *", "0 20 * * *"
	nights.Spec.Target.Names = []string{"web"}
	office := &v1alpha1.ClusterSchedule{}
	office.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ClusterSchedule"))
	office.Name, office.Spec.Upscale, office.Spec.Downscale = "office", "0 8 * * *", "0 20 * * *"
	office.Spec.Target.Namespaces, office.Spec.Target.Names = []string{"shop"}, []string{"web", "api"}
	lists.Policies = []policy.Object{nights, office}
	for _, name := range []string{"web", "api", "free"} {
		lists.Objects = append(lists.Objects, []byte(worldtest.Deployment(name, 3, "")))
	}
	m, err := world.NewMemory(lists)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPlacesReachScheduledObjects(t *testing.T) {
	resource := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	deployment := func(name string) workload.Ref {
		return workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: name}
	}
	schedule := func(kind, namespace, name string) wake.Place {
		p, ok := wake.OfPolicy(workload.Policy{Kind: kind, Namespace: namespace, Name: name})
		if !ok {
			t.Fatalf("%s is no kind of schedules", kind)
		}
		return p
	}
	if _, ok := wake.OfPolicy(workload.Policy{Kind: "Trigger", Namespace: "shop", Name: "nights"}); ok {
		t.Error("a Trigger is kept awake")
	}
	scheduled := wake.Scheduled(shop(t).Snapshot)
	for _, test := range []struct {
		place wake.Place
		text  string
		want  []string
	}{
		{wake.OfObject(resource, deployment("web")), "deployment/web", []string{"web"}},
		{wake.OfObject(resource, deployment("free")), "deployment/free", nil},
		{wake.OfNamespace("shop"), "namespace/shop", []string{"api", "web"}},
		{wake.OfNamespace("web"), "namespace/web", nil},
		{schedule("Schedule", "shop", "nights"), "schedule/nights", []string{"web"}},
		{schedule("Schedule", "", "office"), "schedule/office", nil},
		{schedule("ClusterSchedule", "", "office"), "clusterschedule/office", []string{"api", "web"}},
	} {
		var got []string
		for ref, schedules := range scheduled {
			if test.place.Reaches(ref, schedules) {
				got = append(got, ref.Name)
			}
		}
		slices.Sort(got)
		if test.place.String() != test.text || !slices.Equal(got, test.want) {
			t.Errorf("%s reaches %v, want %s with %v", test.place, got, test.text, test.want)
		}
	}
	if got := len(scheduled[deployment("web")]); got != 2 {
		t.Errorf("%d schedules of web, want 2", got)
	}
}

func TestPatchWritesTheWakeMark(t *testing.T) {
	until := time.Date(2037, 5, 11, 23, 30, 0, 0, time.FixedZone("", 7200))
	for _, test := range []struct {
		until        time.Time
		reason, want string
	}{
		{until, "demo \"x\"",
			`{"metadata":{"annotations":{"flyball.dev/awake-reason":"demo \"x\"","flyball.dev/awake-until":"2037-05-11T21:30:00Z"}}}`},
		{until, "", `{"metadata":{"annotations":{"flyball.dev/awake-reason":null,"flyball.dev/awake-until":"2037-05-11T21:30:00Z"}}}`},
		{time.Time{}, "x", `{"metadata":{"annotations":{"flyball.dev/awake-reason":null,"flyball.dev/awake-until":null}}}`},
	} {
		if got := string(wake.Patch(test.until, test.reason)); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}
