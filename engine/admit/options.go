package admit

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/types"
)

// fieldManager is under which name the server writes.
const fieldManager = "flyball-webhook"

// Endpoint is where API servers reach the server: exactly one of its fields is set.
type Endpoint struct {
	// URL is https://host:port, for a manager that runs outside the cluster. It has no path.
	URL string
	// Service is the Service in front of a manager in the cluster. Its Path is not used.
	Service *admissionregistrationv1.ServiceReference
}

// Options say how the server is reached, with which certificates, and for which kinds it answers.
type Options struct {
	// Host and Port are what the server listens on. An empty host is every address; port 0 is 9443.
	Host string
	Port int
	// Endpoint is where API servers reach it.
	Endpoint Endpoint
	// Kinds are Flyball's own kinds, with their validators.
	Kinds []Kind

	// CertDir is a directory with tls.crt, tls.key and ca.crt that somebody else keeps, such as cert-manager. What replaces
	// them is served at once. Empty: the server makes and rotates certificates itself and keeps them in Secret.
	CertDir string
	// Secret is where the server's own certificates and the secret part of its path are; its namespace has to exist.
	Secret types.NamespacedName
	// ClientCA is a file with the authorities of the API servers' client certificates. Who has none of theirs is not let in. Empty:
	// nobody is asked for one. ClientNames are the common names of the certificates that count; none: all do.
	ClientCA    string
	ClientNames []string
	// ExtraHosts are further DNS names and IP addresses that the certificate is to cover.
	ExtraHosts []string
	// Configurations names ValidatingWebhookConfigurations, made by others, whose caBundle and path are kept. A caBundle that an
	// annotation asks cert-manager to keep is left to it.
	Configurations []string
	// OwnConfiguration names a ValidatingWebhookConfiguration for Kinds that the server itself creates and corrects, and beside it
	// the policy that guards the ledger. Empty: others make both, such as the Helm chart, and it is named in Configurations.
	OwnConfiguration string

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
	if _, err := o.Endpoint.hosts(); err != nil {
		return o, err
	}
	if o.Secret.Name == "" || o.Secret.Namespace == "" {
		return o, errors.New("options of the admission server: give the namespace and name of Secret")
	}
	for i, k := range o.Kinds {
		switch {
		case k.Kind == "" || k.Resource == "" || k.Validator == nil:
			return o, fmt.Errorf("options of the admission server: Kinds[%d] %s: kind, resource and validator are required", i, k.Kind)
		case slices.ContainsFunc(o.Kinds[:i], func(other Kind) bool { return other.Kind == k.Kind }):
			return o, fmt.Errorf("options of the admission server: Kinds[%d]: %s is there twice", i, k.Kind)
		}
	}
	defaultTo(&o.AuthorityLifetime, 365*24*time.Hour)
	defaultTo(&o.ServingLifetime, 90*24*time.Hour)
	defaultTo(&o.Overlap, 10*time.Minute)
	if shorter := min(o.AuthorityLifetime, o.ServingLifetime); o.Overlap*6 > shorter {
		// A certificate must outlive the wait for a new authority, which begins when a third of its life is left.
		return o, fmt.Errorf("options of the admission server: Overlap %v must be at most a sixth of the shorter lifetime, %v", o.Overlap, shorter)
	}
	return o, nil
}

func defaultTo(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

// hosts are the names that the certificate must have.
func (e Endpoint) hosts() ([]string, error) {
	if e.Service != nil {
		return []string{e.Service.Name + "." + e.Service.Namespace + ".svc"}, nil
	}
	u, err := url.Parse(e.URL)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("the webhook URL %q is not https://host:port", e.URL)
	}
	return []string{u.Hostname()}, nil
}

// client is how a webhook configuration reaches a path of the server: below the secret one.
func (r reach) client(endpoint Endpoint, path string) admissionregistrationv1.WebhookClientConfig {
	if r.token != "" {
		path = "/" + r.token + path
	}
	return endpoint.client(path, r.bundle)
}

// client is how a webhook configuration says where a path of the server is.
func (e Endpoint) client(path string, bundle []byte) admissionregistrationv1.WebhookClientConfig {
	if e.Service != nil {
		service := e.Service.DeepCopy()
		service.Path = &path
		if service.Port == nil {
			port := int32(443)
			service.Port = &port
		}
		return admissionregistrationv1.WebhookClientConfig{Service: service, CABundle: bundle}
	}
	location := strings.TrimSuffix(e.URL, "/") + path
	return admissionregistrationv1.WebhookClientConfig{URL: &location, CABundle: bundle}
}
