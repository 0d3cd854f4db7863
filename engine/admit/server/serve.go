package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"flyball.dev/flyball/engine/admit/gate"
	"flyball.dev/flyball/engine/admit/registration"
)

const (
	// idleTimeout is well over the 90 s for which an API server keeps a connection that it does not use, so that it is the API
	// server that ends it: a request that crosses with the end of its connection is lost, and API servers do not repeat it.
	idleTimeout = 5 * time.Minute
	// maxHeader is the size of the largest header in bytes, and answerTime how long an answer may take from there on. A header may take as
	// long as a connection may stay unused: net/http counts the time of the first one from the connection's begin.
	maxHeader  = 64 << 10
	answerTime = 30 * time.Second
	// lastRequests is how long requests under way may take at the end: twice as long as API servers wait for an answer.
	lastRequests = 2 * registration.Timeout * time.Second
)

// Drained gives a context that ends Options.Drain after the given one. Until then the server, and all else that runs by it, works on
// as before, but the server is not ready, and asks each client to open a new connection, which a Service leads to another replica. So
// no client is connected any more when the server ends.
func (s *Server) Drained(ctx context.Context) context.Context {
	if s.options.Drain <= 0 {
		return ctx
	}
	later, end := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		s.draining.Store(true)
		s.options.Log.Info("told to stop: not ready any more, and serving on until API servers have turned elsewhere", "for", s.options.Drain.String())
		time.AfterFunc(s.options.Drain, end)
	})
	return later
}

// serve answers until the context ends, and then until the requests under way are answered. Those do not see the context.
func (s *Server) serve(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(s.options.Host, strconv.Itoa(cmp.Or(s.options.Port, webhook.DefaultPort))))
	if err != nil {
		return fmt.Errorf("listen for admission requests: %w", err)
	}
	secured := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: s.certs.certificate,
		NextProtos:     []string{"h2", "http/1.1"},
	}
	if err := gate.ClientAuth(secured, s.options.ClientCA, s.options.ClientNames, len(s.public) > 0); err != nil {
		return err
	}
	guarded := &gate.Gate{
		Tokens: s.certs.tokens, Inner: s.web.WebhookMux(), Bounds: gate.NewBounds(s.options.Log), Public: s.public, Certified: s.options.ClientCA != "",
	}
	server := over(s.closeWhenDraining(guarded))
	server.TLSConfig = secured
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		s.draining.Store(true)
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastRequests)
		defer cancel()
		stopped <- server.Shutdown(last)
	}()
	s.listening.Store(true)
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve admission requests: %w", err)
	}
	if err := <-stopped; err != nil {
		s.options.Log.Info("some admission requests were not answered in time", "reason", err.Error())
		_ = server.Close()
	}
	return nil
}

// over serves a handler within the bounds of time and size that hold for connections. That of a body is the handler's.
func over(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:     handler,
		ConnContext: new(gate.Newcomers).Context,
		// Faults of clients are not logged: anybody could fill the log.
		ErrorLog:       log.New(io.Discard, "", 0),
		MaxHeaderBytes: maxHeader, ReadHeaderTimeout: gate.NewcomerTime, WriteTimeout: answerTime, IdleTimeout: idleTimeout,
	}
}

// closeWhenDraining ends connections with their next answer once the server is to stop: over HTTP/1.1 by the header, over HTTP/2 by the
// GOAWAY that the header becomes. Neither loses a request, as the end of an idle connection may.
func (s *Server) closeWhenDraining(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if s.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, req)
	})
}
