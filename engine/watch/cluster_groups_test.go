package watch_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/engine/inspect"
	"flyball.dev/flyball/engine/watch"
)

// groups starts Groups for the length of the test. The channel receives the groups of the calls.
func groups(t *testing.T, m *watch.Manager, recheck time.Duration) <-chan string {
	t.Helper()
	calls := make(chan string, 1000)
	g := &watch.Groups{Manager: m, Changed: func(group string) { calls <- group }, Recheck: recheck}
	done := make(chan error, 1)
	go func() { done <- g.Start(t.Context()) }()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return calls
}

// expect waits for a call with the group and ignores other calls.
func expect(t *testing.T, calls <-chan string, group, why string) {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case got := <-calls:
			if got == group {
				return
			}
		case <-late:
			t.Fatalf("no call with %q %s", group, why)
		}
	}
}

// groupsComeAndGo installs and removes a kind. Calls come until it is served with its schema, and until it is gone.
func (w world) groupsComeAndGo(t *testing.T) {
	calls := groups(t, newManager(t, w.cluster.Config()), time.Hour)
	expect(t, calls, watch.AllGroups, "once in sync")
	inspector, err := inspect.New(w.cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	served := func() bool {
		got, err := inspector.Serve(t.Context(), "example.com", "Engine", []string{"v1"})
		if err != nil {
			t.Fatal(err)
		}
		return got.Found
	}
	published := func() bool {
		_, err := inspector.MatchSchema(t.Context(), engines.GroupVersion().WithKind("Engine"), nil)
		return err == nil
	}
	if served() {
		t.Fatal("served before it is installed")
	}
	w.create(t, definitions, definition("engines", "Engine"))
	for !served() || !published() {
		expect(t, calls, "example.com", "after the CRD came, while it is not served and published")
	}
	if err := w.admin.Resource(definitions).Delete(t.Context(), "engines.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for served() {
		expect(t, calls, "example.com", "after the CRD went, while it is still served")
	}
}

// groupsGrantedLater checks that the callback comes periodically without rights, and for each group once they are
// granted.
func (w world) groupsGrantedLater(t *testing.T) {
	calls := groups(t, newManager(t, w.cluster.ConfigFor("bob")), 100*time.Millisecond)
	expect(t, calls, watch.AllGroups, "at a re-check")
	boilers := definition("boilers", "Boiler")
	w.create(t, definitions, boilers)
	w.create(t, roles, object("rbac.authorization.k8s.io/v1", "ClusterRole", "watch-groups", map[string]any{
		"rules": []any{map[string]any{"apiGroups": []any{"apiextensions.k8s.io", "apiregistration.k8s.io"},
			"resources": []any{"customresourcedefinitions", "apiservices"}, "verbs": []any{"list", "watch"}}},
	}))
	w.create(t, roleBindings, object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "watch-groups", map[string]any{
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "watch-groups"},
		"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob"}},
	}))
	seen := false
	eventually(t, "an edit of a definition is seen once it may be watched", func() bool {
		_, err := w.admin.Resource(definitions).Patch(t.Context(), "boilers.example.com", types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"labels":{"edited":"%d"}}}`, time.Now().UnixNano()), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for len(calls) > 0 {
			seen = <-calls == "example.com" || seen
		}
		return seen
	})
}

// gate is a transport that ends and refuses requests while it is shut. It has refused APIServices once it has answered a request for
// them so.
type gate struct {
	shut, refusedAPIServices atomic.Bool
	bodies                   sync.Map
}

// roundTripper is a function as a transport.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (g *gate) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if g.shut.Load() {
			if strings.HasSuffix(r.URL.Path, "/apiservices") {
				g.refusedAPIServices.Store(true)
			}
			return &http.Response{StatusCode: http.StatusForbidden, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(
					`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`))}, nil
		}
		response, err := next.RoundTrip(r)
		if err == nil {
			g.bodies.Store(response.Body, nil)
		}
		return response, err
	})
}

func (g *gate) close() {
	g.shut.Store(true)
	g.bodies.Range(func(body, _ any) bool {
		_ = body.(io.Closer).Close() // the body may have ended already
		return true
	})
}

// groupsRecover checks that all groups are checked when a watch works again, even if nothing has changed: other requests
// may have failed meanwhile.
func (w world) groupsRecover(t *testing.T) {
	g, config := &gate{}, rest.CopyConfig(w.cluster.Config())
	config.Wrap(g.wrap)
	m := newManager(t, config)
	calls := groups(t, m, time.Hour)
	expect(t, calls, watch.AllGroups, "once in sync")
	expect(t, calls, watch.AllGroups, "repeated")
	g.close()
	eventually(t, "a watch fails", g.refusedAPIServices.Load)
	g.shut.Store(false)
	expect(t, calls, watch.AllGroups, "after the recovery")
}

// metadataOnly checks that the API server sends only the metadata of objects, in a stream and in a list.
func (w world) metadataOnly(t *testing.T) {
	for _, streams := range []bool{true, false} {
		config := rest.CopyConfig(w.cluster.Config())
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if !streams && r.URL.Query().Get("sendInitialEvents") == "true" {
					return &http.Response{StatusCode: http.StatusUnprocessableEntity, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
						Body: io.NopCloser(strings.NewReader(
							`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422}`))}, nil
				}
				return next.RoundTrip(r)
			})
		})
		s := source(deployments, newFollower())
		s.MetadataOnly = true
		held, err := newManager(t, config).Ensure(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		waitSynced(t, held)
		if o := held.Get("default", name(1)); o == nil || o.Fields[0].Raw != "" {
			t.Errorf("streams %t: got %+v, want the Deployment without its replicas", streams, o)
		}
	}
}
