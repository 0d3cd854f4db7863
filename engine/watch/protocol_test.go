package watch

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

func TestStreamedListThenEvents(t *testing.T) {
	s := newServer(t, func(_ *server, r reply, q url.Values) {
		if !streams(q) {
			r.status(500, "InternalError")
			return
		}
		r.send(frameOf("ADDED", widget("a", "1", "red")), frameOf("ADDED", widget("b", "2", "red")), initialEnd("2"))
		r.send(
			frameOf("MODIFIED", widget("a", "3", "blue")),
			frameOf("ADDED", widget("c", "4", "red")),
			frameOf("BOOKMARK", `{"kind":"Widget","metadata":{"resourceVersion":"5"}}`),
			frameOf("DELETED", widget("b", "6", "red")),
		)
		r.hold()
	})
	heard := &recorder{}
	w := ensure(t, s.manager(), heard)
	waitSynced(t, w)
	events := heard.waitFor(t, 5)
	if len(events) != 5 || w.Get("shop", "b") != nil {
		t.Fatalf("heard %q", events)
	}
	initial := map[string]bool{events[0]: true, events[1]: true} // a list has no order
	if !initial["add a@1 red"] || !initial["add b@2 red"] {
		t.Errorf("initial objects: %q", events[:2])
	}
	want := []string{"update a@1 red to a@3 blue", "add c@4 red", "delete b@2 red"}
	if diff := cmp.Diff(want, events[2:]); diff != "" {
		t.Error(diff)
	}
	stats := Stats{Objects: 2, Added: 1, Updated: 1, Deleted: 1, Bookmarks: 1, Lists: 1}
	if diff := cmp.Diff(stats, w.Stats()); diff != "" {
		t.Error(diff)
	}
	if got := s.accept[0]; got != "application/json" {
		t.Errorf("Accept is %q", got)
	}
	if got := s.paths[0]; got != "/apis/example.com/v1/widgets" {
		t.Errorf("the path is %q", got)
	}
}

