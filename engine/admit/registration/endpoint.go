package registration

import (
	"fmt"
	"net/url"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// The paths of the server, below the secret one.
const (
	// ValidatePath is where the server answers for Flyball's own kinds.
	ValidatePath = "/validate-flyball-dev-v1alpha1"
	// JudgePath is where the server judges changes of adapted kinds against freezes.
	JudgePath = "/judge"
	// PodsPath is where the server changes pods that are being created.
	PodsPath = "/pods"
)

// Endpoint is where API servers reach the server: exactly one of its fields is set.
type Endpoint struct {
	// URL is https://host:port, for a manager that runs outside the cluster. It has no path.
	URL string
	// Service is the Service in front of a manager in the cluster. Its Path is not used.
	Service *admissionregistrationv1.ServiceReference
}

// Reach is what the configurations say of how to reach the server, besides its address: whom to trust, and the secret part
// of the path.
type Reach struct {
	Bundle []byte
	Token  string
}

// Server is an admission server as a configuration needs it.
type Server interface {
	// Client is how a configuration reaches a path of the server.
	Client(path string) admissionregistrationv1.WebhookClientConfig
	// CABundle is empty until there is a certificate.
	CABundle() []byte
}

// Hosts are the names that the certificate must have.
func (e Endpoint) Hosts() ([]string, error) {
	if e.Service != nil {
		return []string{e.Service.Name + "." + e.Service.Namespace + ".svc"}, nil
	}
	u, err := url.Parse(e.URL)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("the webhook URL %q is not https://host:port", e.URL)
	}
	return []string{u.Hostname()}, nil
}

// Client is how a webhook configuration reaches a path of the server: below the secret one.
func (r Reach) Client(endpoint Endpoint, path string) admissionregistrationv1.WebhookClientConfig {
	if r.Token != "" {
		path = "/" + r.Token + path
	}
	return endpoint.Client(path, r.Bundle)
}

// Client is how a webhook configuration says where a path of the server is.
func (e Endpoint) Client(path string, bundle []byte) admissionregistrationv1.WebhookClientConfig {
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
