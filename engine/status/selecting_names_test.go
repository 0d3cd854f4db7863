package status

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// The messages name the terms of a selection without a match, in a world of two namespaces.
func TestStatusNamesTermsWithoutAMatch(t *testing.T) {
	library, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	both := &v1alpha1.ClusterSchedule{}
	both.Spec.Target.Namespaces = []string{"shop", "bank"}
	both.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
	anyKind := &v1alpha1.Schedule{}
	one := &v1alpha1.Schedule{}
	one.Spec.Target.Kinds = both.Spec.Target.Kinds
	costs := &v1alpha1.DeletionCost{}
	frozen := &v1alpha1.ChangeFreeze{}
	frozen.Spec.Target.Kinds, frozen.Spec.Deny = both.Spec.Target.Kinds, []v1alpha1.Action{v1alpha1.ActionScale}
	frozen.Spec.Windows = []v1alpha1.Window{{From: "08:00", To: "20:00"}}
	frozen.Spec.Suspend = []v1alpha1.FreezeSuspend{{KindRef: v1alpha1.KindRef{Group: "apps", Kind: "StatefulSets"}, Names: []string{"web"}}}
	for _, names := range []*[]string{&both.Spec.Target.Names, &anyKind.Spec.Target.Names, &one.Spec.Target.Names} {
		*names = []string{"web", "worker"}
	}
	missing := []selector.Unmatched{{Reason: selector.NameUnknown, Message: "names: there is no object worker"}}
	for _, test := range []struct {
		about string
		obj   policy.Object
		kind  string
		// objects are the kinds, namespaces and names of the existing objects.
		objects [][3]string
		want    []selector.Unmatched
	}{
		{"one name of two, twice as the names' number", both, "ClusterSchedule",
			[][3]string{{"Deployment", "shop", "web"}, {"Deployment", "bank", "web"}}, missing},
		{"one name of two, for two kinds", anyKind, "Schedule", [][3]string{{"Deployment", "shop", "web"}, {"StatefulSet", "shop", "web"}},
			missing},
		{"one name of two", one, "Schedule", [][3]string{{"Deployment", "shop", "web"}}, missing},
		{"both names", one, "Schedule", [][3]string{{"Deployment", "shop", "web"}, {"Deployment", "shop", "worker"}}, nil},
		{"both names, one in each namespace", both, "ClusterSchedule",
			[][3]string{{"Deployment", "shop", "web"}, {"Deployment", "bank", "worker"}}, nil},
		{"no objects", costs, "DeletionCost", nil,
			[]selector.Unmatched{{Reason: selector.NoObjects, Message: "there is no object of the kinds and namespaces selected"}}},
		{"a kind to suspend", frozen, "ChangeFreeze", nil, []selector.Unmatched{{Reason: selector.SuspendUnknown,
			Message: "suspend: there is no adapter for StatefulSets.apps; did you mean StatefulSet.apps?"}}},
	} {
		lists := world.Lists{Scope: world.Scope("", nil), Namespaces: []*workload.Object{{Name: "shop"}, {Name: "bank"}}}
		for i := range library {
			if slices.Contains([]string{"deployments.apps", "statefulsets.apps"}, library[i].Name) {
				lists.Adapters = append(lists.Adapters, &library[i])
			}
		}
		id := workload.Policy{Kind: test.kind, Namespace: "shop", Name: "policy"}
		if test.kind == "ClusterSchedule" {
			id.Namespace = ""
		}
		switch o := test.obj.(type) {
		case *v1alpha1.Schedule:
			o.Spec.Upscale, o.Spec.Downscale = "0 8 * * *", "0 20 * * *"
		case *v1alpha1.ClusterSchedule:
			o.Spec.Upscale, o.Spec.Downscale = "0 8 * * *", "0 20 * * *"
		}
		test.obj.GetObjectKind().SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(test.kind))
		test.obj.SetNamespace(id.Namespace)
		test.obj.SetName(id.Name)
		lists.Policies = []policy.Object{test.obj}
		for _, o := range test.objects {
			lists.Objects = append(lists.Objects, fmt.Appendf(nil,
				`{"apiVersion":"apps/v1","kind":%q,"metadata":{"namespace":%q,"name":%q},"spec":{"replicas":3}}`, o[0], o[1], o[2]))
		}
		m, err := world.NewMemory(lists)
		if err != nil {
			t.Fatalf("%s: %v", test.about, err)
		}
		p, counted := m.Find(id), newCounts()
		m.EachTarget(p, func(workload.Ref) { counted.counts[Awake]++ })
		if len(p.Invalid) > 0 {
			t.Fatalf("%s: %v", test.about, p.Invalid)
		}
		if got := unmatched(m.Snapshot, p, counted, true, false); !slices.Equal(got, test.want) {
			t.Errorf("%s: %d selected, %v; want %v", test.about, counted.total(), got, test.want)
		}
	}
}

// The objects of another kind are unknown while its adapter is not ready.
func TestNamesAreNotCalledMatchedWhileAKindIsUnready(t *testing.T) {
	selector, errs := selector.Namespaced(v1alpha1.TargetSelector{Names: []string{"web", "worker"}}, "shop", selector.Scope{}, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	v := &view{policy: &world.Policy{Policy: decide.Policy{Policy: &policy.Policy{ID: policyID, Target: selector}}},
		unready: "the adapter ovens is not ready", counts: *newCounts()}
	v.counts.counts[Asleep] = 1
	for unready, want := range map[string]string{
		"the adapter ovens is not ready": "whether each name has an object is not known; the adapter ovens is not ready",
		"":                               "every term of the target matches something",
	} {
		v.unready = unready
		var st v1alpha1.PolicyStatus
		v.fillSelecting(&st)
		if c := st.Conditions[0]; c.Status != metav1.ConditionTrue || c.Message != want {
			t.Errorf("%s: %q, want %q", c.Status, c.Message, want)
		}
	}
}
