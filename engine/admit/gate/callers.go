package gate

import (
	"container/list"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// OpenSuffix ends the path of a webhook that fails open.
	OpenSuffix = "/open"
	// NewcomerTime is the time limit for a connection on which no client has shown that it knows the path. It exceeds
	// the 90 s for which an API server keeps unused connections. API servers open connections in advance and may use
	// them only later. If the server closed a connection just then, the request would be lost, because API servers do
	// not retry it.
	NewcomerTime = 100 * time.Second
	// maxNewcomers is the maximum number of such connections. Beyond it the oldest is closed.
	maxNewcomers = 256
)

// Gate admits requests with the secret part of the path. All other requests get 404 before their body is read, and
// nothing about them is stored or logged.
type Gate struct {
	// Tokens returns the valid secret parts.
	Tokens func() []string
	Inner  http.Handler
	// Public are handlers by full path that need no secret part. They authenticate and limit their callers themselves,
	// and call Known.
	Public map[string]http.Handler
	// Certified means that a request also needs a client certificate of the API servers' authorities.
	Certified bool
	// Bounds limit the admitted requests.
	Bounds *Bounds
}

// ServeHTTP implements http.Handler.
func (g *Gate) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	token, rest, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	known := false
	for _, t := range g.Tokens() {
		known = subtle.ConstantTimeCompare([]byte(t), []byte(token)) == 1 || known
	}
	if g.Certified && (req.TLS == nil || len(req.TLS.VerifiedChains) == 0) {
		known = false
	}
	if public := g.Public[req.URL.Path]; public != nil && !known {
		public.ServeHTTP(w, req)
		return
	}
	if !known {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // otherwise net/http would read the body to its end
		w.Header().Set("Connection", "close")
		http.NotFound(w, req)
		return
	}
	Known(req)
	path, open := strings.CutSuffix("/"+rest, OpenSuffix)
	inner := req.Clone(req.Context())
	inner.URL.Path, inner.URL.RawPath = path, ""
	g.Bounds.serve(g.Inner, w, inner, open)
}

// Known marks the connection of a request as authenticated.
func Known(req *http.Request) {
	if n, ok := req.Context().Value(newcomerKey{}).(*newcomer); ok {
		n.known()
	}
}

// Newcomers are the connections without an authenticated request. They are closed after a while, and the oldest is
// closed if there are too many.
type Newcomers struct {
	mu  sync.Mutex
	all list.List // of *newcomer, oldest first
}

type newcomer struct {
	in    *Newcomers
	conn  net.Conn
	timer *time.Timer
	at    *list.Element
}

type newcomerKey struct{}

// Context is the ConnContext of an http.Server.
func (n *Newcomers) Context(ctx context.Context, conn net.Conn) context.Context {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn() // to close it without a TLS alert
	}
	c := &newcomer{in: n, conn: conn}
	n.mu.Lock()
	defer n.mu.Unlock()
	c.at = n.all.PushBack(c)
	c.timer = time.AfterFunc(NewcomerTime, c.close)
	if n.all.Len() > maxNewcomers {
		go n.all.Front().Value.(*newcomer).close()
	}
	return context.WithValue(ctx, newcomerKey{}, c)
}

// known marks the connection as authenticated. It reports whether it was a newcomer before.
func (c *newcomer) known() bool {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	if c.at == nil {
		return false
	}
	c.timer.Stop()
	c.in.all.Remove(c.at)
	c.at = nil
	return true
}

func (c *newcomer) close() {
	if c.known() {
		_ = c.conn.Close()
	}
}

// ClientAuth sets the accepted clients in a TLS configuration: clients with a certificate of an authority in the file,
// under one of the names if any are given, and, if optional, clients without a certificate. Without a file every client
// is accepted.
func ClientAuth(config *tls.Config, file string, names []string, optional bool) error {
	if file == "" {
		return nil
	}
	bundle, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the authorities of the API servers' certificates: %w", err)
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(bundle) {
		return fmt.Errorf("read the authorities of the API servers' certificates: %s has none", file)
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	if optional {
		config.ClientAuth = tls.VerifyClientCertIfGiven
	}
	if len(names) > 0 {
		config.VerifyConnection = func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return nil // certificates are optional
			}
			if name := state.PeerCertificates[0].Subject.CommonName; !slices.Contains(names, name) {
				return fmt.Errorf("the client is %q, not an API server", name)
			}
			return nil
		}
	}
	return nil
}
