package schedule_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/schedule"
)

func row(t *testing.T, name string) policy.Row {
	t.Helper()
	all := schedule.Kinds()
	i := slices.IndexFunc(all, func(k policy.Row) bool { return k.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	return all[i]
}

func TestScheduleNeedsRightsForItsWrites(t *testing.T) {
	obj := func(change func(*v1alpha1.ScheduleSpec)) *v1alpha1.Schedule {
		s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nights"}}
		s.Spec.ScheduleRules = nights(func(*v1alpha1.ScheduleRules) {})
		change(&s.Spec)
		return s
	}
	plain := obj(func(*v1alpha1.ScheduleSpec) {})
	rights := row(t, schedule.Kind).RightsOf(plain)
	if len(rights) == 0 {
		t.Fatal("a plain schedule takes no rights")
	}
	for _, r := range rights {
		if r.Verb != "patch" || !r.OnSelected() || len(r.Annotations) > 0 || r.Past {
			t.Errorf("a plain schedule takes %+v", r)
		}
	}
	suspend := func(s *v1alpha1.ScheduleSpec) { s.Suspend = true }
	orphan := func(s *v1alpha1.ScheduleSpec) { s.DeletionPolicy = v1alpha1.DeletionOrphan }
	other := func(s *v1alpha1.ScheduleSpec) { s.Target.Names = []string{"web"} }
	for _, tc := range []struct {
		reason   string
		old, new []func(*v1alpha1.ScheduleSpec)
		asks     bool
	}{
		{"to suspend it", nil, []func(*v1alpha1.ScheduleSpec){suspend}, false},
		{"to let it go on", []func(*v1alpha1.ScheduleSpec){suspend}, nil, true},
		{"another target", nil, []func(*v1alpha1.ScheduleSpec){other}, true},
		{"another target while it is suspended", []func(*v1alpha1.ScheduleSpec){suspend}, []func(*v1alpha1.ScheduleSpec){suspend, other}, true},
		{"to suspend it with another target", nil, []func(*v1alpha1.ScheduleSpec){suspend, other}, true},
		{"to orphan while it is suspended", []func(*v1alpha1.ScheduleSpec){suspend}, []func(*v1alpha1.ScheduleSpec){suspend, orphan}, true},
		{"to suspend one that orphans", []func(*v1alpha1.ScheduleSpec){orphan}, []func(*v1alpha1.ScheduleSpec){suspend, orphan}, false},
	} {
		with := func(all []func(*v1alpha1.ScheduleSpec)) []policy.Right {
			return row(t, schedule.Kind).RightsOf(obj(func(s *v1alpha1.ScheduleSpec) {
				for _, c := range all {
					c(s)
				}
			}))
		}
		before := with(tc.old)
		asks := slices.ContainsFunc(with(tc.new), func(r policy.Right) bool {
			return !slices.ContainsFunc(before, func(o policy.Right) bool { return equality.Semantic.DeepEqual(o, r) })
		})
		if asks != tc.asks {
			t.Errorf("%s asks: %t, want %t", tc.reason, asks, tc.asks)
		}
	}
	onOwners := func(change ...func(*v1alpha1.ScheduleSpec)) int {
		n := 0
		for _, r := range row(t, schedule.Kind).RightsOf(obj(func(s *v1alpha1.ScheduleSpec) {
			for _, c := range change {
				c(s)
			}
		})) {
			if r.Owners && r.Verb == "patch" && r.Field == "spec.holdOwner" && !r.OnSelected() {
				n++
			}
		}
		return n
	}
	hold := func(s *v1alpha1.ScheduleSpec) { s.HoldOwner = true }
	if onOwners() != 0 || onOwners(hold) != 2 || onOwners(hold, suspend) != 1 {
		t.Errorf("%d, %d and %d rights on owners", onOwners(), onOwners(hold), onOwners(hold, suspend))
	}
	if r := row(t, schedule.Kind).RightsOf(obj(orphan)); !r[0].Past {
		t.Error("one that orphans does so to what it selected before")
	}
	annotating := obj(func(s *v1alpha1.ScheduleSpec) {
		s.AsleepAs = &v1alpha1.AsleepAs{Annotations: map[string]string{"c": "1", "a": "2", "b": "3"}}
	})
	for range 20 { // to meet several orders of the map
		if keys := row(t, schedule.Kind).RightsOf(annotating)[0].Annotations; !slices.Equal(keys, []string{"a", "b", "c"}) {
			t.Fatalf("one that annotates sets %v", keys)
		}
	}
	cluster := &v1alpha1.ClusterSchedule{}
	cluster.Spec.ScheduleRules = plain.Spec.ScheduleRules
	narrow := cluster.DeepCopy()
	narrow.Spec.Target.Namespaces = []string{"shop"}
	if wide := row(t, schedule.ClusterKind).RightsOf(cluster); equality.Semantic.DeepEqual(wide,
		row(t, schedule.ClusterKind).RightsOf(narrow)) {
		t.Errorf("another namespace changes nothing in %+v", wide)
	}
}

// If authors' rights are checked, keys of Kubernetes are accepted at first, and the author needs a right. Keys of Flyball
// are always refused.
func TestKeysOfKubernetesNeedTheAuthorsRights(t *testing.T) {
	for _, tc := range []struct {
		key     string
		refused bool
	}{
		{"kubectl.kubernetes.io/restartedAt", false}, {"a.k8s.io/b", false}, {"flyball.dev/ledger", true}, {"example.com/a", false},
	} {
		s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nights"}}
		s.Spec.ScheduleRules = nights(func(r *v1alpha1.ScheduleRules) {
			r.AsleepAs = &v1alpha1.AsleepAs{Annotations: map[string]string{tc.key: "x"}}
		})
		if _, errs := schedule.Compile(s, policy.Context{AuthorsAsked: true}); (len(errs) > 0) != tc.refused {
			t.Errorf("%s: %v", tc.key, errs)
		}
	}
}

// The changes made by a schedule stay after its deletion only if its spec says so.
func TestOrphanFollowsTheSpec(t *testing.T) {
	for deletion, want := range map[v1alpha1.DeletionPolicy]bool{"": false, v1alpha1.DeletionRestore: false, v1alpha1.DeletionOrphan: true} {
		rules := v1alpha1.ScheduleRules{DeletionPolicy: deletion}
		for name, obj := range map[string]policy.Object{
			schedule.Kind:             &v1alpha1.Schedule{Spec: v1alpha1.ScheduleSpec{ScheduleRules: rules}},
			"Cluster" + schedule.Kind: &v1alpha1.ClusterSchedule{Spec: v1alpha1.ClusterScheduleSpec{ScheduleRules: rules}},
		} {
			if got := row(t, name).Meta(obj).Orphan; got != want {
				t.Errorf("a %s with the deletion policy %q orphans: %t", name, deletion, got)
			}
		}
	}
}
