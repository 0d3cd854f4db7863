package watch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/await"
	"flyball.dev/flyball/test/local"
)

var (
	deployments  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	namespaces   = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	definitions  = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	engines      = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "engines"}
	roles        = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	roleBindings = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
)

// userAgent distinguishes the requests of the watches from those of the test.
const userAgent = "watch-test"

// patience is the time limit of conditions, on a busy machine too.
const patience = time.Minute

// world is a cluster with an administrator's client.
type world struct {
	cluster *local.Cluster
	admin   *dynamic.DynamicClient
}

func TestAgainstTheAPIServer(t *testing.T) {
	cluster := local.Start(t, local.Options{Level: local.LevelAPI, Audit: true})
	admin, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	w := world{cluster, admin}
	t.Run("500 Deployments", w.deployments)
	t.Run("1,100 objects in pages", w.pages)
	t.Run("namespaces by their metadata", w.namespaces)
	t.Run("a kind that comes, goes and comes back", w.comingAndGoing)
	t.Run("a right that is granted later", w.grantedLater)
	t.Run("only the metadata of objects", w.metadataOnly)
	t.Run("groups whose kinds come and go", w.groupsComeAndGo)
	t.Run("groups once the right is granted", w.groupsGrantedLater)
	t.Run("groups after a fault", w.groupsRecover)
	t.Run("the API server stops and starts", w.restart)
}

func (w world) deployments(t *testing.T) {
	inParallel(t, 500, func(ctx context.Context, i int) error {
		_, err := w.admin.Resource(deployments).Namespace("default").Create(ctx, deployment(i), metav1.CreateOptions{})
		return err
	})
	m := newManager(t, w.cluster.Config())
	f := newFollower()
	held := ensure(t, m, deployments, f)
	if got := held.Len(); got != 500 {
		t.Fatalf("%d objects, want 500", got)
	}
	w.same(t, held, f)

	inParallel(t, 100, func(ctx context.Context, i int) error {
		d := w.admin.Resource(deployments).Namespace("default")
		switch i % 4 {
		case 0:
			return d.Delete(ctx, name(i), metav1.DeleteOptions{})
		case 1:
			_, err := d.Patch(ctx, name(i), types.MergePatchType, []byte(`{"metadata":{"labels":{"tier":"back"}}}`), metav1.PatchOptions{})
			return err
		case 2:
			if err := d.Delete(ctx, name(i), metav1.DeleteOptions{}); err != nil {
				return err
			}
			_, err := d.Create(ctx, deployment(i), metav1.CreateOptions{})
			return err
		default:
			_, err := d.Patch(ctx, name(i), types.MergePatchType, []byte(`{"spec":{"replicas":9}}`), metav1.PatchOptions{})
			return err
		}
	})
	w.same(t, held, f)
	if got := held.Len(); got != 475 || held.Get("default", name(99)).Fields[0].Raw != "9" ||
		held.Get("default", name(97)).Labels.Get("tier") != "back" {
		t.Errorf("%d objects, want 475 with the last changes", got)
	}
	if got := held.Stats(); got.Lists != 1 || got.Deleted != 50 || got.Failures != 0 {
		t.Errorf("stats %+v", got)
	}
	if diff := cmp.Diff(map[string]int{"watch": 1}, w.requests(t, "deployments")); diff != "" {
		t.Errorf("one streamed watch must do: %s", diff)
	}
}

func (w world) namespaces(t *testing.T) {
	m := newManager(t, w.cluster.Config())
	held, err := m.Ensure(t.Context(), watch.Source{
		GVR: namespaces, ID: "metadata", Projector: watch.MetadataProjector("example.com/note"),
	})
	if err != nil {
		t.Fatal(err)
	}
	waitSynced(t, held)
	created := object("v1", "Namespace", "shop", nil)
	created.SetAnnotations(map[string]string{"example.com/note": "x", "example.com/other": "y"})
	w.create(t, namespaces, created)
	eventually(t, "the namespace arrives", func() bool { return held.Get("", "shop") != nil })
	o := held.Get("", "shop")
	if diff := cmp.Diff(workload.Pairs{{Key: "example.com/note", Value: "x"}}, o.Annotations); diff != "" {
		t.Error(diff)
	}
	if o.Labels.Get("kubernetes.io/metadata.name") != "shop" || time.Since(time.Unix(o.Created, 0)) > time.Minute {
		t.Errorf("projected %+v", o)
	}
	if held.Get("", "kube-system") == nil {
		t.Error("kube-system is missing")
	}
}

