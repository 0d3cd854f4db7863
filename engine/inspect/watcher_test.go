package inspect_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/engine/inspect"
)

// watcherRules are the rights needed by a Watcher.
var watcherRules = []rbacv1.PolicyRule{
	{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{"apiregistration.k8s.io"}, Resources: []string{"apiservices"}, Verbs: []string{"list", "watch"}},
}

// watchGroups starts a Watcher for the length of the test. The channel receives the groups of its calls.
func watchGroups(t *testing.T, config *rest.Config, options inspect.WatcherOptions) (*inspect.Watcher, <-chan string) {
	t.Helper()
	calls := make(chan string, 1000)
	watcher, err := inspect.NewWatcher(config, options, func(group string) { calls <- group })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- watcher.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return watcher, calls
}

// expect waits for a call with the group and ignores other calls.
func expect(t *testing.T, calls <-chan string, group, why string) {
	t.Helper()
	late := time.After(time.Minute)
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

func TestWatcherSeesKindsComeAndGo(t *testing.T) {
	const group = "come.example.com"
	watcher, calls := watchGroups(t, api.Config(), inspect.WatcherOptions{Log: testr.New(t), Repeat: time.Second})
	expect(t, calls, inspect.AllGroups, "once in sync")
	inspector := newInspector(t, api.Config())
	served := func() bool {
		got, err := inspector.Serve(t.Context(), group, "Widget", []string{"v1"})
		if err != nil {
			t.Fatal(err)
		}
		return got.Found
	}
	if served() {
		t.Fatal("served before it is installed")
	}

	install(t, readCRD(t, group))
	for !served() || !published(t, inspector, group) {
		expect(t, calls, group, "after the CRD came, while it is not served and published")
	}
	if err := crds(t).Delete(t.Context(), "widgets."+group, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for served() {
		expect(t, calls, group, "after the CRD went, while it is still served")
	}
	if err := watcher.Degraded(); err != nil {
		t.Errorf("degraded with every right: %v", err)
	}
}

func published(t *testing.T, inspector *inspect.Inspector, group string) bool {
	t.Helper()
	served, err := inspector.Serve(t.Context(), group, "Widget", []string{"v1"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = inspector.MatchSchema(t.Context(), served.GVK, nil)
	return err == nil
}

// gate is a transport that ends and refuses requests while it is shut.
type gate struct {
	shut   atomic.Bool
	bodies sync.Map
}

func (g *gate) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if g.shut.Load() {
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

// When a watch works again, all groups are checked, even if nothing has changed: other requests may have failed
// meanwhile.
func TestWatcherCallsAfterRecovery(t *testing.T) {
	g, config := &gate{}, rest.CopyConfig(api.Config())
	config.Wrap(g.wrap)
	watcher, calls := watchGroups(t, config, inspect.WatcherOptions{Log: testr.New(t), Repeat: time.Millisecond, Recheck: time.Hour})
	expect(t, calls, inspect.AllGroups, "once in sync")
	expect(t, calls, inspect.AllGroups, "repeated")
	g.close()
	eventually(t, "the watches fail", func() error {
		if watcher.Degraded() == nil {
			return errors.New("they work")
		}
		return nil
	})
	g.shut.Store(false)
	expect(t, calls, inspect.AllGroups, "after the recovery")
}

// Without rights the watcher logs a line and checks periodically; with rights it starts watching.
func TestWatcherWithoutRights(t *testing.T) {
	config := api.Impersonate("watcher", "watchers")
	watcher, calls := watchGroups(t, config, inspect.WatcherOptions{Log: testr.New(t), Recheck: 100 * time.Millisecond})
	expect(t, calls, inspect.AllGroups, "at a re-check")
	err := watcher.Degraded()
	if err == nil || !strings.Contains(err.Error(), "watch customresourcedefinitions.apiextensions.k8s.io: ") ||
		!strings.Contains(err.Error(), "watch apiservices.apiregistration.k8s.io: ") {
		t.Fatalf("Degraded: %v, want both watches named", err)
	}

	missing, err := newInspector(t, config).Authorize(t.Context(), watcherRules)
	if err != nil {
		t.Fatal(err)
	}
	bind(t, kubernetes.NewForConfigOrDie(api.Config()), "watchers", "watchers", missing...)
	eventually(t, "the watches work once allowed", watcher.Degraded)
	crd := readCRD(t, "late.example.com")
	install(t, crd)
	expect(t, calls, crd.Spec.Group, "after rights came")
	if len(missing) == 0 {
		t.Errorf("missing rules: %v, want %d", missing, len(watcherRules))
	}
}
