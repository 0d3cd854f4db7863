// Package serve is the server of kubectl flyball ui. It listens on a loopback address, lets the browser of one person in, reads
// with that person's rights, and writes nothing. Package page renders the views.
package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui/page"
	"flyball.dev/flyball/engine/admit/freezecheck"
	"flyball.dev/flyball/engine/savings/worth"
)

// Options configure a server.
type Options struct {
	// Load reads the world.
	Load func(context.Context) (*source.World, error)
	// User returns the person for whom freezes are judged.
	User func(context.Context) (freezecheck.User, error)
	// Now is the clock.
	Now func() time.Time
	// Zone is the zone of the pages, unless another is chosen.
	Zone *time.Location
	// Namespace is empty for all namespaces. FlyballNamespace is the namespace of the manager.
	Namespace, FlyballNamespace string
	// Live means a manager works on the world.
	Live bool
	// Rates are the rates by which savings are shown as money and CO2.
	Rates worth.Rates
}

// fresh is the time for which a world is shown before it is read again.
const fresh = 10 * time.Second

// Server is the server of one person.
type Server struct {
	Options
	guard *guard
	// streams holds a place for each open event stream.
	streams chan struct{}

	// mu lets one request read and compute at a time. Answers are written outside of it, so a slow client holds up nobody.
	mu    sync.Mutex
	world *source.World
	read  time.Time
	// version is the digest of the world, and reports are those made of it, by their choices.
	version string
	reports map[string]made
}

// made is a report and the instant when it was made.
type made struct {
	*page.Report
	at time.Time
}

// New returns a server for a port of the loopback address.
func New(port string, o Options) *Server {
	return &Server{Options: o, guard: newGuard(port), streams: make(chan struct{}, maxStreams)}
}

// Address returns the address that lets one browser in, once.
func (s *Server) Address() string {
	return "http://" + net.JoinHostPort("127.0.0.1", s.guard.port) + "/?token=" + s.guard.token
}

// Handler returns the handler of all views, behind the guard.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	s.routes(mux)
	return s.guard.wrap(http.MaxBytesHandler(mux, maxForm))
}

// maxForm is the number of bytes of a form.
const maxForm = 1 << 20

// Serve answers on a listener until the context ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, BaseContext: func(net.Listener) context.Context { return ctx }}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	go s.warm(ctx)
	if err := server.Serve(l); ctx.Err() == nil {
		return fmt.Errorf("serve the pages: %w", err)
	}
	return nil
}

// with calls a function with the world, which nothing else uses meanwhile.
func (s *Server) with(ctx context.Context, f func(*source.World, string) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.world == nil || now.Sub(s.read) > fresh {
		w, err := s.Load(ctx)
		if err != nil {
			return err
		}
		s.world, s.read = w, now
		if v := version(w); v != s.version {
			s.version, s.reports = v, map[string]made{}
		}
	}
	own := *s.world
	own.Notes = append([]string(nil), s.world.Notes...)
	return f(&own, s.version)
}

// kept is the time for which a report is shown again while its world is the same, and maxReports the number that is kept: to
// simulate a week of thousands of targets takes seconds.
const kept, maxReports = time.Minute, 8

// report returns the report of some choices, made anew or kept. The world is taken.
func (s *Server) report(ctx context.Context, w *source.World, q request) (*page.Report, error) {
	key := q.zone.String() + " " + q.query["from"] + " " + q.query["span"]
	if r, ok := s.reports[key]; ok && time.Since(r.at) < kept {
		return r.Report, nil
	}
	r, err := q.report(ctx, w)
	if err != nil {
		return nil, err
	}
	if len(s.reports) >= maxReports {
		clear(s.reports)
	}
	s.reports[key] = made{r, time.Now()}
	return r, nil
}

// warm makes the report of the first page while the browser starts. A request names an error.
func (s *Server) warm(ctx context.Context) {
	_ = s.with(ctx, func(w *source.World, _ string) error {
		_, err := s.report(ctx, w, request{s, page.Query{}, s.Zone})
		return err
	})
}

// version returns the digest of a world.
func version(w *source.World) string {
	sum := sha256.New()
	for _, raw := range w.Objects {
		_, _ = sum.Write(raw)
	}
	_ = json.NewEncoder(sum).Encode([]any{w.Policies, w.Calendars, w.Recommendations, w.Notes, w.Unseen})
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
