package notifications

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

// sender makes one attempt to send a message.
type sender interface {
	Send(ctx context.Context, e *Envelope) error
}

// sender returns the sender of a Notification. It reads the Secrets each time, so a changed Secret counts at once.
func (c *Controller) sender(ctx context.Context, n object) (sender, error) {
	if to := n.rules.To.Webhook; to != nil {
		address, err := c.secret(ctx, "spec.to.webhook.urlFrom", n.secrets, to.URLFrom)
		if err != nil {
			return nil, err
		}
		key, err := c.secret(ctx, "spec.to.webhook.signingKeyFrom", n.secrets, to.SigningKeyFrom)
		if err != nil {
			return nil, err
		}
		return NewWebhook(c.Guard, address, key, time.Now)
	}
	if to := n.rules.To.Service; to != nil {
		address, err := c.secret(ctx, "spec.to.service.urlFrom", n.secrets, to.URLFrom)
		if err != nil {
			return nil, err
		}
		if to.Type == v1alpha1.ServiceEmail {
			return NewEmail(c.Guard, address)
		}
		return NewService(c.Guard, to.Type, address)
	}
	return nil, fmt.Errorf("spec.to: give exactly one of webhook and service")
}

// CheckNotification returns the fault of a value in a Secret of a Notification, if the Secret can be read.
func (c *Controller) CheckNotification(ctx context.Context, n *v1alpha1.Notification) field.ErrorList {
	return c.check(ctx, object{rules: n.Spec.NotificationRules, secrets: n.Namespace})
}

// CheckClusterNotification is CheckNotification for a ClusterNotification.
func (c *Controller) CheckClusterNotification(ctx context.Context, n *v1alpha1.ClusterNotification) field.ErrorList {
	return c.check(ctx, object{rules: n.Spec.NotificationRules, secrets: c.Namespace})
}

// check does not count a Secret that is missing or cannot be read, because it may be created later.
func (c *Controller) check(ctx context.Context, n object) field.ErrorList {
	if !c.Enabled {
		return nil
	}
	_, err := c.sender(ctx, n)
	var fault UnusableValue
	if !errors.As(err, &fault) {
		return nil
	}
	return field.ErrorList{{Type: field.ErrorTypeInvalid, Field: fault.Field, BadValue: field.OmitValueType{}, Detail: fault.Text}}
}

// secret reads a value of a Secret. path is the field of the spec that names it.
func (c *Controller) secret(ctx context.Context, path, namespace string, from v1alpha1.SecretSource) (string, error) {
	ref := from.SecretKeyRef
	if !slices.Contains(c.Secrets, ref.Name) {
		return "", fmt.Errorf("%s: Secrets with the name %s are not read for messages: use one of %s, or add this name to the chart's value "+
			"notifications.secrets", path, ref.Name, strings.Join(c.Secrets, ", "))
	}
	var s corev1.Secret
	err := c.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, &s)
	switch {
	case apierrors.IsForbidden(err):
		return "", fmt.Errorf("%s: Flyball may not read the Secret %s in the namespace %s: add its name to the chart's value "+
			"notifications.secrets", path, ref.Name, namespace)
	case apierrors.IsNotFound(err):
		return "", fmt.Errorf("%s: there is no Secret %s in the namespace %s", path, ref.Name, namespace)
	case err != nil:
		return "", fmt.Errorf("%s: read the Secret %s: %w", path, ref.Name, err)
	}
	value := string(s.Data[ref.Key])
	if value == "" {
		return "", fmt.Errorf("%s: the Secret %s has no key %s", path, ref.Name, ref.Key)
	}
	return value, nil
}
