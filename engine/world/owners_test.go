package world_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

const kustomizations = "kustomizations.kustomize.toolkit.fluxcd.io"

// flux is a Kustomization with a record of Deployments of namespace shop.
func flux(t *testing.T, k *decide.Kind, suspended bool, names ...string) *workload.Object {
	t.Helper()
	return worldtest.Project(t, k, fluxManifest(suspended, names...))
}

func fluxManifest(suspended bool, names ...string) string {
	var entries []string
	for _, name := range names {
		entries = append(entries, fmt.Sprintf(`{"id":"shop_%s_apps_Deployment"}`, name))
	}
	return fmt.Sprintf(`{"apiVersion":"kustomize.toolkit.fluxcd.io/v1","kind":"Kustomization","metadata":{"namespace":"ops","name":"flux",`+
		`"uid":"u"},"spec":{"suspend":%t},"status":{"inventory":{"entries":[%s]}}}`, suspended, strings.Join(entries, ","))
}

// useOwners returns a transaction that puts Kustomizations to use, with or without their records.
func useOwners(t *testing.T, keys adapter.Keys) (func(*world.Tx), *world.Live, *decide.Kind) {
	t.Helper()
	k := worldtest.KindWith(t, kustomizations, keys)
	live := world.NewLive(k.Adapter)
	live.Objects = &worldtest.Store{}
	return func(tx *world.Tx) { tx.UseKind(&world.LiveKind{Kind: k, Live: live}) }, live, k
}

func TestWorldFindsOwnersOfObjects(t *testing.T) {
	use, live, k := useOwners(t, adapter.Keys{Owned: true})
	w := world.New(selector.Scope{})
	update(w, use)
	owner := workload.Ref{GroupKind: k.GroupKind, Namespace: "ops", Name: "flux"}
	of := func(name string) []workload.Ref {
		all, known := w.Snapshot().Owners(web(name))
		if !known {
			t.Error("the owners are not known")
		}
		return all
	}
	for _, step := range []struct {
		reason string
		obj    *workload.Object
		again  []workload.Ref
		owner  bool
	}{
		{"a new owner", flux(t, k, false, "a", "b"), []workload.Ref{web("a"), web("b")}, true},
		{"the same owner", flux(t, k, false, "b", "a"), nil, false},
		{"another list", flux(t, k, false, "b", "c"), []workload.Ref{web("a"), web("b"), web("b"), web("c")}, true},
		{"another state", flux(t, k, true, "b", "c"), []workload.Ref{web("b"), web("c"), web("b"), web("c")}, true},
	} {
		if e := put(live, step.obj); !slices.Equal(e.Targets[1:], step.again) || e.Owner != step.owner {
			t.Errorf("%s: to look at again: %v, %t", step.reason, e.Targets[1:], e.Owner)
		}
	}
	if a, b := of("a"), of("b"); len(a) != 0 || !slices.Equal(b, []workload.Ref{owner}) {
		t.Errorf("a is owned by %v, and b by %v", a, b)
	}
	for ref, want := range map[workload.Ref][]workload.Ref{owner: {owner, web("b"), web("c")}, web("c"): {web("c"), owner}} {
		var related []workload.Ref
		w.Snapshot().Related(ref, func(r workload.Ref) { related = append(related, r) })
		if !slices.Equal(related, want) {
			t.Errorf("related to %s are %v", ref, related)
		}
	}
	live.Adapt(k.Adapter)
	if got := of("b"); !slices.Equal(got, []workload.Ref{owner}) {
		t.Errorf("after an edit of the adapter, b is owned by %v", got)
	}
	if e := remove(live, flux(t, k, true, "b", "c")); !e.Owner || len(of("b")) != 0 {
		t.Errorf("after the deletion, b is owned by %v", of("b"))
	}
}

// While a kind of owners is in use without its records, it is not known which objects have an owner.
func TestOwnersAreUnknownWithoutRecords(t *testing.T) {
	use, _, _ := useOwners(t, adapter.Keys{})
	w := world.New(selector.Scope{})
	if _, known := w.Snapshot().Owners(web("a")); !known {
		t.Error("without a kind of owners, nothing has an owner")
	}
	update(w, use)
	if _, known := w.Snapshot().Owners(web("a")); known {
		t.Error("the records are not read, and the owners are known")
	}
}

