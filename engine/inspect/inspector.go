package inspect

import (
	"fmt"
	"sync"
	"time"
	"weak"

	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
)

// Inspector asks an API server. It is safe for concurrent use.
type Inspector struct {
	discovery   discovery.ServerResourcesInterfaceWithContext
	groups      rest.Interface
	definitions apiextensionsclient.CustomResourceDefinitionInterface
	openapi     openapi.ClientWithContext
	reviews     authorizationclient.SelfSubjectAccessReviewInterface

	mu sync.Mutex
	// reports has the last report on each kind. A report is valid for a URL of the schema, which contains the schema's
	// hash.
	reports map[schema.GroupVersionKind]cachedReport
	// documents lets adapters of one group version share a schema that is still in memory. It does not keep the schema
	// in memory.
	documents map[string]weak.Pointer[document]
}

// patience is the longest time for an answer. A read without an end would keep all adapters waiting, because they are
// checked one after the other.
const patience = 20 * time.Second

// New returns an Inspector with the identity and the rate limits of the configuration. Without a time limit there, a read
// ends after patience. An error means that the configuration gives no client.
func New(config *rest.Config) (*Inspector, error) {
	if config.Timeout == 0 {
		config = rest.CopyConfig(config)
		config.Timeout = patience
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make the inspector's HTTP client: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("make the inspector's discovery client: %w", err)
	}
	authorization, err := authorizationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("make the inspector's authorization client: %w", err)
	}
	extensions, err := apiextensionsclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("make the inspector's client of CustomResourceDefinitions: %w", err)
	}
	return &Inspector{
		discovery:   disco,
		groups:      disco.RESTClient(),
		definitions: extensions.CustomResourceDefinitions(),
		openapi:     openapi.NewClientWithContext(disco.RESTClient()),
		reviews:     authorization.SelfSubjectAccessReviews(),
		reports:     map[schema.GroupVersionKind]cachedReport{},
		documents:   map[string]weak.Pointer[document]{},
	}, nil
}
