package watch_test

import (
	"context"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/watch"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// pages reads more objects than a page holds from the API server in pages: a proxy refuses streaming and lists from the
// server's cache, which would come in one piece.
func (w world) pages(t *testing.T) {
	const size = 1100
	w.create(t, namespaces, object("v1", "Namespace", "library", nil))
	inParallel(t, size, func(ctx context.Context, i int) error {
		_, err := w.admin.Resource(configMaps).Namespace("library").Create(ctx, object("v1", "ConfigMap", name(i), nil), metav1.CreateOptions{})
		return err
	})
	config := w.cluster.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return inPages{next} })
	held, err := newManager(t, config).Ensure(t.Context(), watch.Source{GVR: configMaps, ID: "metadata", Projector: watch.MetadataProjector()})
	if err != nil {
		t.Fatal(err)
	}
	waitSynced(t, held)
	for i := range size {
		if held.Get("library", name(i)) == nil {
			t.Fatalf("object %d of %d is missing", i, size)
		}
	}
	if got := w.requests(t, "configmaps"); got["list"] != 3 {
		t.Errorf("requests %v, want a list in three pages", got)
	}
	if err := w.admin.Resource(configMaps).Namespace("library").Delete(t.Context(), name(size-1), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the watch goes on from the list", func() bool { return held.Get("library", name(size-1)) == nil })
}

type inPages struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (p inPages) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	r = r.Clone(r.Context())
	switch {
	case q.Get("sendInitialEvents") == "true":
		q.Set("resourceVersionMatch", "Exact") // an invalid combination: 422
	case q.Get("watch") == "":
		q.Del("resourceVersion")
		q.Del("resourceVersionMatch")
	}
	r.URL.RawQuery = q.Encode()
	return p.RoundTripper.RoundTrip(r)
}
