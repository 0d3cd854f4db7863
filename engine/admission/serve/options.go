package serve

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/engine/admission/review"
)

// Options configure the address, the certificates and the kinds of the server.
type Options struct {
	// Host and Port are the address to listen on. An empty host means every address; port 0 means 9443.
	Host string
	Port int
	// Endpoint is the address for API servers.
	Endpoint register.Endpoint
	// Kinds are Flyball's own kinds, with their validators.
	Kinds []review.OwnKind
	// Keeper reads and writes the certificates and OwnConfiguration.
	Keeper *register.Registrar

	// CertDir is a directory with tls.crt, tls.key and ca.crt of another issuer, such as cert-manager. New files are
	// served at once. Empty means certificates from the server itself, rotated and stored in Secret.
	CertDir string
	// Secret is the name of the Secret with the server's own certificates. Its namespace must exist.
	Secret types.NamespacedName
	// ClientCA is a file with the authorities of the API servers' client certificates. Clients without such a
	// certificate are refused. Empty means that clients need no certificate. ClientNames are the accepted common names;
	// without any, every name is accepted.
	ClientCA    string
	ClientNames []string
	// OwnConfiguration is the name of a ValidatingWebhookConfiguration for Kinds, created and corrected by the server; empty: none.
	OwnConfiguration string
	// Policies makes the server create and correct Flyball's admission policies, which the Helm chart otherwise
	// installs.
	Policies bool

	// CertificateLifetime is the life of the server's own certificates. Zero means a year. Each is trusted for a third of
	// it before it is served, and served for a third.
	CertificateLifetime time.Duration
	// Drain is how long the server goes on serving after it was asked to stop, so that Services can direct API servers
	// to other replicas. It is not ready during this time. Zero means that the server stops at once. See Server.Drained.
	Drain time.Duration
	// Log receives the log lines of the server.
	Log logr.Logger
}

// check sets defaults and returns an error for an invalid option.
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
		case slices.ContainsFunc(o.Kinds[:i], func(other review.OwnKind) bool { return other.Kind == k.Kind }):
			return o, fmt.Errorf("options of the admission server: Kinds[%d]: %s is there twice", i, k.Kind)
		}
	}
	o.CertificateLifetime = cmp.Or(o.CertificateLifetime, 365*24*time.Hour)
	return o, nil
}

// wanted returns the objects that the server keeps.
func (o Options) wanted(bundle []byte) (all []client.Object) {
	if o.OwnConfiguration != "" {
		all = append(all, register.Configuration(o.OwnConfiguration, o.Endpoint, o.Kinds, bundle))
	}
	if o.Policies {
		all = append(all, register.AdmissionObjects()...)
	}
	return all
}
