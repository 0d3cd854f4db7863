package watch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// streamStall is the longest silence of a server while it streams the initial objects. After that the server is treated
// as a server without streamed lists, which never signals the end of the initial objects.
const streamStall = 20 * time.Second

var (
	errNoStreaming = errors.New("the server does not stream lists")
	errNoAnswer    = errors.New("the API server closed the connection without an answer")
)

// client lists and watches one resource in all namespaces.
type client struct {
	rest *rest.RESTClient
	path string
	// metadataOnly asks for objects without their content.
	metadataOnly bool
	// report gets the result of every request: nil for an established watch.
	report func(error)

	stall time.Duration
	// listOnly is true once the server is known not to stream lists.
	listOnly atomic.Bool
	// watchdog supervises the stream of initial objects; nil: no such stream.
	watchdog atomic.Pointer[watchdog]
}

// newClient returns the client of a source on a shared connection.
func newClient(config *rest.Config, connection *http.Client, s Source) (*client, error) {
	gvr := s.GVR
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("watch %s: read the server's address: %w", gvr, err)
	}
	c := &client{path: "/apis/" + gvr.Group + "/" + gvr.Version + "/" + gvr.Resource, metadataOnly: s.MetadataOnly, stall: streamStall}
	if gvr.Group == "" {
		c.path = "/api/" + gvr.Version + "/" + gvr.Resource
	}
	content := rest.ClientContentConfig{
		AcceptContentTypes: runtime.ContentTypeJSON,
		ContentType:        runtime.ContentTypeJSON,
		GroupVersion:       metav1.SchemeGroupVersion,
		Negotiator:         &negotiator{projector: s.Projector, received: c.received},
	}
	// There is no client-side limit: lists and watches are rare, and API priority and fairness protects the server.
	c.rest, err = rest.NewRESTClient(base, "", content, nil, connection)
	if err != nil {
		return nil, fmt.Errorf("watch %s: make a client: %w", gvr, err)
	}
	return c, nil
}

// get returns a request for the resource. as is the kind of the answer without the content of objects.
func (c *client) get(as string, options *metav1.ListOptions) *rest.Request {
	r := c.rest.Get().AbsPath(c.path).VersionedParams(options, metav1.ParameterCodec)
	if c.metadataOnly {
		r.SetHeader("Accept", runtime.ContentTypeJSON+";as="+as+";g=meta.k8s.io;v=v1")
	}
	return r
}

func (c *client) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	out := &list{}
	err := c.get("PartialObjectMetadataList", &options).Do(ctx).Into(out)
	if err != nil {
		c.failed(ctx, err)
		return nil, err
	}
	return out, nil
}

func (c *client) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	streams := options.SendInitialEvents != nil && *options.SendInitialEvents
	if streams && c.listOnly.Load() {
		return nil, errNoStreaming
	}
	options.Watch = true
	var dog *watchdog
	if streams {
		dog = &watchdog{patience: c.stall}
	}
	c.setWatchdog(dog)
	w, err := c.get("PartialObjectMetadata", &options).Watch(ctx)
	if err == nil {
		if _, open := w.(*watch.StreamWatcher); !open {
			err = errNoAnswer // client-go returns an empty watch here
		}
	}
	if streams && (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)) {
		// A server without streamed lists gives this answer. It is no failure, because the reflector then lists instead.
		c.listOnly.Store(true)
		return nil, fmt.Errorf("%w: %w", errNoStreaming, err)
	}
	if err != nil {
		c.failed(ctx, err)
		return nil, err
	}
	if streams {
		dog.begin(func() {
			c.listOnly.Store(true)
			w.Stop()
		})
	}
	c.report(nil)
	return w, nil
}

// failed reports a failed request, unless the watch is being ended.
func (c *client) failed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		c.report(err)
	}
}

// received handles every event of a stream.
func (c *client) received(kind watch.EventType, object runtime.Object) {
	if status, ok := object.(*metav1.Status); ok {
		c.report(apierrors.FromObject(status))
	}
	dog := c.watchdog.Load()
	if dog == nil {
		return
	}
	bookmark, ok := object.(*metav1.PartialObjectMetadata)
	if ok && bookmark.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
		dog.end()
		return
	}
	dog.progress()
}

// setWatchdog ends the current watchdog and sets another; nil sets none.
func (c *client) setWatchdog(g *watchdog) {
	if before := c.watchdog.Swap(g); before != nil {
		before.end()
	}
}

// watchdog acts after too long a silence between begin and end. After end it never acts, even if begin comes later: a
// stream may be over before its opener knows.
type watchdog struct {
	patience time.Duration

	mu    sync.Mutex
	timer *time.Timer
	ended bool
}

func (g *watchdog) begin(act func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		g.timer = time.AfterFunc(g.patience, act)
	}
}

func (g *watchdog) progress() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.timer != nil && !g.ended {
		g.timer.Reset(g.patience)
	}
}

func (g *watchdog) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	if g.timer != nil {
		g.timer.Stop()
	}
}
