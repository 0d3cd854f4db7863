package controller

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
)

// Cleanup removes, on the leader, webhook configurations without a server. Otherwise the API server would refuse or
// delay the requests in their rules for ever.
type Cleanup struct {
	// Delete deletes a configuration.
	Delete func(ctx context.Context, name string, opts metav1.DeleteOptions) error
	Names  []string
	Clock  clock.Clock
	Log    logr.Logger
}

// After a removal, the check is repeated every cleanupPause until no configuration has come back for cleanupCalm. A
// replica of the former version recreates deleted configurations. cleanupCalm is longer than such a replica needs to
// shut down. cleanupRetry is the pause after a failed removal.
const (
	cleanupPause = 5 * time.Second
	cleanupRetry = 15 * time.Second
	cleanupCalm  = time.Minute
)

// Start removes the configurations, and retries until they stay away or the context ends.
func (c *Cleanup) Start(ctx context.Context) error {
	var removed time.Time
	for {
		pause := time.Duration(0)
		for _, name := range c.Names {
			switch err := c.Delete(ctx, name, metav1.DeleteOptions{}); {
			case err == nil:
				removed = c.Clock.Now()
				c.Log.Info("Removed a webhook configuration: this manager does not serve the webhook", "name", name)
			case !apierrors.IsNotFound(err):
				c.Log.Info("Failed to remove a webhook configuration; will retry", "name", name, "reason", err.Error())
				pause = cleanupRetry
			}
		}
		if pause == 0 {
			if removed.IsZero() || c.Clock.Since(removed) >= cleanupCalm {
				return nil
			}
			pause = cleanupPause
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.Clock.After(pause):
		}
	}
}
