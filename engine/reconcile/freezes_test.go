package reconcile

import (
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/target"
	"flyball.dev/flyball/engine/workload"
)

// Whether a freeze of a kind outside namespaces can be read depends on what the API server says of the kind. One that was
// read goes on to count while that answer is missing, and one that was not is read once it is there.
func TestFreezesOutliveAMissingKind(t *testing.T) {
	served := true
	f, err := NewFreezes(&rest.Config{}, nil, FreezesOptions{Scope: target.Scope{ClusterScoped: func(schema.GroupKind) bool { return served }}})
	if err != nil {
		t.Fatal(err)
	}
	id := workload.Policy{Kind: freeze.ClusterKind, Name: "nodes"}
	policy := &v1alpha1.ClusterChangeFreeze{ObjectMeta: metav1.ObjectMeta{Name: "nodes", UID: "1", Generation: 1}}
	policy.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "pools.example.com", Kind: "NodePool"}}
	policy.Spec.Deny = []v1alpha1.Action{v1alpha1.ActionScale}
	policy.Spec.StartTime, policy.Spec.EndTime = metav1.NewTime(noon), metav1.NewTime(noon.AddDate(0, 0, 1))
	see := func(what string, obj client.Object, want bool) {
		t.Helper()
		if obj != nil {
			f.poke(func() { f.pending[id] = obj })
		} else {
			f.poke(func() {
				f.pendingAdapters["nodepools.pools.example.com"] = &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: "nodepools.pools.example.com"}}
			})
		}
		f.takeOver()
		if got := f.Set().Rule(id) != nil; got != want {
			t.Errorf("%s: the freeze counts: %t, want %t", what, got, want)
		}
	}
	see("at first", policy, true)
	served = false
	see("seen again while the kind is not served", policy.DeepCopy(), true)
	edited := policy.DeepCopy()
	edited.Generation = 2
	see("edited meanwhile", edited, false)
	see("an adapter changes, the kind is not served", nil, false)
	served = true
	see("an adapter changes, the kind is served again", nil, true)
	served = false
	other := edited.DeepCopy()
	other.UID, other.Generation = "2", 2
	see("another one of the name", other, false)
}

// A listener that was told finds what it was told of.
func TestFreezesAreReadyBeforeTheyTell(t *testing.T) {
	f, err := NewFreezes(&rest.Config{}, nil, FreezesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	told := f.Listen()
	var wg sync.WaitGroup
	wg.Go(func() {
		<-told
		if err := f.Ready(nil); err != nil {
			t.Errorf("told before it was ready: %v", err)
		}
	})
	f.begin()
	wg.Wait()
}
