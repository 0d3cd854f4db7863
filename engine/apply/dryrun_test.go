package apply_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// stored is an API server with one object, which refuses everything but reads of it.
type stored struct{ object string }

func (s *stored) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		http.Error(w, r.Method, http.StatusTeapot)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(s.object))
}

const web = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"web","uid":"u1","resourceVersion":%q},` +
	`"spec":{"replicas":%d,"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`

// dryScene is a dry run over one Deployment.
type dryScene struct {
	*testing.T
	server *stored
	dry    *apply.DryRun
	writer *apply.Writer
	shown  string
}

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

func newDryScene(t *testing.T) *dryScene {
	s := &dryScene{T: t, server: &stored{}}
	api := httptest.NewServer(s.server)
	t.Cleanup(api.Close)
	config := &rest.Config{Host: api.URL}
	var err error
	if s.dry, err = apply.NewDryRun(config); err != nil {
		t.Fatal(err)
	}
	s.dry.ShowBy(func(r schema.GroupVersionResource, raw []byte) { s.shown = string(s.dry.Over(r.GroupResource(), raw)) })
	if s.writer, err = apply.NewWriter(config, s.dry, logr.Discard()); err != nil {
		t.Fatal(err)
	}
	s.store("7", 3, "a:1")
	return s
}

// store changes the real object as another writer does.
func (s *dryScene) store(version string, replicas int, image string) {
	s.server.object = fmt.Sprintf(web, version, replicas, image)
	s.shown = string(s.dry.Over(deployments.GroupResource(), []byte(s.server.object)))
}

// write sends a patch for the shown object.
func (s *dryScene) write(patch *workload.Patch) apply.Outcome {
	s.Helper()
	got, err := s.writer.Apply(s.Context(), deployments, &workload.Object{Namespace: "shop", Name: "web", ResourceVersion: s.version()}, patch)
	if err != nil {
		s.Fatal(err)
	}
	return got
}

func (s *dryScene) version() string { return rawjson.Get(s.shown, "metadata.resourceVersion").Str }

// is checks the shown replicas and image, and whether the resourceVersion is the real one.
func (s *dryScene) is(replicas int64, image string, isReal bool) {
	s.Helper()
	if got := rawjson.Get(s.shown, "spec.replicas").Int(); got != replicas {
		s.Errorf("%d replicas are shown, want %d", got, replicas)
	}
	if got := rawjson.Get(s.shown, "spec.template.spec.containers.0.image").Str; got != image {
		s.Errorf("the image %s is shown, want %s", got, image)
	}
	if is := !strings.Contains(s.version(), "+"); is != isReal {
		s.Errorf("resourceVersion %s", s.version())
	}
}

func asleep(more string) *workload.Patch {
	return &workload.Patch{Type: types.MergePatchType,
		Body: []byte(`{"metadata":{"annotations":{"flyball.dev/ledger":"{}"}},"spec":{"replicas":0` + more + `}}`)}
}

func awake() *workload.Patch {
	return &workload.Patch{Type: types.MergePatchType,
		Body: []byte(`{"metadata":{"annotations":{"flyball.dev/ledger":null}},"spec":{"replicas":3}}`)}
}

// TestDryRunShowsWrites follows an object through a night: the write is shown over later versions of the object, and ends with the
// restore, after which the object is shown as it is.
func TestDryRunShowsWrites(t *testing.T) {
	s := newDryScene(t)
	if got := s.write(asleep("")); got != apply.Applied {
		t.Fatal(got)
	}
	s.is(0, "a:1", false)
	s.store("8", 5, "a:2") // by an autoscaler and a deployment
	s.is(0, "a:2", false)
	s.write(awake())
	s.is(5, "a:2", true)
}

// TestDryRunWritesThroughScale checks the write of a count through /scale after the ledger.
func TestDryRunWritesThroughScale(t *testing.T) {
	s := newDryScene(t)
	s.write(&workload.Patch{Type: types.MergePatchType, Body: []byte(`{"metadata":{"annotations":{"flyball.dev/ledger":"{}"}}}`),
		Next: &workload.Patch{Type: types.MergePatchType, Body: []byte(`{"spec":{"replicas":1}}`), Subresource: "scale",
			Counts: []path.Pointer{"/spec/replicas"}}})
	s.is(1, "a:1", false)
}

// TestDryRunForgets checks the ends of a kept write besides the restore: a recreated or deleted object, and an edit of a list in it.
func TestDryRunForgets(t *testing.T) {
	list := `,"template":{"spec":{"containers":[{"name":"main","image":"a:1","resources":{"requests":{"cpu":"1"}}}]}}`
	for reason, end := range map[string]func(*dryScene){
		"recreated": func(s *dryScene) {
			s.server.object = strings.Replace(fmt.Sprintf(web, "9", 3, "a:1"), "u1", "u2", 1)
			s.shown = string(s.dry.Over(deployments.GroupResource(), []byte(s.server.object)))
		},
		"deleted": func(s *dryScene) {
			s.dry.Gone(deployments.GroupResource(), "shop", "web")
			s.store("9", 3, "a:1")
		},
		"an edit of a list": func(s *dryScene) { s.store("9", 3, "a:2"); s.store("10", 3, "a:1") },
	} {
		t.Run(reason, func(t *testing.T) {
			s := newDryScene(t)
			s.write(asleep(list))
			s.is(0, "a:1", false)
			s.store("8", 4, "a:1")
			s.is(0, "a:1", false)
			end(s)
			s.is(3, "a:1", true)
		})
	}
}

// TestDryRunRefusesStaleWrites checks the precondition of a write, on the shown object.
func TestDryRunRefusesStaleWrites(t *testing.T) {
	s := newDryScene(t)
	s.write(asleep(""))
	current := s.shown
	s.shown = s.server.object
	if got := s.write(asleep("")); got != apply.Stale {
		t.Errorf("a write of the object before the last write is %s", got)
	}
	if s.shown != current {
		t.Error("the object is not shown again")
	}
}

// TestDryRunChangesPodsInPlace checks a strategic merge patch of a pod, and that it lasts without a ledger.
func TestDryRunChangesPodsInPlace(t *testing.T) {
	s := newDryScene(t)
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	s.server.object = `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"web","uid":"p","resourceVersion":"1"},` +
		`"spec":{"containers":[{"name":"side","image":"s"},{"name":"main","image":"m"}]}}`
	obj := &workload.Object{Namespace: "shop", Name: "web", ResourceVersion: "1"}
	if _, err := s.writer.Apply(t.Context(), pods, obj, &workload.Patch{Type: types.StrategicMergePatchType, Subresource: "resize",
		Body: []byte(`{"metadata":{"uid":"p","resourceVersion":"1"},` +
			`"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"2"}}}]}}`)},
	); err != nil {
		t.Fatal(err)
	}
	var pod struct {
		Spec struct {
			Containers []struct {
				Name, Image string
				Resources   struct{ Requests map[string]string }
			}
		}
	}
	if err := json.Unmarshal([]byte(s.shown), &pod); err != nil {
		t.Fatal(err)
	}
	if c := pod.Spec.Containers; len(c) != 2 || c[1].Image != "m" || c[1].Resources.Requests["cpu"] != "2" || c[0].Image != "s" {
		t.Errorf("%+v", c)
	}
}
