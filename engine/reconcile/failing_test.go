package reconcile

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr/funcr"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

const webhookIsDown = `failed calling webhook \"judge.example.com\": connect: connection refused`

// A webhook with failurePolicy Fail is down; the API server answers with an error of its own.
func TestTheSecondFailureIsReported(t *testing.T) {
	var down atomic.Bool
	down.Store(true)
	through := make(writes, 1)
	s := newScene(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !down.Load() {
			through.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"InternalError","code":500,"message":"` +
			webhookIsDown + `"}`))
	}))
	var logged []string
	s.obstacle.Log = funcr.New(func(_, line string) { logged = append(logged, line) }, funcr.Options{})
	s.objects.Put(worldtest.Project(t, s.kind.Kind, worldtest.Deployment("web-1", 3, "")))
	s.add(t, kindThat(t, func(*policy.Policy) {}), nights)

	_ = s.process(t.Context(), webs(1))
	if got := s.look(t, nights); got.Targets.Failed != 0 || len(got.Waiting) != 1 ||
		!strings.Contains(got.Waiting[0].Message, "connection refused") || len(logged) != 0 {
		t.Errorf("once: %+v, waiting %v, logged %q", got.Targets, got.Waiting, logged)
	}
	for range 2 {
		_ = s.process(t.Context(), webs(1))
		got := s.look(t, nights)
		if got.Targets.Failed != 1 || len(got.Failures) != 1 || !strings.Contains(got.Failures[0].Message, "connection refused") {
			t.Errorf("again: %+v, failures %v", got.Targets, got.Failures)
		}
		if len(logged) != 1 || !strings.Contains(logged[0], "connection refused") || !strings.Contains(logged[0], webs(1).String()) ||
			!strings.Contains(logged[0], `"error"=`) {
			t.Errorf("logged %q, want one error", logged)
		}
	}
	down.Store(false)
	_ = s.process(t.Context(), webs(1))
	if why, failing := s.obstacle.Failing(webs(1)); len(through) != 1 || failing {
		t.Errorf("once it is up again, %d writes passed, and it fails because %q", len(through), why)
	}
}

// One namespace accepts writes and never answers. Writes in another namespace succeed, although there are fewer workers
// than hanging writes.
func TestHangingNamespacesDoNotDelayOthers(t *testing.T) {
	through, never := make(writes, 100), make(chan struct{})
	var hanging atomic.Int32
	s := newScene(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/namespaces/shop/") {
			hanging.Add(1)
			<-never
			return
		}
		through.ServeHTTP(w, r)
	}))
	var release sync.Once
	t.Cleanup(func() { release.Do(func() { close(never) }) })
	const each, fewWrites = 40, 4
	namespaces := &worldtest.Store{}
	namespaces.Put(&workload.Object{Name: "shop"})
	namespaces.Put(&workload.Object{Name: "bank"})
	s.world.Update(func(tx *world.Tx) { tx.SetNamespaces(namespaces) })
	var shop, bank []workload.Ref
	for i := range each {
		for _, namespace := range []string{"shop", "bank"} {
			obj := worldtest.Project(t, s.kind.Kind, worldtest.Deployment(webs(i).Name, 3, ""))
			obj.Namespace = namespace
			s.objects.Put(obj)
			ref := webs(i)
			if ref.Namespace = namespace; namespace == "shop" {
				shop = append(shop, ref)
			} else {
				bank = append(bank, ref)
			}
		}
	}
	k := kindThat(t, func(*policy.Policy) {})
	s.add(t, k, nights)
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); s.Run(ctx) }()
	s.Add(shop...)
	eventually(t, "nothing hangs", func() bool { return hanging.Load() == fewWrites })
	s.add(t, k, workload.Policy{Kind: "Schedule", Namespace: "bank", Name: "nights"})
	s.Add(bank...)
	for range each {
		<-through
	}
	if n := hanging.Load(); n != fewWrites {
		t.Errorf("%d writes hang, want %d", n, fewWrites)
	}
	eventually(t, "the others do not say what they wait for", func() bool {
		got := s.look(t, nights)
		return got.Targets.Pending == each && len(got.Waiting) == 10 && strings.Contains(got.Waiting[0].Message, "4 are not answered yet")
	})
	release.Do(func() { close(never) })
	stop()
	<-over
}