// The server uses TLS, because for plain HTTP client-go's default transport has no option to switch compression off.
func TestRequestsDoNotAskForCompression(t *testing.T) {
	asked := make(chan http.Header, 1)
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.Header:
		default:
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(s.Close)
	m, err := NewManager(&rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	ensure(t, m, &recorder{})
	if got := (<-asked).Values("Accept-Encoding"); len(got) > 0 {
		t.Errorf("Accept-Encoding is %q, want none", got)
	}
}

func TestFallbackToListWhenTheServerRefusesStreaming(t *testing.T) {
	s := newServer(t, func(_ *server, r reply, q url.Values) {
		switch {
		case streams(q):
			r.status(422, "Invalid")
		case q.Get("watch") == "":
			r.list("7", widget("a", "1", "red"), widget("b", "2", "red"))
		default:
			r.send(frameOf("DELETED", widget("a", "8", "red")))
			r.hold()
		}
	})
	w := ensure(t, s.manager(), &recorder{})
	waitSynced(t, w)
	eventually(t, "the watch goes on from the list", func() bool { return w.Len() == 1 })
	if got := s.count("resourceVersion", "7"); got != 1 {
		t.Errorf("%d watches from the list's version, want 1", got)
	}
	if got := w.Stats().Failures; got != 0 {
		t.Errorf("%d failures: to refuse streaming is none", got)
	}
}

// A server without streamed lists treats the request as an ordinary watch and never signals the end of the
// initial objects.
func TestFallbackToListWhenTheServerIgnoresStreaming(t *testing.T) {
	s := newServer(t, func(_ *server, r reply, q url.Values) {
		switch {
		case streams(q):
			r.send(frameOf("ADDED", widget("a", "1", "red")))
			r.hold()
		case q.Get("watch") == "":
			r.list("7", widget("a", "1", "red"))
		default:
			r.send()
			r.hold()
		}
	})
	k := key{widgets, "v1"}
	m := s.manager()
	c, err := newClient(m.config, m.connection, Source{GVR: widgets, Projector: MetadataProjector()})
	if err != nil {
		t.Fatal(err)
	}
	c.stall = 100 * time.Millisecond
	f := newInformer(k, c, testLogger())
	ctx, cancel := context.WithCancel(t.Context())
	go f.run(ctx)
	defer func() { cancel(); <-f.done }()

	select {
	case <-f.synced:
	case <-time.After(patience):
		t.Fatal("not synced")
	}
	if got := s.count("sendInitialEvents", "true"); got != 1 {
		t.Errorf("asked %d times to stream, want once", got)
	}
}

func TestExpiredVersionCausesANewList(t *testing.T) {
	s := newServer(t, expiring)
	heard := &recorder{}
	w := ensure(t, s.manager(), heard)
	eventually(t, "the second list arrives", func() bool { return w.Stats().Lists == 2 })
	want := []string{"update b@2 red to b@9 blue", "delete gone@3 red"}
	if diff := cmp.Diff(want, heard.waitFor(t, 5)[3:]); diff != "" {
		t.Errorf("unchanged objects must be silent, vanished ones deleted: %s", diff)
	}
	if _, err := w.Err(); err != nil || w.Stats().Failures != 0 {
		t.Errorf("an expired version is no failure, got %v", err)
	}
}

// A back-off would take at least half a second. On a busy machine some tries may take as long without a back-off, but not all of them.
func TestExpiredVersionCausesANewListWithoutBackOff(t *testing.T) {
	var took time.Duration
	for range 20 {
		w := ensure(t, newServer(t, expiring).manager(), &recorder{})
		waitSynced(t, w)
		before := time.Now()
		eventually(t, "the second list arrives", func() bool { return w.Get("shop", "gone") == nil })
		if took = time.Since(before); took < 400*time.Millisecond {
			return
		}
	}
	t.Errorf("it took %s: it waited for a back-off", took)
}

// expiring drops the version right after the first list.
func expiring(s *server, r reply, _ url.Values) {
	if s.count("sendInitialEvents", "true") == 1 {
		r.send(frameOf("ADDED", widget("a", "1", "red")), frameOf("ADDED", widget("b", "2", "red")),
			frameOf("ADDED", widget("gone", "3", "red")), initialEnd("3"))
		r.send(frameOf("ERROR", statusJSON(410, "Expired")))
		return
	}
	r.send(frameOf("ADDED", widget("a", "1", "red")), frameOf("ADDED", widget("b", "9", "blue")), initialEnd("9"))
	r.hold()
}

func TestCutAndGarbledFrames(t *testing.T) {
	whole := frameOf("MODIFIED", widget("a", "4", "blue"))
	for name, bad := range map[string]string{
		"cut in the middle": whole[:len(whole)/2],
		"not JSON":          "<html>502</html>\n",
		"without an object": `{"type":"ADDED"}`,
		"unknown type":      frameOf("MOVED", widget("a", "4", "blue")),
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, func(s *server, r reply, q url.Values) {
				switch {
				case len(s.seen()) == 1:
					r.send(frameOf("ADDED", widget("a", "1", "red")), initialEnd("2"))
					r.send(frameOf("MODIFIED", widget("a", "3", "green")))
					r.raw(bad)
				case streams(q):
					r.send(frameOf("ADDED", widget("a", "4", "blue")), initialEnd("4"))
					r.hold()
				default:
					r.send(whole)
					r.hold()
				}
			})
			heard := &recorder{}
			w := ensure(t, s.manager(), heard)
			want := []string{"add a@1 red", "update a@1 red to a@3 green", "update a@3 green to a@4 blue"}
			if diff := cmp.Diff(want, heard.waitFor(t, len(want))); diff != "" {
				t.Error(diff)
			}
			if a := w.Get("shop", "a"); a == nil || a.ResourceVersion != "4" {
				t.Errorf("the watch has %v", a)
			}
			if got := s.seen()[1].Get("resourceVersion"); got != "3" {
				t.Errorf("it went on from version %q, want the last seen", got)
			}
		})
	}
}

