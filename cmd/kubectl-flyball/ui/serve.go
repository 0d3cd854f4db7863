package ui

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/suggest"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui/page"
	"flyball.dev/flyball/engine/admission/evaluate"
	"flyball.dev/flyball/engine/status"
)

// ServerOptions configure a server.
type ServerOptions struct {
	// Load reads the world.
	Load func(context.Context) (*source.World, error)
	// User returns the person whose changes the freezes judge.
	User func(context.Context) (evaluate.User, error)
	// Now is the clock. The default is the clock of the machine.
	Now func() time.Time
	// Zone is the time zone of the pages, unless a person chooses another time zone on a page.
	Zone *time.Location
	// Namespace is the only namespace of the pages. It is empty for all namespaces. FlyballNamespace is the namespace of
	// the manager.
	Namespace, FlyballNamespace string
	// ClusterName is the name of the cluster at the top of the pages. It is empty if the world is made of manifests.
	ClusterName string
	// Live is true if a manager works on the world.
	Live bool
	// Rates are the rates by which savings are shown as money and CO2.
	Rates status.Rates
	// Cluster returns the cluster in which actions write with the person's rights. If it is nil, no page offers an action.
	// Manager is the name of the field manager of these writes.
	Cluster func() (source.Cluster, error)
	Manager string
	// Recommend returns the recommendation for a target from a history of usage. It is nil if there is no history.
	Recommend func(ctx context.Context, w *source.World, target source.Target, zone *time.Location) (*suggest.Result, error)
	// ComputeWithin is the longest time for an answer that may take long to compute. The default is 20 s.
	ComputeWithin time.Duration
}

// fresh is the time for which a world is shown before it is read again.
const fresh = 10 * time.Second

// Server is the server of one person.
type Server struct {
	ServerOptions
	guard *access
	// form is a token in each form of the pages. No other site can read it.
	form string
	// streams are the open event streams, which are counted for person.
	streams *places
	person  string
	// dropped, if it is not nil, is closed when the server is no longer used. It ends event streams.
	dropped chan struct{}

	// computing holds a place for each answer that may take long to compute. These are the answers to pasted texts, and
	// the effects of actions.
	computing chan struct{}

	// mu lets only one request at a time read the world. A world is never changed after it is read. readAt is the instant of
	// the last read by the clock of the pages, and read by the clock of the machine.
	mu      sync.Mutex
	world   *source.World
	read    time.Time
	readAt  time.Time
	version string

	// making lets only one request at a time make a report, so that requests with the same choices share the report.
	// reports has the reports of the world with the version reportsOf.
	making    sync.Mutex
	reports   map[string]made
	reportsOf string
	// simulated is the instant that the report in the making has reached, in seconds of Unix time. It is zero if none is made.
	simulated atomic.Int64
}

// made is a report with the instant at which it was made.
type made struct {
	*page.Report
	at time.Time
}

// NewServer returns a server for a port of the loopback address.
func NewServer(port string, o ServerOptions) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Server{ServerOptions: o, guard: newGuard(port), form: secret(), streams: &places{each: maxStreams, all: maxStreams},
		computing: make(chan struct{}, maxComputing)}
}

// Address returns the address that lets one browser in. It works only once.
func (s *Server) Address() string {
	return "http://" + net.JoinHostPort("127.0.0.1", s.guard.port) + "/?token=" + s.guard.token
}

// Handler returns the handler of all views, behind the guard.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	s.routes(mux)
	return s.guard.wrap(http.MaxBytesHandler(mux, maxForm))
}

// maxForm is the largest size of a form, in bytes.
const maxForm = 1 << 20

// Serve answers requests on a listener until the context ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := newHTTPServer(ctx, s.Handler())
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	go s.warm(ctx)
	if err := server.Serve(l); ctx.Err() == nil {
		return fmt.Errorf("serve the pages: %w", err)
	}
	return nil
}

// newHTTPServer returns a server with limits for slow and large requests.
func newHTTPServer(ctx context.Context, handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, BaseContext: func(net.Listener) context.Context { return ctx }}
}

