package registration

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissionregistrationclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"

	"flyball.dev/flyball/engine/admit/credential"
)

// FieldManager is the field manager of the server's writes.
const FieldManager = "flyball-webhook"

// ErrConflict means that a different replica wrote first. The next attempt reads the new state.
var ErrConflict = errors.New("another replica was first")

// Hooks are the ValidatingWebhookConfigurations of this server.
type Hooks struct {
	Client admissionregistrationclient.ValidatingWebhookConfigurationInterface
	// Names are the configurations with a caBundle from this server.
	Names []string
	// Endpoint is the address of the server for API servers.
	Endpoint Endpoint
	// Desired returns the configuration to create and maintain as a whole, or is nil if a different writer does so.
	Desired func(ctx context.Context, bundle []byte) (*admissionregistrationv1.ValidatingWebhookConfiguration, error)
	// Author writes the desired configuration.
	Author Author

	// live are the existing configurations, as last read or written.
	live []*admissionregistrationv1.ValidatingWebhookConfiguration
}

// Read reads the configurations. A missing configuration is not an error, because it sends no requests.
func (h *Hooks) Read(ctx context.Context) error {
	h.live = nil
	for _, name := range h.Names {
		config, err := h.Client.Get(ctx, name, metav1.GetOptions{})
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

// Trust reports whether every webhook of every configuration trusts the authority.
func (h *Hooks) Trust(authority *x509.Certificate) bool {
	for _, config := range h.live {
		for i := range config.Webhooks {
			if !credential.Trusts(config.Webhooks[i].ClientConfig.CABundle, authority) {
				return false
			}
		}
	}
	return true
}

// Announce updates the server's authorities in the configurations, and the whole desired configuration.
func (h *Hooks) Announce(ctx context.Context, bundle []byte) error {
	var errs []error
	if h.Desired != nil {
		want, err := h.Desired(ctx, bundle)
		if err == nil {
			err = h.ensure(ctx, want)
		}
		errs = append(errs, err)
	}
	for i, config := range h.live {
		updated, err := h.inject(ctx, config, bundle)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		h.live[i] = updated
	}
	return errors.Join(errs...)
}

// ensure creates or corrects the desired configuration.
func (h *Hooks) ensure(ctx context.Context, want *admissionregistrationv1.ValidatingWebhookConfiguration) error {
	i := slices.IndexFunc(h.live, func(c *admissionregistrationv1.ValidatingWebhookConfiguration) bool { return c.Name == want.Name })
	if i < 0 {
		h.Author.sign(want)
		made, err := h.Client.Create(ctx, want, metav1.CreateOptions{FieldManager: FieldManager})
		if err != nil {
			return failedWrite("create", want.Name, err)
		}
		h.live = append(h.live, made)
		return nil
	}
	corrected := h.Author.corrected(h.live[i], want)
	if corrected == nil {
		return nil
	}
	updated, err := h.Client.Update(ctx, corrected, metav1.UpdateOptions{FieldManager: FieldManager})
	if err != nil {
		return failedWrite("update", want.Name, err)
	}
	h.live[i] = updated
	return nil
}

// inject sets the caBundle of every webhook of a configuration, unless the configuration was written meanwhile.
func (h *Hooks) inject(ctx context.Context, config *admissionregistrationv1.ValidatingWebhookConfiguration,
	bundle []byte) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	next, changed := config.DeepCopy(), false
	for i := range next.Webhooks {
		if live := &next.Webhooks[i].ClientConfig; !bytes.Equal(live.CABundle, bundle) {
			live.CABundle, changed = bundle, true
		}
	}
	if !changed {
		return config, nil
	}
	updated, err := h.Client.Update(ctx, next, metav1.UpdateOptions{FieldManager: FieldManager})
	if err != nil {
		return nil, failedWrite("set the caBundle of", config.Name, err)
	}
	return updated, nil
}

// failedWrite marks an error as ErrConflict if a different replica wrote first.
func failedWrite(verb, name string, err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("%s the ValidatingWebhookConfiguration %s: %w: %w", verb, name, ErrConflict, err)
	}
	return fmt.Errorf("%s the ValidatingWebhookConfiguration %s: %w", verb, name, err)
}

// Watch notifies when a configuration changes, and when the author starts to lead.
func (h *Hooks) Watch(ctx context.Context, log logr.Logger, notify chan<- struct{}) error {
	for _, name := range h.Names {
		if err := WatchNamed(ctx, h.Client, name, &admissionregistrationv1.ValidatingWebhookConfiguration{}, log, notify); err != nil {
			return fmt.Errorf("watch the ValidatingWebhookConfiguration %s: %w", name, err)
		}
	}
	h.Author.notifyLead(ctx.Done(), notify)
	return nil
}
