package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/test/local"
)

// traffic observes the requests of a manager in this process.
type traffic struct {
	// config is the administrator's.
	config *rest.Config
	store  *local.Cluster

	mu sync.Mutex
	// begun is the number of requests by path. open is the number of requests without a full answer, besides watches.
	// writes is the number of requests that are no reads.
	begun map[string]int
	open  int
	// reactions is the number of begun requests, besides those of measurements, which come by the clock.
	reactions int
	writes    int
	// delivered is the number of events that the manager has read from its watches.
	delivered int
	watches   map[*stream]bool
	// working is true once the manager works on targets: it has loaded everything before, and has queued every target.
	working atomic.Bool
}

// listener is a log that hears when a manager begins to work on targets.
type listener struct {
	logr.LogSink
	begun *atomic.Bool
}

// Info implements logr.LogSink.
func (l *listener) Info(level int, message string, values ...any) {
	if message == "Ready to work on targets" {
		l.begun.Store(true)
	}
	l.LogSink.Info(level, message, values...)
}

// WithName implements logr.LogSink.
func (l *listener) WithName(name string) logr.LogSink {
	return &listener{l.LogSink.WithName(name), l.begun}
}

// WithValues implements logr.LogSink.
func (l *listener) WithValues(values ...any) logr.LogSink {
	return &listener{l.LogSink.WithValues(values...), l.begun}
}

// stream is a running watch.
type stream struct {
	of *traffic
	// query selects the objects. It is the watch's own, as a list.
	path  string
	query url.Values
	body  io.ReadCloser
	rest  []byte
	// seen is the last resourceVersion that the manager has read.
	seen uint64
}

func newTraffic(config *rest.Config, store *local.Cluster) *traffic {
	return &traffic{config: config, store: store, begun: map[string]int{}, watches: map[*stream]bool{}}
}

// over returns the configuration of a client whose requests are observed. Answers are JSON, of which a stream can be read
// without its types.
func (t *traffic) over(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.AcceptContentTypes = "application/json"
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return tap{t, next} })
	return config
}

type tap struct {
	*traffic
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t tap) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	isWatch := query.Get("watch") != "" && query.Get("watch") != "false"
	t.begin(r, isWatch)
	answer, err := t.next.RoundTrip(r)
	switch {
	case isWatch && err == nil && answer.StatusCode == http.StatusOK && isJSON(answer):
		answer.Body = t.newStream(r.URL.Path, query, answer.Body)
	case isWatch: // refused, and to be tried again
	case err != nil:
		t.end()
	default:
		answer.Body = &ended{ReadCloser: answer.Body, end: sync.OnceFunc(t.end)}
	}
	return answer, err
}

func isJSON(answer *http.Response) bool {
	return strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json")
}

func (t *traffic) begin(r *http.Request, isWatch bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun[r.URL.Path]++
	if !isWatch {
		t.open++
	}
	if !isMeasurement(r.URL.Path) {
		t.reactions++
	}
	if r.Method != http.MethodGet {
		t.writes++
	}
}

// isMeasurement reports whether a request of the tuning loop is made in each of its rounds, whatever has happened.
func isMeasurement(path string) bool {
	return path == verticals || strings.HasPrefix(path, "/apis/metrics.k8s.io/")
}

func (t *traffic) begunReactions() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reactions
}

func (t *traffic) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
}

// ended is the body of an answer, which calls end once it is read to its end or closed.
type ended struct {
	io.ReadCloser
	end func()
}

// Read implements io.Reader. An answer that was read to its end, or failed, is over, whether its body is closed or not.
func (e *ended) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	if err != nil {
		e.end()
	}
	return n, err
}

func (e *ended) Close() error {
	defer e.end()
	return e.ReadCloser.Close()
}

func (t *traffic) newStream(path string, query url.Values, body io.ReadCloser) *stream {
	s := &stream{of: t, path: path, query: url.Values{}, body: body, seen: number(query.Get("resourceVersion"))}
	if query.Get("sendInitialEvents") == "true" {
		s.seen = 0 // the objects of the list come as events
	}
	for _, selector := range []string{"labelSelector", "fieldSelector"} {
		if query.Get(selector) != "" {
			s.query.Set(selector, query.Get(selector))
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watches[s] = true
	return s
}

// number returns a resourceVersion as a number. Since Kubernetes 1.35 clients may compare them.
func number(resourceVersion string) uint64 {
	n, _ := strconv.ParseUint(resourceVersion, 10, 64) // empty: 0
	return n
}

// Read implements io.Reader. It notes the events in the bytes that the manager reads: one JSON object a line.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.rest = append(s.rest, p[:n]...)
	for {
		line, rest, whole := bytes.Cut(s.rest, []byte("\n"))
		if !whole {
			break
		}
		s.of.delivered++
		s.seen = max(s.seen, number(rawjson.GetBytes(line, "object.metadata.resourceVersion").Str))
		s.rest = append(s.rest[:0], rest...)
	}
	return n, err
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.of.mu.Lock()
	delete(s.of.watches, s)
	s.of.mu.Unlock()
	return s.body.Close()
}

// behind returns an error if a watch has not delivered the newest object of its list yet.
func (t *traffic) behind(ctx context.Context, client *http.Client) error {
	watches := t.streams()
	var paths []string
	for _, s := range watches {
		if !slices.Contains(paths, s.path) {
			paths = append(paths, s.path)
		}
	}
	kept, err := newestKept(ctx, t.store, paths)
	if err != nil {
		return err
	}
	for _, s := range watches {
		newest, known := kept[s.path]
		if known && t.seen(s) >= newest {
			continue
		}
		if !known || len(s.query) > 0 { // the newest object may be none of the watch
			if newest, err = newestOf(ctx, client, t.config.Host+s.path+"?"+s.query.Encode()); err != nil {
				return err
			}
		}
		if seen := t.seen(s); seen < newest {
			return fmt.Errorf("the watch of %s has delivered resourceVersion %d, and %d is stored", s.path, seen, newest)
		}
	}
	return nil
}

func (t *traffic) streams() []*stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.watches))
}

