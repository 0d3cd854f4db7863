package resize

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// told is a watch of recommendations; unsynced is true while they are not known.
type told struct{ unsynced bool }

func (s told) HasSynced() bool { return !s.unsynced }
func (s told) Release()        {}

// owners knows owners by name from some instant on. All of them have the UID "rs". Owners of the kind Never
// are never known.
type owners struct {
	of   map[string]*workload.OwnerReference
	from time.Time
}

func (o owners) OwnerReferenceOf(_ context.Context, ref workload.Ref, uid string) (owner *workload.OwnerReference, known, ever bool) {
	if ref.Kind == "Never" {
		return nil, false, false
	}
	owner, known = o.of[ref.Name]
	return owner, known && !time.Now().Before(o.from) && (uid == "" || uid == "rs"), true
}

// recommendation is a Recommendation for web in a namespace.
func recommendation(t *testing.T, namespace, policy, more string) *workload.Object {
	t.Helper()
	ref := workload.Ref{GroupKind: deployment, Namespace: namespace, Name: "web"}
	obj, err := projector{}.Project([]byte(`{"metadata":{"namespace":"` + namespace + `","name":"` + workload.CompanionName(ref) +
		`","uid":"u","resourceVersion":"1",
	   "ownerReferences":[{"kind":"Other","name":"web","uid":"o"},{"kind":"Deployment","name":"web","uid":"d"}]},
	 "spec":{"policy":"` + policy + `","target":{"group":"apps","kind":"Deployment","name":"web"}},"status":{"phase":"Working"` + more + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

var deployment = schema.GroupKind{Group: "apps", Kind: "Deployment"}

const newPods = `,"newPods":{"containers":[{"name":"main","cpu":"250m","memory":"64Mi"},{"name":"side"}],"goMemLimit":true}`

// policies adds policies to a world: one policy of each mode in the namespace shop, one cluster policy, and one policy
// that does not tune.
func policies(t *testing.T) *world.World {
	t.Helper()
	w := world.New(world.Scope("flyball-system", nil))
	w.Update(func(tx *world.Tx) {
		for _, mode := range []v1alpha1.TortoiseMode{v1alpha1.TortoiseAuto, v1alpha1.TortoiseOff, "Broken", "Deleting"} {
			p := &v1alpha1.Tortoise{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: string(mode),
				Finalizers: []string{v1alpha1.FinalizerRestore}}, Spec: v1alpha1.TortoiseSpec{TortoiseRules: v1alpha1.TortoiseRules{Mode: mode}}}
			if mode == "Deleting" {
				p.Spec.Mode, p.DeletionTimestamp = v1alpha1.TortoiseAuto, &metav1.Time{Time: time.Now()}
			}
			kind, _ := kinds.Find("Tortoise")
			tx.SetPolicy(kind, p)
		}
		kind, _ := kinds.Find("Schedule")
		tx.SetPolicy(kind, &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "night"}})
	})
	return w
}

