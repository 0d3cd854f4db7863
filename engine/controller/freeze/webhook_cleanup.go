package freeze

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissionregistrationclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
)

// Cleanup removes the webhook configurations where no webhook is served any more: an API server that finds nobody to ask
// refuses what they name, and would for ever.
type Cleanup struct {
	Configurations admissionregistrationclient.ValidatingWebhookConfigurationInterface
	Names          []string
	Log            logr.Logger
}

// NeedLeaderElection says that one replica is enough.
func (c *Cleanup) NeedLeaderElection() bool { return true }

// Start removes the configurations, and tries until that is through or the context ends.
func (c *Cleanup) Start(ctx context.Context) error {
	for _, name := range c.Names {
		for ctx.Err() == nil {
			err := c.Configurations.Delete(ctx, name, metav1.DeleteOptions{})
			if err == nil {
				c.Log.Info("removed a webhook configuration: this manager serves no webhook", "name", name)
			}
			if err == nil || apierrors.IsNotFound(err) {
				break
			}
			c.Log.Info("cannot remove a webhook configuration, trying again", "name", name, "reason", err.Error())
			select {
			case <-ctx.Done():
			case <-time.After(15 * time.Second):
			}
		}
	}
	return nil
}
