package reconcile

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

// Values set on autoscalers because of their targets must be restored when the targets' kind is no longer in use.
func TestAutoscalersOfADroppedKindAreQueued(t *testing.T) {
	s := newScene(t, http.NotFoundHandler())
	k := worldtest.Kind(t, worldtest.Autoscalers)
	live, objects := world.NewLive(k.Adapter), &worldtest.Store{}
	live.Objects = objects
	put := func(k *world.LiveKind, store *worldtest.Store, manifest string) workload.Ref {
		obj := worldtest.Project(t, k.Kind, manifest)
		store.Put(obj)
		s.world.ObjectChanged(k.Live, nil, obj)
		return k.Ref(obj)
	}
	governing := &world.LiveKind{Kind: k, Live: live}
	hpa, web := put(governing, objects, worldtest.Autoscaler("web", "web", 1, 9, "")),
		put(s.kind, s.objects, worldtest.Deployment("web", 3, ""))
	s.world.Update(func(tx *world.Tx) { tx.UseKind(governing) })
	for what, do := range map[string]func(*world.Tx){
		"it is being given back": func(tx *world.Tx) {
			tx.ReleaseKind(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "deployments.apps")
		},
		"it goes": func(tx *world.Tx) { tx.DropKind("deployments.apps") },
	} {
		s.queued()
		s.world.Update(func(tx *world.Tx) { tx.UseKind(s.kind) })
		s.queued()
		s.world.Update(do)
		if got := s.queued(); !slices.Contains(got, hpa) || !slices.Contains(got, web) {
			t.Errorf("%s: %v are looked at", what, got)
		}
	}
}

// A freeze acts on no kind. Its status still depends on the kinds that it judges.
func TestFreezeStatusFollowsTheListedKinds(t *testing.T) {
	s := newScene(t, http.NotFoundHandler())
	freeze := &v1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "week", UID: "u", Generation: 1}}
	freeze.Spec.StartTime, freeze.Spec.EndTime = metav1.NewTime(noon), metav1.NewTime(noon.AddDate(0, 0, 7))
	freeze.Spec.Deny = []v1alpha1.Action{v1alpha1.ActionScale}
	freeze.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
	if err := s.client.Create(t.Context(), freeze); err != nil {
		t.Fatal(err)
	}
	kind, _ := kinds.Find("ChangeFreeze")
	s.world.Update(func(tx *world.Tx) { tx.DropKind("deployments.apps"); tx.SetPolicy(kind, freeze.DeepCopy()) })
	ready := func() string {
		over, stop := context.WithCancel(t.Context())
		stop()
		s.status.Run(over) // writes the pending statuses once
		var is v1alpha1.ChangeFreeze
		if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(freeze), &is); err != nil {
			t.Fatal(err)
		}
		return meta.FindStatusCondition(is.Status.Conditions, v1alpha1.ConditionReady).Reason
	}
	if got := ready(); got != "AdapterNotReady" {
		t.Fatalf("without the kind: %s", got)
	}
	s.world.Update(func(tx *world.Tx) { tx.UseKind(s.kind) })
	if got := ready(); got != "AsExpected" {
		t.Errorf("with the kind in use: %s", got)
	}
	s.world.Update(func(tx *world.Tx) { tx.DropKind("deployments.apps") })
	if got := ready(); got != "AdapterNotReady" {
		t.Errorf("once the kind has gone: %s", got)
	}
}

// queued returns and removes all queued targets.
func (s *scene) queued() (refs []workload.Ref) {
	for s.queue.Len() > 0 {
		ref, _ := s.queue.Get()
		s.queue.Done(ref)
		refs = append(refs, ref)
	}
	return refs
}
