package app

import (
	"fmt"

	admissionregistration "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// clients are the typed clients of the manager. A kubernetes.Clientset has them too, and those of fifty more groups and
// versions, which would take several megabytes of the program.
type clients struct {
	registrations *admissionregistration.AdmissionregistrationV1Client
	people        *authentication.AuthenticationV1Client
	rights        *authorization.AuthorizationV1Client
}

// newClients returns the clients of a cluster. They share its connections and its limit of requests.
func newClients(config *rest.Config) (c *clients, err error) {
	if config.RateLimiter == nil && config.QPS > 0 {
		config = rest.CopyConfig(config)
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	}
	web, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	c = &clients{}
	if c.registrations, err = admissionregistration.NewForConfigAndClient(config, web); err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	if c.people, err = authentication.NewForConfigAndClient(config, web); err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	if c.rights, err = authorization.NewForConfigAndClient(config, web); err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return c, nil
}