// current returns the world with its version. It reads the world again if the last read is too old.
func (s *Server) current(ctx context.Context) (*source.World, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.world == nil || time.Since(s.read) > fresh {
		w, err := s.Load(ctx)
		if err != nil {
			return nil, "", err
		}
		s.world, s.read, s.version = w, time.Now(), version(w) // a slow read must not make the world old at once
		s.readAt = s.Now().Truncate(time.Second)
	}
	own := *s.world
	own.Notes = slices.Clone(s.world.Notes)
	return &own, s.version, nil
}

// place returns the place that the pages name.
func (s *Server) place() page.Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	dryRun := s.world != nil && !s.world.DryRunAt.IsZero()
	return page.Place{Cluster: s.ClusterName, Namespace: s.Namespace, Read: s.readAt, DryRun: dryRun}
}

// forget makes the next request read the world again and make its report again. A kept report may lack a change that an
// action has made.
func (s *Server) forget() {
	s.making.Lock()
	s.reports = nil
	s.reportsOf = ""
	s.making.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world = nil
}

// maxComputing is the largest number of answers that may take long and are computed at the same time. computeWithin is
// the longest time for a single answer.
const maxComputing, computeWithin = 2, 20 * time.Second

// bounded calls a function that may take long. It waits for a free place before, and cancels the function after a
// limited time.
func (s *Server) bounded(ctx context.Context, compute func(context.Context) error) error {
	within := cmp.Or(s.ComputeWithin, computeWithin)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	select {
	case s.computing <- struct{}{}:
		defer func() { <-s.computing }()
	case <-ctx.Done():
		return fmt.Errorf("other answers are being computed, and none was done within %s: try again", within)
	}
	err := compute(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the answer was not computed within %s: look at one namespace with -n, or use kubectl flyball plan", within)
	}
	return err
}

// kept is the time for which a report is shown again if the world has not changed. maxReports is the largest number of
// kept reports. Reports are kept because simulating a week of thousands of targets takes seconds.
const kept, maxReports = time.Minute, 8

// report returns the report for the choices of a request. It returns a kept report if there is one, and makes a new
// report otherwise.
func (s *Server) report(ctx context.Context, w *source.World, version string, q request) (*page.Report, error) {
	key := q.key()
	s.making.Lock()
	defer s.making.Unlock()
	if s.reportsOf != version || len(s.reports) >= maxReports {
		s.reports, s.reportsOf = map[string]made{}, version
	}
	if r, ok := s.reports[key]; ok && time.Since(r.at) < kept {
		return r.Report, nil
	}
	r, err := q.report(ctx, w)
	s.simulated.Store(0)
	if err != nil {
		return nil, err
	}
	s.reports[key] = made{r, time.Now()}
	return r, nil
}

// key returns the choices that reports differ by.
func (q request) key() string { return q.zone.String() + " " + q.query["from"] + " " + q.query["span"] }

// hasReport reports whether a report is kept. It returns false while a report is being made.
func (s *Server) hasReport(version, key string) bool {
	if !s.making.TryLock() {
		return false
	}
	defer s.making.Unlock()
	r, ok := s.reports[key]
	return ok && s.reportsOf == version && time.Since(r.at) < kept
}

// warm makes the report of the first page while the browser starts. It ignores errors, because the request for the page
// shows them.
func (s *Server) warm(ctx context.Context) {
	if w, version, err := s.current(ctx); err == nil {
		_, _ = s.report(ctx, w, version, request{s, page.Query{}, s.Zone})
	}
}

// version returns the digest of a world.
func version(w *source.World) string {
	sum := sha256.New()
	for _, raw := range w.Objects {
		_, _ = sum.Write(raw)
	}
	_ = json.NewEncoder(sum).Encode([]any{w.Policies, w.Calendars, w.Recommendations, w.Notes, w.Unseen, w.Adapters})
	for _, ns := range w.Namespaces {
		_, _ = fmt.Fprintf(sum, "%q %q %q\n", ns.Name, ns.Labels, ns.Annotations)
	}
	_, _ = fmt.Fprintf(sum, "%q\n", w.Texts) // fmt sorts the keys of maps
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