func (w world) comingAndGoing(t *testing.T) {
	m := newManager(t, w.cluster.Config())
	f := newFollower()
	held, err := m.Ensure(t.Context(), source(engines, f))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the missing kind shows", func() bool { _, err := held.Err(); return apierrors.IsNotFound(err) })

	for round := range 2 {
		w.create(t, definitions, definition("engines", "Engine"))
		eventually(t, "objects can be made", func() bool {
			_, err := w.admin.Resource(engines).Namespace("default").Create(t.Context(), engine("one"), metav1.CreateOptions{})
			return err == nil
		})
		start := time.Now()
		eventually(t, "the object arrives", func() bool { return held.Get("default", "one") != nil })
		t.Logf("round %d: known after %s", round, time.Since(start))
		eventually(t, "no error is left", func() bool { _, err := held.Err(); return err == nil })
		if _, err := w.admin.Resource(engines).Namespace("default").Patch(t.Context(), "one", types.MergePatchType,
			[]byte(`{"spec":{"replicas":4}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the change arrives", func() bool { return held.Get("default", "one").Fields[0].Raw == "4" })
		w.same(t, held, f)

		if err := w.admin.Resource(definitions).Delete(t.Context(), "engines.example.com", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the object goes", func() bool { return held.Len() == 0 })
		eventually(t, "the missing kind shows", func() bool { _, err := held.Err(); return apierrors.IsNotFound(err) })
		f.check(t, held)
		eventually(t, "the definition is gone", func() bool {
			_, err := w.admin.Resource(definitions).Get(t.Context(), "engines.example.com", metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}
}

func (w world) grantedLater(t *testing.T) {
	m := newManager(t, w.cluster.ConfigFor("alice"))
	held, err := m.Ensure(t.Context(), source(deployments, newFollower()))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the refusal shows", func() bool { _, err := held.Err(); return apierrors.IsForbidden(err) })
	if _, err := held.Err(); !strings.Contains(err.Error(), `"deployments"`) || !strings.Contains(err.Error(), "alice") {
		t.Errorf("the refusal does not say of what and to whom: %v", err)
	}
	w.create(t, roles, object("rbac.authorization.k8s.io/v1", "ClusterRole", "watch-deployments", map[string]any{
		"rules": []any{map[string]any{
			"apiGroups": []any{"apps"}, "resources": []any{"deployments"}, "verbs": []any{"list", "watch"},
		}},
	}))
	w.create(t, roleBindings, object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "watch-deployments", map[string]any{
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "watch-deployments"},
		"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}},
	}))
	waitSynced(t, held)
	if got := held.Len(); got != 475 {
		t.Errorf("%d objects, want 475", got)
	}
}

func (w world) restart(t *testing.T) {
	config, tries := w.cluster.Config(), atomic.Int64{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			tries.Add(1)
			return next.RoundTrip(r)
		})
	})
	m := newManager(t, config)
	f := newFollower()
	held := ensure(t, m, deployments, f)
	for range 2 {
		if err := w.cluster.StopAPIServer(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the failure shows", func() bool { _, err := held.Err(); return err != nil })
		if held.Len() != 475 {
			t.Errorf("%d objects are left while the API server is down", held.Len())
		}
		before := tries.Load()
		eventually(t, "the back-off grows with each try", func() bool { return tries.Load() >= before+4 })
		if err := w.cluster.StartAPIServer(); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		note := fmt.Sprint(start.UnixNano())
		if _, err := w.admin.Resource(deployments).Namespace("default").Patch(t.Context(), name(1), types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"note":"`+note+`"}}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the change arrives", func() bool { return held.Get("default", name(1)).Labels.Get("note") == note })
		t.Logf("right %s after the API server was back", time.Since(start))
		w.same(t, held, f)
		eventually(t, "no error is left", func() bool { _, err := held.Err(); return err == nil }) // a list can come before the watch is open
	}
}

// same waits until a watch has the API server's list, which nothing changes meanwhile.
func (w world) same(t *testing.T, held *watch.Watch, f *follower) {
	t.Helper()
	listed, err := w.admin.Resource(held.GVR()).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]string)
	for _, o := range listed.Items {
		count, _, err := unstructured.NestedInt64(o.Object, "spec", "replicas")
		if err != nil {
			t.Fatal(err)
		}
		want[o.GetName()] = fmt.Sprint(o.GetResourceVersion(), " ", o.GetUID(), " ", count, " ", o.GetGeneration())
	}
	await.NoError(t, "the watch has the objects of the API server", func() error {
		got := make(map[string]string)
		held.Range(func(o *workload.Object) bool {
			got[o.Name] = fmt.Sprint(o.ResourceVersion, " ", o.UID, " ", o.Fields[0].Raw, " ", o.Generation)
			return true
		})
		if diff := cmp.Diff(want, got); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
	f.check(t, held)
}

// requests counts the requests of the watches for a resource so far, by verb.
func (w world) requests(t *testing.T, resource string) map[string]int {
	t.Helper()
	requests, err := w.cluster.Audit()
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int)
	for _, r := range requests {
		if r.UserAgent != userAgent || r.Object == nil || r.Object.Resource != resource {
			continue
		}
		if goesOn := r.Verb == "watch"; goesOn == (r.Stage == "ResponseStarted") { // an ended watch is logged twice
			counts[r.Verb]++
		}
	}
	return counts
}