func TestRequestsForNewPods(t *testing.T) {
	want := podsize.NewPod{Policy: "Tortoise/shop/Auto", GoMemLimit: true,
		Containers: []podsize.NewContainer{{Name: "main", CPU: 250, Memory: 64 << 20}, {Name: "side"}}}
	chain := map[string]*workload.OwnerReference{
		"web-1": {GroupKind: deployment, Name: "web"}, "web-2": {GroupKind: deployment, Name: "web", UID: "d"},
		"web-0": {GroupKind: deployment, Name: "web", UID: "before"}, "lone": nil,
		"round": {GroupKind: schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, Name: "round"},
	}
	for _, test := range []struct {
		reason, kind, name string
		uid                string // rs for a ReplicaSet, d for a Deployment
		namespace          string // shop
		policy, more       string // Tortoise/shop/Auto, newPods
		late               time.Duration
		unsynced           bool
		result             Result
	}{
		{reason: "a pod of a ReplicaSet of a Deployment", kind: "ReplicaSet", name: "web-1", result: Tuned},
		{reason: "a ReplicaSet that says which Deployment", kind: "ReplicaSet", name: "web-2", result: Tuned},
		{reason: "a Deployment that was made anew under its name, and of which nothing is told yet", kind: "ReplicaSet", name: "web-0",
			result: Untuned},
		{reason: "a pod of the target itself", kind: "Deployment", name: "web", result: Tuned},
		{reason: "a ReplicaSet that was created a moment ago", kind: "ReplicaSet", name: "web-1", late: patience / 2, result: Tuned},
		{reason: "another ReplicaSet of that name", kind: "ReplicaSet", name: "web-1", uid: "forged", result: Unknown},
		{reason: "another target of that name", kind: "Deployment", name: "web", uid: "forged", result: Untuned},
		{reason: "one that does not come", kind: "ReplicaSet", name: "web-1", late: time.Hour, result: Unknown},
		{reason: "a kind that cannot be watched", kind: "Never", name: "web-1", result: Unknown},
		{reason: "a ReplicaSet of nothing", kind: "ReplicaSet", name: "lone", result: Untuned},
		{reason: "owners that own one another", kind: "ReplicaSet", name: "round", result: Untuned},
		{reason: "nothing for pods", kind: "Deployment", name: "web", more: ",", result: Untuned},
		{reason: "no numbers that can be read", kind: "Deployment", name: "web", more: `,"newPods":{"containers":[{"name":"main","cpu":{}}]}`,
			result: Unreadable},
		{reason: "a policy in mode Off", kind: "Deployment", name: "web", policy: "Tortoise/shop/Off", result: Untuned},
		{reason: "a policy that cannot be read any more keeps what was set", kind: "Deployment", name: "web", policy: "Tortoise/shop/Broken",
			result: Tuned},
		{reason: "a policy that is being deleted", kind: "Deployment", name: "web", policy: "Tortoise/shop/Deleting", result: Untuned},
		{reason: "a policy that has gone", kind: "Deployment", name: "web", policy: "Tortoise/shop/gone", result: Untuned},
		{reason: "a policy that tunes nothing", kind: "Deployment", name: "web", policy: "Schedule/shop/night", result: Untuned},
		{reason: "a policy of another namespace", kind: "Deployment", name: "web", namespace: "blog", result: Untuned},
		{reason: "recommendations that are not read yet", kind: "Deployment", name: "web", unsynced: true, result: Unknown},
	} {
		synctest.Test(t, func(t *testing.T) {
			namespace, policy, more := "shop", "Tortoise/shop/Auto", newPods
			if test.namespace != "" {
				namespace = test.namespace
			}
			if test.policy != "" {
				policy = test.policy
			}
			if test.more != "" {
				more = test.more
			}
			if more == "," {
				more = ""
			}
			obj := recommendation(t, namespace, policy, more)
			x := NewIndex(IndexOptions{World: policies(t), Clock: clock.RealClock{}, OwnerReferences: owners{chain, time.Now().Add(test.late)}})
			x.watching.Store(&watching{ctx: t.Context(), told: told{test.unsynced}})
			x.watching.Load().keep(nil, obj)
			uid := cmp.Or(test.uid, map[string]string{"ReplicaSet": "rs", "Deployment": "d"}[test.kind])
			got, result := x.Want(t.Context(), workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: test.kind}, Namespace: namespace,
				Name: test.name}, uid)
			if result != test.result {
				t.Errorf("%s: %s", test.reason, result)
			}
			if result == Tuned {
				want := want
				want.Policy = policy
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", test.reason, diff)
				}
			}
			names, known := x.Namespaces()
			if inUse := result == Tuned || result == Unreadable || test.kind != "Deployment" ||
				test.uid != ""; known == test.unsynced || slices.Contains(names, namespace) != (inUse && known) {
				t.Errorf("%s: namespaces in use: %v, %t", test.reason, names, known)
			}
			x.watching.Load().keep(obj, nil)
			if names, _ := x.Namespaces(); len(names) > 0 {
				t.Errorf("%s: after it has gone: %v", test.reason, names)
			}
		})
	}
}

// Nothing is watched while no policy tunes. Once the policies are known, it is known that no namespace has requests for
// pods.
func TestNothingIsWatchedWithoutATuningPolicy(t *testing.T) {
	w := world.New(world.Scope("flyball-system", nil))
	x := NewIndex(IndexOptions{World: w, Clock: clock.RealClock{}})
	if _, known := x.Namespaces(); known {
		t.Error("the policies are not read yet")
	}
	if _, result := x.Want(t.Context(), workload.Ref{GroupKind: deployment, Namespace: "shop", Name: "web"}, "d"); result != Untuned {
		t.Error(result)
	}
}

func TestProjectingNothing(t *testing.T) {
	if obj, err := (projector{}).Project([]byte(`{}`)); err == nil {
		t.Errorf("%+v", obj)
	}
}
