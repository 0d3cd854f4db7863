package registration

import (
	"fmt"
	"net/url"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// These are the paths of the server.
const (
	// ValidatePath is the path for reviews of Flyball's own kinds.
	ValidatePath = "/validate-flyball-dev-v1alpha1"
	// JudgePath is the path for reviews of adapted kinds, judged against freezes.
	JudgePath = "/judge"
	// PodsPath is the path for reviews of new pods.
	PodsPath = "/pods"
)

// Endpoint is the address of the server for API servers. Exactly one field is set.
type Endpoint struct {
	// URL is https://host:port, without a path, for a manager outside the cluster.
	URL string
	// Service is the Service of a manager in the cluster. Its Path is not used.
	Service *admissionregistrationv1.ServiceReference
}

// Server is the part of the admission server that configurations depend on.
type Server interface {
	// Client returns the client configuration of a path of the server.
	Client(path string) admissionregistrationv1.WebhookClientConfig
	// CABundle returns the trusted authorities. It is empty before the first certificate is made.
	CABundle() []byte
}

// Hosts returns the names that the certificate must have.
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

// Client returns the client configuration of a path of the server.
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