// A truncated answer must not be read as a cluster with fewer objects.
func TestATruncatedListDeletesNothing(t *testing.T) {
	s := newServer(t, func(s *server, r reply, q url.Values) {
		lists := s.count("watch", "")
		switch {
		case streams(q):
			r.status(400, "BadRequest")
		case q.Get("watch") == "" && lists == 2:
			r.raw(`{"kind":"WidgetList","metadata":{"resourceVersion":"8"},"items":[` + widget("a", "1", "red") + `,{"metadata":{"na`)
		case q.Get("watch") == "":
			r.list("7", widget("a", "1", "red"), widget("b", "2", "red"))
		case lists < 3:
			r.status(410, "Expired")
		default:
			r.send()
			r.hold()
		}
	})
	heard := &recorder{}
	w := ensure(t, s.manager(), heard)
	eventually(t, "three lists", func() bool { return s.count("watch", "") >= 3 && w.Stats().Lists == 2 })
	if got := heard.heard(); len(got) != 2 {
		t.Errorf("heard %q, want two additions", got)
	}
	if got := w.Stats().Failures; got == 0 {
		t.Error("the broken list was not counted as a failure")
	}
}

func TestForbiddenErrorIsReportedUntilTheRightIsGranted(t *testing.T) {
	allowed := make(chan struct{})
	s := newServer(t, func(_ *server, r reply, q url.Values) {
		select {
		case <-allowed:
		default:
			r.status(403, "Forbidden")
			return
		}
		// A refused stream is followed by a list.
		switch {
		case streams(q):
			r.send(frameOf("ADDED", widget("a", "1", "red")), initialEnd("2"))
			r.hold()
		case q.Get("watch") == "":
			r.list("2", widget("a", "1", "red"))
		default:
			r.send()
			r.hold()
		}
	})
	heard := &recorder{}
	w := ensure(t, s.manager(), heard)
	eventually(t, "the refusal shows", func() bool { _, err := w.Err(); return apierrors.IsForbidden(err) })
	eventually(t, "the handler is told", func() bool { return heard.stateCalls() > 0 })
	if at, _ := w.Err(); at.IsZero() || time.Since(at) > patience {
		t.Errorf("it failed at %s", at)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := w.WaitSynced(ctx)
	if err == nil || !strings.Contains(err.Error(), "Forbidden as scripted") || !apierrors.IsForbidden(err) {
		t.Errorf("WaitSynced says %v", err)
	}

	told := heard.stateCalls()
	if told > 2 {
		t.Errorf("told %d times of one and the same refusal", told)
	}
	close(allowed)
	waitSynced(t, w)
	eventually(t, "no error is left", func() bool { // a list can come before the watch is open
		at, err := w.Err()
		return err == nil && at.IsZero()
	})
	eventually(t, "the handler is told", func() bool { return heard.stateCalls() > told })
}

func TestUnreadableObjectsAreLeftOut(t *testing.T) {
	mended := make(chan struct{})
	s := newServer(t, func(_ *server, r reply, q url.Values) {
		r.send(frameOf("ADDED", broken("x", "1")), frameOf("ADDED", widget("a", "2", "red")), initialEnd("2"))
		r.send(frameOf("MODIFIED", broken("a", "3")), frameOf("ADDED", widget("c", "4", "red")))
		<-mended
		r.send(frameOf("MODIFIED", widget("a", "5", "blue")), frameOf("DELETED", broken("x", "6")))
		r.hold()
	})
	var mu sync.Mutex
	var logged []string
	logger := funcr.New(func(_, line string) {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(line, "creationTimestamp") {
			logged = append(logged, line)
		}
	}, funcr.Options{})
	heard := &recorder{}
	w := ensureIn(klog.NewContext(context.Background(), logger), t, s.manager(), heard)
	eventually(t, "what follows arrives", func() bool { return w.Get("shop", "c") != nil })

	if got := w.Len(); got != 1 || w.Get("shop", "x") != nil || w.Get("shop", "a") != nil {
		t.Errorf("%d objects are kept", got)
	}
	mu.Lock()
	if len(logged) != 2 || !strings.Contains(logged[0], `"name"="x"`) || !strings.Contains(logged[0], `"resourceVersion"="1"`) ||
		!strings.Contains(logged[1], `"name"="a"`) || !strings.Contains(logged[1], `"resourceVersion"="3"`) {
		t.Errorf("logged %q", logged)
	}
	mu.Unlock()

	close(mended)
	want := []string{"add a@2 red", "delete a@2 red", "add c@4 red", "add a@5 blue"}
	eventually(t, "the mended object is there", func() bool { return w.Get("shop", "a") != nil && w.Stats().Deleted == 1 })
	if diff := cmp.Diff(want, heard.waitFor(t, len(want))); diff != "" {
		t.Error(diff)
	}
}
