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
	// NewcomerTime is how long a connection may stay over which nobody has shown that they know the path. It is over the 90 s for which an
	// API server keeps a connection that it does not use: API servers dial ahead, and use one that they had not needed at once later. If the
	// server ended it just then, the request would be lost, and API servers do not repeat it.
	NewcomerTime = 100 * time.Second
	// maxNewcomers is how many such connections there may be; then the oldest is closed.
	maxNewcomers = 256
)

// Gate lets through who knows the secret part of the path. Others get 404 before anything of their body is read, and nothing of
// them is kept or logged.
type Gate struct {
	// Tokens are the secret parts that count now.
	Tokens func() []string
	Inner  http.Handler
	// Public are handlers by their whole paths that are let through without the secret part. They ask themselves who comes, bound what
	// they take, and call Known.
	Public map[string]http.Handler
	// Certified says that who knows the secret part needs a certificate of the API servers' authorities as well.
	Certified bool
	// Bounds limit what gets through.
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
		_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // net/http would read the body to its end
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

// Known makes the connection of a request one like any other: somebody has shown over it who they are.
func Known(req *http.Request) {
	if n, ok := req.Context().Value(newcomerKey{}).(*newcomer); ok {
		n.known()
	}
}

// Newcomers are the connections over which nobody has shown yet that they know the path. They are closed after a while, and
// the oldest is when there are too many.
type Newcomers struct {
	mu  sync.Mutex
	all list.List // of *newcomer, the oldest first
}

type newcomer struct {
	in    *Newcomers
	conn  net.Conn
	timer *time.Timer
	at    *list.Element
}

type newcomerKey struct{}

// Context is the ConnContext of a http.Server.
func (n *Newcomers) Context(ctx context.Context, conn net.Conn) context.Context {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn() // to close it without a word
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

// known makes it a connection like any other. It says whether it was a newcomer until now.
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

// ClientAuth adds to a TLS configuration which clients are let in: those with a certificate of the authorities in a file, under one
// of the names if there are any, and, if they are optional, those without any certificate. Without a file all are.
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
				return nil // let in, because certificates are optional
			}
			if name := state.PeerCertificates[0].Subject.CommonName; !slices.Contains(names, name) {
				return fmt.Errorf("the client is %q, not an API server", name)
			}
			return nil
		}
	}
	return nil
}
