package serve

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

	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/engine/admission/review"
)

const (
	// idleTimeout is much longer than the 90 s for which an API server keeps an unused connection, so the API
	// server closes it. A request sent while the server closes the connection would be lost, because API servers do not
	// retry it.
	idleTimeout = 5 * time.Minute
	// maxHeader is the maximum size of a header in bytes. answerTime is the time limit for the answer, from the end of
	// the header.
	maxHeader  = 64 << 10
	answerTime = 30 * time.Second
	// headerTime is the time limit for the first header. net/http counts it from the start of the connection, and API
	// servers open connections up to 90 s before they use them.
	headerTime = 100 * time.Second
	// lastRequests is the time limit for requests under way at the end: twice the API server's timeout.
	lastRequests = 2 * register.Timeout * time.Second
)

// Drained returns a context that ends Options.Drain after the given context. Until then every user of the context
// continues, but the server is not ready and asks each client to open a new connection, routed by a Service to another
// replica. So no client is connected when the server ends.
func (s *Server) Drained(ctx context.Context) context.Context {
	if s.options.Drain <= 0 {
		return ctx
	}
	later, end := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		s.draining.Store(true)
		s.options.Log.Info("Stopping: no longer ready, but serving until API servers use other replicas", "for", s.options.Drain.String())
		time.AfterFunc(s.options.Drain, end)
	})
	return later
}

// serve answers until the context ends, and then until the requests under way are answered. The end of the context
// does not cancel requests under way. It listens only once there is a certificate, because a client that is refused the
// connection is sent to another replica, and a client that meets a TLS error is not.
func (s *Server) serve(ctx context.Context) error {
	if !s.certs.await(ctx) {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp",
		net.JoinHostPort(s.options.Host, strconv.Itoa(cmp.Or(s.options.Port, webhook.DefaultPort))))
	if err != nil {
		return fmt.Errorf("listen for admission requests: %w", err)
	}
	secured := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: s.certs.certificate,
		NextProtos:     []string{"h2", "http/1.1"},
	}
	if err := clientAuth(secured, s.options.ClientCA, s.options.ClientNames, len(s.public) > 0); err != nil {
		return err
	}
	server := over(s.closeWhenDraining(s.route()))
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

// route serves the public paths to every client, and all other paths to API servers, within limits.
func (s *Server) route() http.Handler {
	reviews := review.New(s.web.WebhookMux(), s.options.Log)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch public := s.public[req.URL.Path]; {
		case public != nil:
			public.ServeHTTP(w, req)
		case s.options.ClientCA != "" && (req.TLS == nil || len(req.TLS.VerifiedChains) == 0):
			review.TurnAway(w, review.Faultf(http.StatusForbidden, "only API servers with a client certificate may ask for reviews"))
		default:
			reviews.ServeHTTP(w, req)
		}
	})
}

// over returns a server for a handler, with the time and size limits of connections. The handler limits the body.
func over(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler,
		// Errors of clients are not logged, because any client could fill the log.
		ErrorLog:       log.New(io.Discard, "", 0),
		MaxHeaderBytes: maxHeader, ReadHeaderTimeout: headerTime, WriteTimeout: answerTime, IdleTimeout: idleTimeout,
	}
}

// closeWhenDraining makes each connection end after its next answer while the server is stopping. Over HTTP/1.1 the
// client sees the header, and over HTTP/2 a GOAWAY frame instead. Both are safe, whereas closing an idle connection
// may lose a request.
func (s *Server) closeWhenDraining(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if s.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, req)
	})
}
