package watch

import (
	"context"
	"errors"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"flyball.dev/flyball/engine/workload"
)

func testLogger() klog.Logger { return ktesting.NewLogger(ktesting.NopTL{}, ktesting.NewConfig()) }

// steady serves two widgets and then nothing.
func steady(_ *server, r reply, _ url.Values) {
	r.send(frameOf("ADDED", widget("a", "1", "red")), frameOf("ADDED", widget("b", "2", "red")), initialEnd("2"))
	r.hold()
}

func TestWatchRecoversAfterAServerRestart(t *testing.T) {
	var color atomic.Value
	color.Store("red")
	s := newServer(t, func(_ *server, r reply, q url.Values) {
		if !streams(q) { // the version to continue from is older than this server
			r.status(410, "Expired")
			return
		}
		r.send(frameOf("ADDED", widget("a", "1"+color.Load().(string), color.Load().(string))), initialEnd("2"))
		r.hold()
	})
	w := ensure(t, s.manager(), &recorder{})
	waitSynced(t, w)

	s.stop()
	eventually(t, "the failure shows", func() bool { _, err := w.Err(); return err != nil })
	if w.Get("shop", "a") == nil {
		t.Error("what was known must stay known")
	}
	s.retried()
	color.Store("blue")
	s.again()
	eventually(t, "the new state arrives", func() bool { return w.Get("shop", "a").Labels.Get("color") == "blue" })
	if _, err := w.Err(); err != nil {
		t.Errorf("an error is left: %v", err)
	}
}

func TestReleaseWhileTheServerIsDown(t *testing.T) {
	s := newServer(t, steady)
	s.stop()
	before := runtime.NumGoroutine()
	m := s.manager()
	w := ensure(t, m, &recorder{})
	eventually(t, "the failure shows", func() bool { _, err := w.Err(); return err != nil })
	s.retried()
	start := time.Now()
	w.Release()
	select {
	case <-w.Done():
	case <-time.After(patience):
		t.Fatal("the watch has not ended")
	}
	t.Logf("ended within %s", time.Since(start))
	if err := w.WaitSynced(context.Background()); !errors.Is(err, errReleased) {
		t.Errorf("WaitSynced says %v", err)
	}
	m.Close()
	eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
}

func TestConsumersShareOneWatch(t *testing.T) {
	changes := make(chan string)
	s := newServer(t, func(s *server, r reply, _ url.Values) {
		r.send(frameOf("ADDED", widget("a", "1", "red")), frameOf("ADDED", widget("b", "2", "red")), initialEnd("2"))
		for {
			select {
			case frame := <-changes:
				r.send(frame)
			case <-r.r.Context().Done():
				return
			}
		}
	})
	before := runtime.NumGoroutine()
	m := s.manager()
	one, two, other := &recorder{}, &recorder{}, &recorder{}
	first := ensure(t, m, one)
	waitSynced(t, first)
	second := ensure(t, m, two)
	if got := two.heard(); len(got) != 2 || !second.HasSynced() {
		t.Errorf("who joins hears of what there is before Ensure returns, heard %q", got)
	}
	changes <- frameOf("MODIFIED", widget("a", "3", "blue"))
	eventually(t, "both hear", func() bool { return len(one.heard()) == 3 && len(two.heard()) == 3 })
	if got := len(s.seen()); got != 1 {
		t.Errorf("%d requests, want 1", got)
	}

	third, err := m.Ensure(t.Context(), Source{GVR: widgets, ID: "v2", Projector: MetadataProjector(), Handler: other})
	if err != nil {
		t.Fatal(err)
	}
	waitSynced(t, third)
	if got := len(s.seen()); got != 2 {
		t.Errorf("%d requests, want 2: another ID is another watch", got)
	}
	third.Release()
	<-third.Done()

	first.Release()
	first.Release()
	<-first.Done()
	changes <- frameOf("DELETED", widget("b", "4", "red"))
	eventually(t, "the other hears", func() bool { return len(two.heard()) == 4 })
	if got := len(one.heard()); got != 3 {
		t.Errorf("a released handler was called: %q", one.heard())
	}
	second.Release()
	<-second.Done()
	m.Close()
	s.http.CloseClientConnections()
	eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
	if second.Len() != 1 || second.Get("shop", "a").ResourceVersion != "3" {
		t.Error("a released watch must keep its last answer")
	}
}

