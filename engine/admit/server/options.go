package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/engine/admit"
	"flyball.dev/flyball/engine/admit/registration"
)

// Options say how the server is reached, with which certificates, and for which kinds it answers.
type Options struct {
	// Host and Port are what the server listens on. An empty host is every address; port 0 is 9443.
	Host string
	Port int
	// Endpoint is where API servers reach it.
	Endpoint registration.Endpoint
	// Kinds are Flyball's own kinds, with their validators.
	Kinds []admit.Kind

	// CertDir is a directory with tls.crt, tls.key and ca.crt that somebody else keeps, such as cert-manager. What replaces
	// them is served at once. Empty: the server makes and rotates certificates itself and keeps them in Secret.
	CertDir string
	// Secret is where the server's own certificates and the secret part of its path are; its namespace has to exist.
	Secret types.NamespacedName
	// ClientCA is a file with the authorities of the API servers' client certificates. Who has none of theirs is not let in. Empty:
	// nobody is asked for one. ClientNames are the common names of the certificates that count; none: all do.
	ClientCA    string
	ClientNames []string
	// Configurations names ValidatingWebhookConfigurations, made by others, whose caBundle and path are kept.
	Configurations []string
	// OwnConfiguration names a ValidatingWebhookConfiguration for Kinds that the server itself creates and corrects. Empty: others
	// make it, and it is named in Configurations.
	OwnConfiguration string
	// Author is on whose behalf that is done.
	Author registration.Author
	// Owner finds what that configuration goes with; nil: nothing.
	Owner func(context.Context) (*metav1.OwnerReference, error)
	// Policies says that the server creates and corrects Flyball's admission policies, which the Helm chart installs otherwise.
	Policies bool

	// AuthorityLifetime, ServingLifetime and Overlap are those of the certificates; zero means one year, 90 days and ten
	// minutes. A certificate is replaced when a third of its life is left. Overlap is how long a new authority is trusted
	// before it is used, and an old one after. With CertDir they do not count.
	AuthorityLifetime, ServingLifetime, Overlap time.Duration
	// Drain is how long Server.Drained lets the server serve on, not ready any more, once it is told to stop: until Services
	// do not lead to it any more. Zero: not at all.
	Drain time.Duration
	// Log receives what the server does.
	Log logr.Logger
}

// check fills in defaults and says what is wrong.
func (o Options) check() (Options, error) {
	if (o.Endpoint.URL == "") == (o.Endpoint.Service == nil) {
		return o, errors.New("options of the admission server: give exactly one of Endpoint.URL and Endpoint.Service")
	}
	if _, err := o.Endpoint.Hosts(); err != nil {
		return o, err
	}
	if o.Secret.Name == "" || o.Secret.Namespace == "" {
		return o, errors.New("options of the admission server: give the namespace and name of Secret")
	}
	for i, k := range o.Kinds {
		switch {
		case k.Kind == "" || k.Resource == "" || k.Validator == nil:
			return o, fmt.Errorf("options of the admission server: Kinds[%d] %s: kind, resource and validator are required", i, k.Kind)
		case slices.ContainsFunc(o.Kinds[:i], func(other admit.Kind) bool { return other.Kind == k.Kind }):
			return o, fmt.Errorf("options of the admission server: Kinds[%d]: %s is there twice", i, k.Kind)
		}
	}
	o.AuthorityLifetime = cmp.Or(o.AuthorityLifetime, 365*24*time.Hour)
	o.ServingLifetime = cmp.Or(o.ServingLifetime, 90*24*time.Hour)
	o.Overlap = cmp.Or(o.Overlap, 10*time.Minute)
	if shorter := min(o.AuthorityLifetime, o.ServingLifetime); o.Overlap*6 > shorter {
		// A certificate must outlive the wait for a new authority, which begins when a third of its life is left.
		return o, fmt.Errorf("options of the admission server: Overlap %v must be at most a sixth of the shorter lifetime, %v", o.Overlap, shorter)
	}
	return o, nil
}

// own describes the configuration that the server keeps.
func (o Options) own(ctx context.Context, reach registration.Reach) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	config := registration.Configuration(o.OwnConfiguration, o.Endpoint, admit.Registered(o.Kinds), nil)
	config.Webhooks[0].ClientConfig = reach.Client(o.Endpoint, registration.ValidatePath)
	if o.Owner != nil {
		owner, err := o.Owner(ctx)
		if err != nil {
			return nil, fmt.Errorf("keep the ValidatingWebhookConfiguration %s: %w", o.OwnConfiguration, err)
		}
		config.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return config, nil
}
