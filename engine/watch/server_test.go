package watch

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/await"
)

// server serves lists and watches as scripted by each test. cluster_test.go has the same tests with a real API server;
// this server can also produce rare faults.
type server struct {
	t       *testing.T
	http    *httptest.Server
	doors   *doors
	address string
	tries   tries
	serve   http.HandlerFunc

	mu       sync.Mutex
	requests []url.Values
	paths    []string
	accept   []string
}

func newServer(t *testing.T, serve func(s *server, r reply, query url.Values)) *server {
	s := &server{t: t}
	s.serve = func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.URL.Query())
		s.paths = append(s.paths, r.URL.Path)
		s.accept = append(s.accept, r.Header.Get("Accept"))
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		serve(s, reply{w, r}, r.URL.Query())
	}
	s.http = httptest.NewUnstartedServer(s.serve)
	s.doors = &doors{Listener: s.http.Listener}
	s.address, s.http.Listener = s.doors.Addr().String(), s.doors
	s.http.Start()
	t.Cleanup(func() {
		s.stop()
		s.http.Close()
	})
	return s
}

// doors is a listener that closes each new connection at once while it is shut. Unlike a closed one it keeps its port, which another
// process could take.
type doors struct {
	net.Listener
	shut atomic.Bool
}

// Accept implements net.Listener.
func (d *doors) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil || !d.shut.Load() {
			return conn, err
		}
		_ = conn.Close()
	}
}

// stop breaks every connection and new ones, until again.
func (s *server) stop() {
	s.doors.shut.Store(true)
	s.http.CloseClientConnections()
}

func (s *server) again() { s.doors.shut.Store(false) }

// seen returns the queries so far.
func (s *server) seen() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]url.Values(nil), s.requests...)
}

// count returns the number of requests with a query value.
func (s *server) count(key, value string) int {
	n := 0
	for _, q := range s.seen() {
		if q.Get(key) == value {
			n++
		}
	}
	return n
}

func (s *server) manager() *Manager {
	config := &rest.Config{Host: "http://" + s.address}
	config.Wrap(s.tries.wrap)
	m, err := NewManager(config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(m.Close)
	return m
}

// retried returns once the client has tried three times more, so that its back-off has grown.
func (s *server) retried() {
	before := s.tries.Load()
	eventually(s.t, "more tries", func() bool { return s.tries.Load() >= before+3 })
}

// tries counts the requests of a client, also those that reach no server.
type tries struct{ atomic.Int64 }

func (n *tries) wrap(next http.RoundTripper) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		n.Add(1)
		return next.RoundTrip(r)
	})
}

// transport is a function as a transport.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// reply writes one answer.
type reply struct {
	w http.ResponseWriter
	r *http.Request
}

func (r reply) send(frames ...string) {
	for _, f := range frames {
		_, _ = fmt.Fprintln(r.w, f) // some tests disconnect the client
	}
	r.w.(http.Flusher).Flush()
}

// raw sends a text unchanged, without a line end.
func (r reply) raw(text string) {
	_, _ = fmt.Fprint(r.w, text)
	r.w.(http.Flusher).Flush()
}

// hold keeps the stream open until the client or the server disconnects.
func (r reply) hold() { <-r.r.Context().Done() }

func (r reply) status(code int, reason string) {
	r.w.WriteHeader(code)
	_, _ = fmt.Fprint(r.w, statusJSON(code, reason))
}

func (r reply) list(version string, objects ...string) {
	_, _ = fmt.Fprintf(r.w, `{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":%q},"items":[%s]}`,
		version, strings.Join(objects, ","))
}

func statusJSON(code int, reason string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"%s as scripted","reason":%q,"code":%d}`,
		reason, reason, code)
}

// widget is an object with a label and no other content.
func widget(name, version, color string) string {
	return fmt.Sprintf(`{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"namespace":"shop","name":%q,"uid":"uid-%s",`+
		`"resourceVersion":%q,"labels":{"color":%q}},"spec":{"size":1}}`, name, name, version, color)
}

// broken is an object that the projector refuses.
func broken(name, version string) string {
	return fmt.Sprintf(`{"kind":"Widget","metadata":{"namespace":"shop","name":%q,"uid":"uid-%s","resourceVersion":%q,`+
		`"creationTimestamp":"yesterday"}}`, name, name, version)
}

func frameOf(kind, object string) string { return fmt.Sprintf(`{"type":%q,"object":%s}`, kind, object) }

func initialEnd(version string) string {
	return frameOf("BOOKMARK", fmt.Sprintf(`{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"resourceVersion":%q,`+
		`"creationTimestamp":null,"annotations":{"k8s.io/initial-events-end":"true"}},"spec":{}}`, version))
}

func streams(q url.Values) bool { return q.Get("sendInitialEvents") == "true" }

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// recorder is a handler that records its calls.
type recorder struct {
	mu     sync.Mutex
	events []string
	states int
}

func (r *recorder) OnChange(old, new *workload.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case old == nil:
		r.events = append(r.events, "add "+text(new))
	case new == nil:
		r.events = append(r.events, "delete "+text(old))
	default:
		r.events = append(r.events, "update "+text(old)+" to "+text(new))
	}
}

func text(o *workload.Object) string {
	return o.Name + "@" + o.ResourceVersion + " " + o.Labels.Get("color")
}

func (r *recorder) onState() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states++
}

func (r *recorder) heard() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.events...)
}

// waitFor returns the calls once there are n or more. The store has a change before its handlers are called.
func (r *recorder) waitFor(t *testing.T, n int) []string {
	t.Helper()
	eventually(t, fmt.Sprintf("%d calls", n), func() bool { return len(r.heard()) >= n })
	return r.heard()
}

func (r *recorder) stateCalls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.states
}

func ensure(t *testing.T, m *Manager, r *recorder) *Watch {
	t.Helper()
	return ensureIn(context.Background(), t, m, r)
}

func ensureIn(ctx context.Context, t *testing.T, m *Manager, r *recorder) *Watch {
	t.Helper()
	w, err := m.Ensure(ctx, Source{
		GVR: widgets, ID: "v1", Projector: MetadataProjector(), Handler: r, OnState: r.onState,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func waitSynced(t *testing.T, w *Watch) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
}

// patience is the time limit of conditions, on a busy machine too.
const patience = time.Minute

// eventually waits for a condition.
func eventually(t *testing.T, condition string, ok func() bool) {
	t.Helper()
	await.True(t, condition, ok)
}