// The text about an owner has its state, and the first of its other objects that can sleep.
func TestOwnersOfAPolicy(t *testing.T) {
	held := `"annotations":{"flyball.dev/ledger":"{\"/spec/suspend\":{\"was\":false,\"set\":true,\"by\":\"ClusterSchedule/nights\"},` +
		`\"of\":\"Kustomization/flux\"}"},`
	with := func(manifest string) string { return strings.Replace(manifest, `"uid":"u"`, held+`"uid":"u"`, 1) }
	for _, tc := range []struct{ reason, owner, namespace, want string }{
		{"awake", fluxManifest(false, "web"), "", "is held while a target sleeps"},
		{"held", with(fluxManifest(true, "web")), "", "is held"},
		{"held for another policy too", strings.Replace(with(fluxManifest(true, "web")), `ClusterSchedule/nights\"`,
			`ClusterSchedule/late\",\"also\":[\"ClusterSchedule/nights\"]`, 1), "", "is held"},
		{"resumed since", with(fluxManifest(false, "web")), "", "was resumed by another writer and is not held"},
		{"suspended", fluxManifest(true, "web"), "", "was suspended before"},
		{"another namespace", fluxManifest(false, "web", "a"), "shop", "is in another namespace and is not held: a ClusterSchedule can hold it"},
		{"others", fluxManifest(false, "web", "a", "gone"), "",
			"is held while a target sleeps; changes in Git of Deployment.apps/shop/a wait too"},
		{"many others", with(fluxManifest(true, "web", "a", "b", "c", "d", "e")), "", "is held; changes in Git of Deployment.apps/shop/a, " +
			"Deployment.apps/shop/b, Deployment.apps/shop/c, 2 more wait too"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			m, p := ownedWorld(t, tc.namespace, tc.owner)
			all := m.OwnersOf(p)
			if want := "Kustomization.kustomize.toolkit.fluxcd.io/ops/flux " + tc.want; len(all) != 1 || all[0].String() != want {
				t.Errorf("the owners are %v, want %s", all, want)
			}
		})
	}
	m, p := ownedWorld(t, "", fluxManifest(false, "a"))
	if all := m.OwnersOf(p); len(all) != 0 {
		t.Errorf("no target is in the record, and the owners are %v", all)
	}
}

// ownedWorld is a world with an owner, Deployments web and a to e, and a policy for web that holds owners. The policy is a
// Schedule if namespace is not empty.
func ownedWorld(t *testing.T, namespace, owner string) (*world.Memory, *world.Policy) {
	t.Helper()
	rules := v1alpha1.ScheduleRules{Asleep: []v1alpha1.Window{{From: "20:00", To: "08:00"}}, HoldOwner: true}
	target := v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}, Names: []string{"web"}}
	id := workload.Policy{Kind: "ClusterSchedule", Namespace: namespace, Name: "nights"}
	var obj policy.Object = &v1alpha1.ClusterSchedule{TypeMeta: metav1.TypeMeta{Kind: id.Kind}, ObjectMeta: metav1.ObjectMeta{Name: id.Name},
		Spec: v1alpha1.ClusterScheduleSpec{Target: v1alpha1.ClusterTargetSelector{Namespaces: []string{"shop"}, TargetSelector: target},
			ScheduleRules: rules}}
	if namespace != "" {
		id.Kind = "Schedule"
		obj = &v1alpha1.Schedule{TypeMeta: metav1.TypeMeta{Kind: id.Kind}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: id.Name},
			Spec: v1alpha1.ScheduleSpec{Target: target, ScheduleRules: rules}}
	}
	shipped, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	lists := world.Lists{Policies: []policy.Object{obj}, Objects: [][]byte{[]byte(owner)},
		Namespaces: []*workload.Object{{Name: "shop"}, {Name: "ops"}}}
	for i := range shipped {
		if gk := shipped[i].Spec.Target.GroupKind(); gk == deployments ||
			gk == (schema.GroupKind{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"}) {
			lists.Adapters = append(lists.Adapters, &shipped[i])
		}
	}
	for _, name := range []string{"web", "a", "b", "c", "d", "e"} {
		lists.Objects = append(lists.Objects, []byte(worldtest.Deployment(name, 1, "")))
	}
	m, err := world.NewMemory(lists)
	if err != nil {
		t.Fatal(err)
	}
	return m, m.Find(id)
}
