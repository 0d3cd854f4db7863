package serve

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/engine/admission/review"
)

// Server is the admission server. It is a Runnable of a controller-runtime manager, on every replica.
type Server struct {
	// web has the handlers, so that controller-runtime counts their requests, but is not started.
	web     webhook.Server
	certs   *keeper
	options Options
	// public are handlers, by path, that authenticate and limit their callers themselves.
	public map[string]http.Handler

	listening, draining atomic.Bool
}

// New returns a server. An error names the invalid option.
func New(options Options) (*Server, error) {
	options, err := options.check()
	if err != nil {
		return nil, err
	}
	certs, err := newKeeper(options)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("make the admission server's scheme: %w", err)
	}
	s := &Server{web: webhook.NewServer(webhook.Options{}), certs: certs, options: options}
	s.Handle(register.ValidatePath, review.NewOwnKinds(scheme, options.Kinds))
	return s, nil
}

// Handle registers a handler of admission reviews. It must be called before Start, and panics if the path is taken.
func (s *Server) Handle(path string, handler admission.Handler) {
	s.web.Register(path, &admission.Webhook{Handler: handler})
}

// HandleHTTP registers a handler of plain requests. It must be called before Start, and panics if the path is taken.
func (s *Server) HandleHTTP(path string, handler http.Handler) { s.web.Register(path, handler) }

// HandlePublic registers a handler for clients other than API servers. The handler authenticates and limits its callers
// itself. It panics if the path is taken.
func (s *Server) HandlePublic(path string, handler http.Handler) {
	if s.public[path] != nil {
		panic("the path " + path + " is taken")
	}
	if s.public == nil {
		s.public = map[string]http.Handler{}
	}
	s.public[path] = handler
}

// Start serves until the context ends, and then until the requests under way are answered. The error is a certificate
// that cannot be watched, or a port that cannot be served.
func (s *Server) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.certs.run(ctx) })
	group.Go(func() error { return s.serve(ctx) })
	return group.Wait()
}

// NeedLeaderElection returns false, because every replica serves.
func (s *Server) NeedLeaderElection() bool { return false }

// Ready is a readiness check. It returns nil if the server listens, has a certificate trusted by the configurations,
// and was not asked to stop. The error names the missing condition.
func (s *Server) Ready(*http.Request) error {
	if err := s.certs.ready(); err != nil {
		return fmt.Errorf("the admission server's certificate: %w", err)
	}
	switch {
	case !s.listening.Load():
		return errors.New("the admission server does not listen yet")
	case s.draining.Load():
		return errors.New("the admission server was told to stop")
	}
	return nil
}

// Stopping reports whether the server was asked to stop.
func (s *Server) Stopping() bool { return s.draining.Load() }

// Certificate returns the served certificate, or nil if there is none yet.
func (s *Server) Certificate() *x509.Certificate {
	serving, err := s.certs.certificate(nil)
	if err != nil || serving == nil {
		return nil
	}
	return serving.Leaf
}

// Client implements register.Server.
func (s *Server) Client(path string) admissionregistrationv1.WebhookClientConfig {
	return s.options.Endpoint.Client(path, s.certs.current.Load().bundle)
}

// Replaced implements register.Server.
func (s *Server) Replaced() <-chan struct{} { return s.certs.current.Load().replaced }
