package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

var (
	errClosed   = errors.New("the watches are being ended")
	errReleased = errors.New("the watch was released")
)

// Manager starts watches, shares each between its consumers, and ends it with the last consumer.
type Manager struct {
	config     *rest.Config
	connection *http.Client
	overlay    Overlay

	mu        sync.Mutex
	informers map[key]*informer
	held      map[*Watch]struct{}
	closed    bool
	// holds counts the watches that are not Done.
	holds sync.WaitGroup
}

type key struct {
	gvr schema.GroupVersionResource
	id  string
}

// NewManager returns a Manager. Its watches share a connection to the API server of the configuration.
// An error means that the configuration gives no client.
func NewManager(config *rest.Config) (*Manager, error) {
	config = rest.CopyConfig(config)
	config.Timeout = 0 // it would cut every watch
	// A streamed list stays compressed for as long as the watch lasts, event by event: this costs the API server more
	// than it saves the network. kube-controller-manager and kube-scheduler switch it off too.
	config.DisableCompression = true
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server %s: %w", config.Host, err)
	}
	return &Manager{
		config: config, connection: connection,
		informers: make(map[key]*informer), held: make(map[*Watch]struct{}),
	}, nil
}

// Ensure holds the watch of a source and starts it if needed. It does not wait for the network: Watch.Err returns the
// error of a missing kind. A handler that joins a running watch is notified of all known objects before Ensure returns.
//
// The hold ends with the context or with Release: pass the context of the consuming component, not of one request. Logs
// go to the logger in the context of the first consumer.
func (m *Manager) Ensure(ctx context.Context, s Source) (*Watch, error) {
	if s.GVR.Version == "" || s.GVR.Resource == "" {
		return nil, fmt.Errorf("watch %s: the source names no version or no resource", s.GVR)
	}
	if s.Projector == nil {
		return nil, fmt.Errorf("watch %s: the source has no projector", s.GVR)
	}
	w, start, err := m.acquire(ctx, s)
	if err != nil {
		return nil, err
	}
	w.informer.join(w)
	if start != nil {
		start()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if unhook := context.AfterFunc(ctx, w.Release); w.released.Load() {
		unhook()
	} else {
		w.unhook = unhook
	}
	return w, nil
}

// acquire counts a consumer in. For the first consumer it also returns the function that starts the informer.
func (m *Manager) acquire(ctx context.Context, s Source) (w *Watch, start func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, nil, fmt.Errorf("watch %s: %w", s.GVR, errClosed)
	}
	if m.overlay != nil {
		s.Projector = overlaid{s.Projector, m.overlay, s.GVR.GroupResource()}
	}
	k := key{s.GVR, s.ID}
	f := m.informers[k]
	if f == nil {
		c, err := newClient(m.config, m.connection, s)
		if err != nil {
			return nil, nil, err
		}
		running, cancel := context.WithCancel(context.WithoutCancel(ctx))
		f = newInformer(k, c, klog.FromContext(ctx))
		f.projector, f.overlay = s.Projector, m.overlay
		f.cancel = cancel
		m.informers[k] = f
		start = func() { go f.run(running) }
	}
	f.refs++
	w = &Watch{source: s, manager: m, informer: f, done: make(chan struct{})}
	m.held[w] = struct{}{}
	m.holds.Add(1)
	return w, start, nil
}

// drop counts a consumer out and ends the informer with the last one.
func (m *Manager) drop(w *Watch) (last bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.held, w)
	if w.unhook != nil {
		w.unhook()
	}
	f := w.informer
	f.refs--
	if f.refs > 0 {
		return false
	}
	delete(m.informers, f.key)
	f.cancel()
	return true
}

// Close releases every hold and returns when all watches have ended. Ensure fails from then on. It must not be called
// from a handler.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	held := slices.Collect(maps.Keys(m.held))
	m.mu.Unlock()
	for _, w := range held {
		w.Release()
	}
	m.holds.Wait()
	m.connection.CloseIdleConnections()
}
