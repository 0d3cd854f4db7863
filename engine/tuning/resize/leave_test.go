package resize

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// belowWeb is a cluster with one ReplicaSet of the Deployment web. pods are the pods of the ReplicaSet that Flyball has
// changed in place.
type belowWeb struct {
	underTest
	pods []*workload.Pod
}

var replicaSet = workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, Namespace: "shop", Name: "web-1"}

func (b belowWeb) Resized() []workload.Ref                          { return []workload.Ref{replicaSet, web} }
func (b belowWeb) Groups(workload.Ref) []workload.Ref               { return []workload.Ref{replicaSet} }
func (b belowWeb) Above(workload.Ref) (refs []workload.Ref, _ bool) { return []workload.Ref{web}, true }
func (b belowWeb) ResizedPods(ref workload.Ref) []*workload.Pod {
	if ref != replicaSet {
		return nil
	}
	return b.pods
}

// adapterOf returns an edited adapter of the library.
func adapterOf(t *testing.T, name string, edits ...func(*v1alpha1.Adapter)) *v1alpha1.Adapter {
	t.Helper()
	library, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	for i := range library {
		if a := &library[i]; a.Name == name {
			for _, edit := range edits {
				edit(a)
			}
			return a
		}
	}
	t.Fatalf("there is no adapter %s", name)
	return nil
}

// silent removes pods and resources from an adapter.
func silent(a *v1alpha1.Adapter) { a.Spec.Pods, a.Spec.Resources, a.Spec.Ready = nil, nil, nil }

func going(a *v1alpha1.Adapter) {
	a.DeletionTimestamp, a.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{v1alpha1.FinalizerRestore}
}

// unreadable returns a Tortoise with a contradictory spec.
func unreadable(edits ...func(*v1alpha1.Tortoise)) policy.Object {
	p := &v1alpha1.Tortoise{}
	p.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Tortoise"))
	p.Namespace, p.Name, p.Spec.Mode = "shop", "tuned", v1alpha1.TortoiseAuto
	p.Spec.Replicas.Max, p.Spec.Replicas.Min = new(int32(1)), new(int32(2))
	for _, edit := range edits {
		edit(p)
	}
	return p
}

// TestUnclaimedRequestsOfPodsAreRestored: requests without a claim are restored from the nearest template. Requests
// that a
// policy may have claimed stay, without an event: a policy of the namespace cannot be read, perhaps because an adapter
// was edited or deleted.
func TestUnclaimedRequestsOfPodsAreRestored(t *testing.T) {
	elsewhere := func(p *v1alpha1.Tortoise) { p.Namespace = "other" }
	deleted := func(p *v1alpha1.Tortoise) {
		p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{v1alpha1.FinalizerRestore}
	}
	// Templates are read while a policy tunes.
	another := unreadable(elsewhere, func(p *v1alpha1.Tortoise) { p.Name, p.Spec = "another", v1alpha1.TortoiseSpec{} })
	const template = `"template":{"spec":{"containers":[{"name":"app","resources":{"requests":{"memory":"256"}}}]}}`
	// Its owner has edited the Deployment a moment ago.
	newer := strings.Replace(template, "256", "300", 1)
	deployment := []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"web","uid":"d"},"spec":{` +
		newer + `}}`)
	set := []byte(`{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"namespace":"shop","name":"web-1","uid":"r",
	   "ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"d","controller":true}]},"spec":{` + template + `}}`)
	for _, tc := range []struct {
		reason            string
		deployments, sets func(*v1alpha1.Adapter)
		policies          []policy.Object
		// back is the restored memory of the pod; 0: the pod keeps its own. told is the number of events that report a
		// kept pod.
		back int64
		told int
		owes bool
	}{
		{"nobody asks", nil, nil, nil, 256, 0, true},
		{"a policy cannot be read", nil, nil, []policy.Object{unreadable()}, 0, 0, false},
		{"one of another namespace", nil, nil, []policy.Object{unreadable(elsewhere)}, 256, 0, true},
		{"one that is being deleted", nil, nil, []policy.Object{unreadable(deleted)}, 256, 0, true},
		{"the upper adapter was edited", silent, nil, nil, 256, 0, true},
		{"the lower adapter was edited", nil, silent, nil, 300, 0, true},
		{"both were", silent, silent, nil, 0, 1, true},
		{"both were, and a policy cannot be read, perhaps because of that", silent, silent, []policy.Object{unreadable()}, 0, 0, false},
		{"the upper adapter is going, and a policy cannot be read", going, nil, []policy.Object{unreadable()}, 0, 0, false},
		{"both are going, and a policy cannot be read", going, going, []policy.Object{unreadable()}, 256, 0, true},
	} {
		edit := func(f func(*v1alpha1.Adapter)) func(*v1alpha1.Adapter) {
			if f == nil {
				return func(*v1alpha1.Adapter) {}
			}
			return f
		}
		m, err := world.NewMemory(world.Lists{
			Scope: world.Scope("", nil), Namespaces: []*workload.Object{{Name: "shop"}, {Name: "other"}}, Policies: append(tc.policies, another),
			Objects:  [][]byte{deployment, set},
			Adapters: []*v1alpha1.Adapter{adapterOf(t, "deployments.apps", edit(tc.deployments)), adapterOf(t, "replicasets.apps", edit(tc.sets))},
		})
		if err != nil {
			t.Fatal(err)
		}
		pod := resized(own, unnoticed)
		told := 0
		clock := clocktesting.NewFakeClock(time.Unix(0, 0))
		l := New(m.World(), belowWeb{underTest{web: {Own: own}}, []*workload.Pod{pod}}, nil, nil, nil, Options{
			Server: func() (podsize.ResizeOptions, error) { return podsize.ResizeOptions{}, nil }, Kept: func(*workload.Pod, string) { told++ },
			Log: logr.Discard(),
		})
		l.watch = clock
		if owes := l.Owes(web); owes != tc.owes {
			t.Errorf("%s: it owes: %t", tc.reason, owes)
		}
		s := l.ownershipIn(replicaSet)
		back := int64(0)
		if !s.kept && s.unknown == "" {
			for range 2 {
				o, err := l.leftoversOf(replicaSet, s, []*workload.Pod{pod})
				if err != nil {
					t.Fatal(err)
				}
				l.tellKept(replicaSet, o)
				for _, c := range o.changes {
					back = c.Containers[0].Memory
				}
				clock.Step(keptFor)
			}
		}
		if back != tc.back || told != tc.told {
			t.Errorf("%s: gets %d back, %d told, ownership %+v", tc.reason, back, told, s)
		}
		l.queue.ShutDown()
	}
}
