package doctor

import (
	"fmt"

	admissionregistration "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	apps "k8s.io/client-go/kubernetes/typed/apps/v1"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	discoveryv1 "k8s.io/client-go/kubernetes/typed/discovery/v1"
	policy "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/client-go/rest"
)

// Clients are the clients of the groups that are checked. A kubernetes.Interface has them too, and those of fifty more
// groups and versions, which would take several megabytes of the plugin.
type Clients interface {
	AdmissionregistrationV1() admissionregistration.AdmissionregistrationV1Interface
	AppsV1() apps.AppsV1Interface
	CoreV1() core.CoreV1Interface
	DiscoveryV1() discoveryv1.DiscoveryV1Interface
	PolicyV1() policy.PolicyV1Interface
}

// typed implements Clients.
type typed struct {
	admissionregistration *admissionregistration.AdmissionregistrationV1Client
	apps                  *apps.AppsV1Client
	core                  *core.CoreV1Client
	slices                *discoveryv1.DiscoveryV1Client
	policy                *policy.PolicyV1Client
}

func (c *typed) AdmissionregistrationV1() admissionregistration.AdmissionregistrationV1Interface {
	return c.admissionregistration
}
func (c *typed) AppsV1() apps.AppsV1Interface                  { return c.apps }
func (c *typed) CoreV1() core.CoreV1Interface                  { return c.core }
func (c *typed) DiscoveryV1() discoveryv1.DiscoveryV1Interface { return c.slices }
func (c *typed) PolicyV1() policy.PolicyV1Interface            { return c.policy }

// newClients returns the clients of a cluster. They share its connections.
func newClients(config *rest.Config) (c *typed, err error) {
	web, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	c = &typed{}
	for _, create := range []func() error{
		func() (err error) {
			c.admissionregistration, err = admissionregistration.NewForConfigAndClient(config, web)
			return err
		},
		func() (err error) { c.apps, err = apps.NewForConfigAndClient(config, web); return err },
		func() (err error) { c.core, err = core.NewForConfigAndClient(config, web); return err },
		func() (err error) { c.slices, err = discoveryv1.NewForConfigAndClient(config, web); return err },
		func() (err error) { c.policy, err = policy.NewForConfigAndClient(config, web); return err },
	} {
		if err := create(); err != nil {
			return nil, fmt.Errorf("connect to the cluster: %w", err)
		}
	}
	return c, nil
}
