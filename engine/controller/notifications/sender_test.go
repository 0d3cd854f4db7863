package notifications

import (
	"strings"
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
)

// TestOnlyNamedSecretsAreRead checks that a Notification cannot name a Secret that the manager may read for another purpose, such as the
// Secret with the webhook's certificates. The Controller has no client, so a read would panic.
func TestOnlyNamedSecretsAreRead(t *testing.T) {
	c := &Controller{Options: Options{Secrets: []string{"flyball-notifications"}}}
	n := object{secrets: "flyball-system"}
	n.rules.To.Webhook = &v1alpha1.NotificationWebhook{URLFrom: v1alpha1.SecretSource{
		SecretKeyRef: v1alpha1.SecretKey{Name: "flyball-webhook-cert", Key: "tls.key"}}}
	_, err := c.sender(t.Context(), n)
	if err == nil || !strings.Contains(err.Error(), "spec.to.webhook.urlFrom: Secrets with the name flyball-webhook-cert are not read") {
		t.Errorf("error %v", err)
	}
}