// whole returns the paths of the watches without a selector.
func (t *traffic) whole() (paths []string) {
	for _, s := range t.streams() {
		if len(s.query) == 0 {
			paths = append(paths, s.path)
		}
	}
	return paths
}

func (t *traffic) seen(s *stream) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return s.seen
}

// newestOf returns the largest resourceVersion of the objects in a list.
func newestOf(ctx context.Context, client *http.Client, list string) (newest uint64, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, list, nil)
	if err != nil {
		return 0, fmt.Errorf("list %s: %w", list, err)
	}
	r.Header.Set("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
	answer, err := client.Do(r)
	if err != nil {
		return 0, fmt.Errorf("list %s: %w", list, err)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, fmt.Errorf("list %s: %w", list, err)
	}
	if answer.StatusCode != http.StatusOK {
		return 0, nil // the kind is not served, or its server is away: there is nothing to see
	}
	return keptOf(raw).Newest, nil
}

// idle returns an error if a request of the manager is under way, or if a goroutine of this process can run. The caller
// runs itself.
func (t *traffic) idle() error {
	t.mu.Lock()
	open := t.open
	t.mu.Unlock()
	if open > 0 {
		return fmt.Errorf("%d requests are under way", open)
	}
	states := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}, {Name: "/sched/goroutines/running:goroutines"}}
	metrics.Read(states)
	if runnable, running := states[0].Value.Uint64(), states[1].Value.Uint64(); runnable > 0 || running > 1 {
		return fmt.Errorf("%d goroutines can run, and %d run", runnable, running)
	}
	return nil
}

// progress is what a manager has read from its watches, and what it has written.
type progress struct{ delivered, writes int }

func (t *traffic) progress() progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	return progress{t.delivered, t.writes}
}

// quietLooks is the number of looks, a millisecond apart, at which a manager has to be idle, with no request but of measurements
// between them. They last longer than its short pauses, such as that for a watch that is behind a write. On a busy machine the
// looks are rarer, as is the work of the manager in the same process, so no result depends on the speed of the machine. The
// looks need not be successive, because measurements come by the clock, and on a busy machine before the looks are over.
const quietLooks = 100

// Settle returns once the manager has reacted to everything that is stored now: its watches have delivered the newest
// object of each list, no goroutine can run, no request is under way, and nothing was written meanwhile. Work that waits
// for longer than a tenth of a second, such as the retry of a failed write, may be left.
func (m *Manager) Settle(ctx context.Context) error {
	client, err := rest.HTTPClientFor(m.traffic.config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	return Poll(ctx, Patience, func() error {
		if m.stopped.Load() {
			return nil
		}
		if !m.traffic.working.Load() {
			return errors.New("the manager does not work on targets yet")
		}
		before, err := m.traffic.quiet(ctx)
		if err != nil {
			return err
		}
		// The store is asked last: a manager that still works would need it again.
		if err := m.traffic.behind(ctx, client); err != nil {
			return err
		}
		now := m.traffic.progress()
		if now == before {
			return nil // the manager was quiet with all events
		}
		if now.writes == before.writes {
			if _, err := m.traffic.quiet(ctx); err != nil {
				return err
			}
			now = m.traffic.progress()
		}
		if now.writes != before.writes {
			return fmt.Errorf("the manager has written %d times meanwhile", now.writes-before.writes)
		}
		return nil
	})
}

// quiet returns once the manager was idle at quietLooks looks, with its progress before the first of them.
func (t *traffic) quiet(ctx context.Context) (before progress, err error) {
	var last error
	before, seen := t.progress(), t.begunReactions()
	for looks, quiet := 0, 0; quiet < quietLooks; looks++ {
		if looks > 20*quietLooks {
			return before, last
		}
		first, now := t.progress(), t.begunReactions()
		switch err := t.idle(); {
		case now != seen:
			before, seen, quiet, last = first, now, 0, errors.New("the manager makes requests")
		case err != nil:
			last = err
		default:
			quiet++
		}
		select {
		case <-ctx.Done():
			return before, errors.Join(ctx.Err(), last)
		case <-time.After(time.Millisecond):
		}
	}
	return before, nil
}

// running are the managers in this process that were not asked to stop.
var running sync.Map

// Settle calls Manager.Settle for all managers that run in this process. It is an error if there is none.
func Settle(ctx context.Context) error {
	err := errors.New("no manager runs in this process")
	running.Range(func(m, _ any) bool {
		err = m.(*Manager).Settle(ctx)
		return err == nil
	})
	return err
}

// verticals is the path at which the tuning loop reads VerticalPodAutoscalers, once in each round with a tuned target.
const verticals = "/apis/autoscaling.k8s.io/v1/verticalpodautoscalers"

// Measured returns once a manager in this process has measured the usage of pods after the call, and has used the
// measurement for all tuned targets: only then it begins another round.
func Measured(ctx context.Context) error {
	before := rounds()
	return Poll(ctx, Patience, func() error {
		for m, n := range rounds() {
			if n >= before[m]+2 {
				return nil
			}
		}
		return errors.New("no manager has measured the usage of pods")
	})
}

// rounds returns the number of measurements that each manager has begun.
func rounds() map[*Manager]int {
	all := map[*Manager]int{}
	running.Range(func(key, _ any) bool {
		m := key.(*Manager)
		m.traffic.mu.Lock()
		defer m.traffic.mu.Unlock()
		all[m] = m.traffic.begun[verticals]
		return true
	})
	return all
}
