package admit

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	admissionregistrationclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
)

// hooks are the ValidatingWebhookConfigurations that lead to this server.
type hooks struct {
	client admissionregistrationclient.ValidatingWebhookConfigurationInterface
	// names are the configurations whose caBundle and path are kept.
	names []string
	// endpoint is how API servers reach the server.
	endpoint Endpoint
	// desired makes the configuration that is created and kept as a whole; nil where others do that.
	desired func(reach reach) *admissionregistrationv1.ValidatingWebhookConfiguration

	// live are those of the configurations that exist, as they were last read or written.
	live []*admissionregistrationv1.ValidatingWebhookConfiguration
}

// reach is what the configurations say of how to reach the server, besides its address: whom to trust, and the secret part
// of the path.
type reach struct {
	bundle []byte
	token  string
}

// read gets the configurations as they are. One that does not exist sends nothing here, and is no error.
func (h *hooks) read(ctx context.Context) error {
	h.live = nil
	for _, name := range h.names {
		config, err := h.client.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read the ValidatingWebhookConfiguration %s: %w", name, err)
		}
		h.live = append(h.live, config)
	}
	return nil
}

// trust says whether every webhook of every configuration trusts the authority.
func (h *hooks) trust(authority *x509.Certificate) bool {
	for _, config := range h.live {
		for i := range config.Webhooks {
			if !trusts(config.Webhooks[i].ClientConfig.CABundle, authority) {
				return false
			}
		}
	}
	return true
}

// lead says whether every webhook of every configuration leads to a path below the secret one.
func (h *hooks) lead(token string) bool {
	for _, config := range h.live {
		for i := range config.Webhooks {
			if want := pathOf(&config.Webhooks[i]); want != "" && !h.leads(&config.Webhooks[i], "/"+token+want) {
				return false
			}
		}
	}
	return true
}

// leads says whether a webhook leads to this server at a path. One that leads elsewhere than the server is somebody else's matter.
func (h *hooks) leads(webhook *admissionregistrationv1.ValidatingWebhook, path string) bool {
	live, want := webhook.ClientConfig, h.endpoint.client(path, nil)
	switch {
	case want.URL != nil:
		return live.URL == nil || *live.URL == *want.URL
	default:
		return live.Service == nil || live.Service.Path != nil && *live.Service.Path == path
	}
}

// injected says whether an annotation asks cert-manager to set the caBundle of a configuration.
func injected(config *admissionregistrationv1.ValidatingWebhookConfiguration) bool {
	for key := range config.Annotations {
		if strings.HasPrefix(key, "cert-manager.io/inject-") {
			return true
		}
	}
	return false
}

// announce brings the configurations to how the server is reached, and the desired one to what it is to be. The caBundle of those
// that cert-manager keeps is left to it.
func (h *hooks) announce(ctx context.Context, reach reach) error {
	var errs []error
	if h.desired != nil {
		errs = append(errs, h.ensure(ctx, h.desired(reach)))
	}
	for i, config := range h.live {
		updated, err := h.inject(ctx, config, reach)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		h.live[i] = updated
	}
	return errors.Join(errs...)
}

// ensure creates or corrects the desired configuration.
func (h *hooks) ensure(ctx context.Context, want *admissionregistrationv1.ValidatingWebhookConfiguration) error {
	i := slices.IndexFunc(h.live, func(c *admissionregistrationv1.ValidatingWebhookConfiguration) bool { return c.Name == want.Name })
	if i < 0 {
		made, err := h.client.Create(ctx, want, metav1.CreateOptions{FieldManager: fieldManager})
		if err != nil {
			return failedWrite("create", want.Name, err)
		}
		h.live = append(h.live, made)
		return nil
	}
	if equality.Semantic.DeepEqual(h.live[i].Webhooks, want.Webhooks) {
		return nil
	}
	corrected := h.live[i].DeepCopy()
	corrected.Webhooks = want.Webhooks
	updated, err := h.client.Update(ctx, corrected, metav1.UpdateOptions{FieldManager: fieldManager})
	if err != nil {
		return failedWrite("update", want.Name, err)
	}
	h.live[i] = updated
	return nil
}

// inject sets caBundle and path of every webhook of a configuration, if nobody has written the configuration since.
func (h *hooks) inject(ctx context.Context, config *admissionregistrationv1.ValidatingWebhookConfiguration, reach reach) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	patch := []operation{{"test", "/metadata/resourceVersion", config.ResourceVersion}}
	for i := range config.Webhooks {
		webhook, at := &config.Webhooks[i], fmt.Sprintf("/webhooks/%d/clientConfig/", i)
		if !injected(config) && !bytes.Equal(webhook.ClientConfig.CABundle, reach.bundle) {
			patch = append(patch, operation{"add", at + "caBundle", reach.bundle})
		}
		path := pathOf(webhook)
		if path == "" || h.leads(webhook, "/"+reach.token+path) {
			continue
		}
		if want := h.endpoint.client("/"+reach.token+path, nil); want.URL != nil {
			patch = append(patch, operation{"add", at + "url", *want.URL})
		} else {
			patch = append(patch, operation{"add", at + "service/path", *want.Service.Path})
		}
	}
	if len(patch) == 1 {
		return config, nil
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode the patch of the ValidatingWebhookConfiguration %s: %w", config.Name, err)
	}
	updated, err := h.client.Patch(ctx, config.Name, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
	if err != nil {
		return nil, failedWrite("set caBundle and path of", config.Name, err)
	}
	return updated, nil
}

// failedWrite tells a lost race from a failure. A JSON Patch whose test fails is answered as invalid.
func failedWrite(verb, name string, err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsInvalid(err) {
		return fmt.Errorf("%s the ValidatingWebhookConfiguration %s: %w: %w", verb, name, errConflict, err)
	}
	return fmt.Errorf("%s the ValidatingWebhookConfiguration %s: %w", verb, name, err)
}

// watch notifies when one of the configurations changes.
func (h *hooks) watch(ctx context.Context, log logr.Logger, notify chan<- struct{}) error {
	for _, name := range h.names {
		if err := watchNamed(ctx, h.client, name, &admissionregistrationv1.ValidatingWebhookConfiguration{}, log, notify); err != nil {
			return fmt.Errorf("watch the ValidatingWebhookConfiguration %s: %w", name, err)
		}
	}
	return nil
}
