package failures

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// gate stands between a manager and the API server. While it is closed, matching requests do not reach the server, or
// the server's answers to them do not come back.
type gate struct {
	match   func(*http.Request) bool
	answers bool

	mu     sync.Mutex
	closed chan struct{} // nil if the gate is open
	passed []time.Time
	taken  int
}

// patches matches writes to a resource.
func patches(resource string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/"+resource+"/")
	}
}

// watches matches the watch of a resource.
func watches(resource string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/"+resource) && r.URL.Query().Get("watch") != ""
	}
}

// startBehind runs a manager behind gates. The gates open at the end of the spec.
func startBehind(clock *suite.Clock, gates ...*gate) *harness.Manager {
	GinkgoHelper()
	config := rest.CopyConfig(scene.Env.Config)
	for _, g := range gates {
		config.Wrap(g.wrap)
	}
	m := suite.Start(scene.Ctx, scene.Env, harness.Options{Clock: clock, Config: config}, scene.Builtin...)
	for _, g := range gates {
		DeferCleanup(g.open)
	}
	return m
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}

// wait returns when the gate is open or the request is cancelled.
func (g *gate) wait(r *http.Request) {
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if closed == nil {
		return
	}
	select {
	case <-closed:
	case <-r.Context().Done():
	}
}

// times returns the instants at which requests passed the gate.
func (g *gate) times() []time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]time.Time(nil), g.passed...)
}

// accepted returns the number of requests that the API server has accepted and answered. Refused requests do not count,
// such as a write to an object that has changed since it was read.
func (g *gate) accepted() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.taken
}

func (g *gate) wrap(next http.RoundTripper) http.RoundTripper {
	return scene.RoundTripper(func(r *http.Request) (*http.Response, error) {
		if !g.match(r) {
			return next.RoundTrip(r)
		}
		if !g.answers {
			g.wait(r)
		}
		g.mu.Lock()
		g.passed = append(g.passed, time.Now())
		g.mu.Unlock()
		resp, err := next.RoundTrip(r)
		if err == nil && resp.StatusCode < http.StatusMultipleChoices {
			g.mu.Lock()
			g.taken++
			g.mu.Unlock()
		}
		if err == nil && g.answers {
			resp.Body = &heldBody{resp.Body, func() { g.wait(r) }}
		}
		return resp, err
	})
}

// heldBody is a body that can be read only after a wait.
type heldBody struct {
	io.ReadCloser
	wait func()
}

func (b *heldBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.wait()
	return n, err
}

// labelled lists the metrics of a manager that have a series with the given label value.
func labelled(m *harness.Manager, value string) func(Gomega) []string {
	return func(g Gomega) []string {
		families, err := m.Registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, f := range families {
			found := false
			for _, s := range f.GetMetric() {
				for _, l := range s.GetLabel() {
					found = found || l.GetValue() == value
				}
			}
			if found {
				names = append(names, f.GetName())
			}
		}
		return names
	}
}

// lags returns the number of transition lags that a manager has observed, and their sum.
func lags(m *harness.Manager) func(Gomega) [2]float64 {
	return func(g Gomega) (out [2]float64) {
		families, err := m.Registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		for _, f := range families {
			if f.GetName() == "flyball_transition_lag_seconds" {
				h := f.GetMetric()[0].GetHistogram()
				out = [2]float64{float64(h.GetSampleCount()), h.GetSampleSum()}
			}
		}
		return out
	}
}
