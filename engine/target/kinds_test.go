package target

import (
	"net/http"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/engine/world/worldtest"
)

// TestGovernorsOfAKindThatGoesAreLookedAt: what was set on them for the sake of what they govern has to be given back.
func TestGovernorsOfAKindThatGoesAreLookedAt(t *testing.T) {
	s := newScene(t, http.NotFoundHandler())
	k := worldtest.Kind(t, worldtest.Autoscalers)
	live, objects := world.NewLive(k.Adapter), &worldtest.Store{}
	live.Objects = objects
	put := func(k *world.Kind, store *worldtest.Store, manifest string) workload.Ref {
		obj := worldtest.Project(t, k.Kind, manifest)
		store.Put(obj)
		k.Live.Change(nil, obj)
		return k.Ref(obj)
	}
	governing := &world.Kind{Kind: k, Live: live}
	hpa, web := put(governing, objects, worldtest.Autoscaler("web", "web", 1, 9, "")), put(s.kind, s.objects, worldtest.Deployment("web", 3, ""))
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

// queued takes everything from the queue.
func (s *scene) queued() (refs []workload.Ref) {
	for s.queue.Len() > 0 {
		ref, _ := s.queue.Get()
		s.queue.Done(ref)
		refs = append(refs, ref)
	}
	return refs
}
