package watch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/await"
)

// replicas projects the metadata and .spec.replicas.
type replicas struct{ metadata watch.Projector }

func (p replicas) Project(raw []byte) (*workload.Object, error) {
	o, err := p.metadata.Project(raw)
	if err != nil {
		return nil, err
	}
	o.Fields = []workload.Field{{Raw: rawjson.GetBytes(raw, "spec.replicas").Raw}}
	return o, nil
}

// follower applies its callbacks; the result must equal the objects of the watch.
type follower struct {
	mu    sync.Mutex
	known map[types.NamespacedName]*workload.Object
	wrong []string
}

func newFollower() *follower {
	return &follower{known: make(map[types.NamespacedName]*workload.Object)}
}

func (f *follower) OnChange(old, new *workload.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := new
	if o == nil {
		o = old
	}
	k := types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
	if f.known[k] != old {
		f.wrong = append(f.wrong, fmt.Sprintf("%s: the old state is not the one before", k))
	}
	if old != nil && new != nil && old.ResourceVersion == new.ResourceVersion {
		f.wrong = append(f.wrong, fmt.Sprintf("%s: nothing changed", k))
	}
	if new == nil {
		delete(f.known, k)
		return
	}
	f.known[k] = new
}

// check waits until the callbacks lead to the objects of the store, which has each change before its callback.
func (f *follower) check(t *testing.T, w *watch.Watch) {
	t.Helper()
	await.NoError(t, "the callbacks lead to the objects of the store", func() error {
		held := make(map[types.NamespacedName]*workload.Object)
		w.Range(func(o *workload.Object) bool {
			held[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}] = o
			return true
		})
		f.mu.Lock()
		defer f.mu.Unlock()
		if diff := cmp.Diff(held, f.known); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, wrong := range f.wrong {
		t.Error(wrong)
	}
}

func (w world) create(t *testing.T, gvr schema.GroupVersionResource, o *unstructured.Unstructured) {
	t.Helper()
	if _, err := w.admin.Resource(gvr).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create %s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

func newManager(t *testing.T, config *rest.Config) *watch.Manager {
	t.Helper()
	config.UserAgent = userAgent
	m, err := watch.NewManager(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func source(gvr schema.GroupVersionResource, f *follower) watch.Source {
	return watch.Source{GVR: gvr, ID: "replicas", Projector: replicas{watch.MetadataProjector()}, Handler: f}
}

func ensure(t *testing.T, m *watch.Manager, gvr schema.GroupVersionResource, f *follower) *watch.Watch {
	t.Helper()
	held, err := m.Ensure(t.Context(), source(gvr, f))
	if err != nil {
		t.Fatal(err)
	}
	waitSynced(t, held)
	return held
}

func waitSynced(t *testing.T, held *watch.Watch) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := held.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, condition string, ok func() bool) {
	t.Helper()
	await.True(t, condition, ok)
}

// inParallel does n things, eight at a time.
func inParallel(t *testing.T, n int, do func(ctx context.Context, i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	next := make(chan int)
	for range 8 {
		wg.Go(func() {
			for i := range next {
				if err := do(t.Context(), i); err != nil {
					t.Errorf("item %d: %v", i, err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

func name(i int) string { return fmt.Sprintf("web-%03d", i) }

func object(version, kind, name string, rest map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	for k, v := range rest {
		o.Object[k] = v
	}
	o.SetAPIVersion(version)
	o.SetKind(kind)
	o.SetName(name)
	return o
}

func deployment(i int) *unstructured.Unstructured {
	labels := map[string]any{"app": name(i)}
	return object("apps/v1", "Deployment", name(i), map[string]any{"spec": map[string]any{
		"replicas": int64(i % 7),
		"selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": "example.com/web:1"}}},
		},
	}})
}

func engine(name string) *unstructured.Unstructured {
	return object("example.com/v1", "Engine", name, map[string]any{"spec": map[string]any{"replicas": int64(3)}})
}

func definition(plural, kind string) *unstructured.Unstructured {
	return object("apiextensions.k8s.io/v1", "CustomResourceDefinition", plural+".example.com", map[string]any{"spec": map[string]any{
		"group": "example.com", "scope": "Namespaced",
		"names": map[string]any{"kind": kind, "plural": plural},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "x-kubernetes-preserve-unknown-fields": true,
			}},
		}},
	}})
}