func TestHoldEndsWithItsContext(t *testing.T) {
	s := newServer(t, steady)
	m := s.manager()
	ctx, cancel := context.WithCancel(t.Context())
	w, err := m.Ensure(ctx, Source{GVR: widgets, ID: "v1", Projector: MetadataProjector()})
	if err != nil {
		t.Fatal(err)
	}
	waitSynced(t, w)
	cancel()
	select {
	case <-w.Done():
	case <-time.After(patience):
		t.Fatal("the watch outlives its context")
	}
	again := ensure(t, m, &recorder{})
	waitSynced(t, again)
	if got := len(s.seen()); got != 2 {
		t.Errorf("%d requests, want 2: the first watch is gone", got)
	}
}

func TestHandlerMayReleaseItself(t *testing.T) {
	s := newServer(t, steady)
	m := s.manager()
	holds := make(chan *Watch, 1)
	var calls atomic.Int32
	w, err := m.Ensure(t.Context(), Source{GVR: widgets, ID: "v1", Projector: MetadataProjector(),
		Handler: HandlerFunc(func(_, _ *workload.Object) {
			calls.Add(1)
			(<-holds).Release()
		})})
	if err != nil {
		t.Fatal(err)
	}
	holds <- w
	<-w.Done()
	if got := calls.Load(); got != 1 {
		t.Errorf("called %d times, want once", got)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	s := newServer(t, steady)
	m := s.manager()
	w := ensure(t, m, &recorder{})
	waitSynced(t, w)
	m.Close()
	select {
	case <-w.Done():
	default:
		t.Error("a watch goes on")
	}
	if _, err := m.Ensure(t.Context(), Source{GVR: widgets, Projector: MetadataProjector()}); !errors.Is(err, errClosed) {
		t.Errorf("Ensure says %v", err)
	}
}

func TestEnsureRefusesIncompleteSources(t *testing.T) {
	m := newServer(t, steady).manager()
	for want, source := range map[string]Source{
		"names no version or no resource": {GVR: schema.GroupVersionResource{Group: "apps"}, Projector: MetadataProjector()},
		"has no projector":                {GVR: widgets},
	} {
		if _, err := m.Ensure(t.Context(), source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Ensure says %v, want %q", err, want)
		}
	}
}

func TestReadingTheStore(t *testing.T) {
	elsewhere := strings.Replace(widget("a", "3", "red"), `"shop"`, `"bank"`, 1)
	s := newServer(t, func(_ *server, r reply, _ url.Values) {
		r.send(frameOf("ADDED", widget("a", "1", "red")), frameOf("ADDED", widget("b", "2", "red")),
			frameOf("ADDED", elsewhere), initialEnd("3"))
		r.hold()
	})
	w := ensure(t, s.manager(), &recorder{})
	waitSynced(t, w)
	collect := func(r func(func(*workload.Object) bool)) []string {
		var names []string
		r(func(o *workload.Object) bool {
			names = append(names, o.Namespace+"/"+o.Name)
			return true
		})
		slices.Sort(names)
		return names
	}
	if diff := cmp.Diff([]string{"bank/a", "shop/a", "shop/b"}, collect(w.Range)); diff != "" {
		t.Error(diff)
	}
	in := func(namespace string) []string {
		return collect(func(fn func(*workload.Object) bool) { w.RangeNamespace(namespace, fn) })
	}
	if diff := cmp.Diff([]string{"shop/a", "shop/b"}, in("shop")); diff != "" {
		t.Error(diff)
	}
	if got := in("nowhere"); got != nil {
		t.Errorf("nowhere has %q", got)
	}
	calls := 0
	w.Range(func(*workload.Object) bool { calls++; return false })
	if calls != 1 {
		t.Errorf("Range went on after false: %d calls", calls)
	}
	if w.Get("shop", "c") != nil || w.Get("nowhere", "a") != nil {
		t.Error("Get finds what is not there")
	}
	if w.GVR() != widgets || w.ID() != "v1" {
		t.Errorf("the watch is of %s %s", w.GVR(), w.ID())
	}
}
