// Package worldtest has helpers for tests of worlds and their readers: a store of objects in memory, and kinds and
// objects of the library's adapters. Only tests import it.
package worldtest

import (
	"fmt"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Store is a world.Store that can be out of sync.
type Store struct {
	world.Store
	syncing atomic.Bool
}

// SetSynced sets whether the store counts as in sync.
func (s *Store) SetSynced(synced bool) { s.syncing.Store(!synced) }

// HasSynced implements world.Objects.
func (s *Store) HasSynced() bool { return !s.syncing.Load() }

// Names of adapters of the library.
const (
	Deployments = "deployments.apps"
	Autoscalers = "horizontalpodautoscalers.autoscaling"
	ReplicaSets = "replicasets.apps"
)

// Kind returns the kind of a library adapter, by the adapter's name, in its first version.
func Kind(t testing.TB, name string) *decide.Kind {
	t.Helper()
	return KindWith(t, name, adapter.Keys{})
}

// KindWith returns the kind with additional keys to keep of its objects.
func KindWith(t testing.TB, name string, keys adapter.Keys) *decide.Kind {
	t.Helper()
	all, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if all[i].Name != name {
			continue
		}
		a, errs := adapter.Compile(name, all[i].Spec, keys)
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		resource := schema.ParseGroupResource(name)
		return decide.NewKind(a, resource.WithVersion(all[i].Spec.Target.Versions[0]))
	}
	t.Fatalf("the library has no adapter %s", name)
	return nil
}

// Project reads an object as the watch of a kind would.
func Project(t testing.TB, k *decide.Kind, manifest string) *workload.Object {
	t.Helper()
	obj, err := k.Adapter.Project([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// Deployment returns the manifest of a Deployment in namespace shop. The text metadata is added to its metadata; if not
// empty, it begins with a comma.
func Deployment(name string, replicas int, metadata string) string {
	return fmt.Sprintf(
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q,"namespace":"shop","uid":%q,"resourceVersion":"7","generation":1%s},`+
			`"spec":{"replicas":%d,"selector":{"matchLabels":{"app":%q}},"template":{"metadata":{"labels":{"app":%q}}}}}`, name, "uid-"+name,
		metadata, replicas, name, name)
}

// Autoscaler returns the manifest of a HorizontalPodAutoscaler for a Deployment in namespace shop. The text metadata is
// as in Deployment.
func Autoscaler(name, deployment string, low, high int, metadata string) string {
	return fmt.Sprintf(
		`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":%q,"namespace":"shop","uid":%q,"resourceVersion":"7","generation":1%s},`+
			`"spec":{"minReplicas":%d,"maxReplicas":%d,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":%q}}}`, name, "uid-"+name,
		metadata, low, high, deployment)
}
