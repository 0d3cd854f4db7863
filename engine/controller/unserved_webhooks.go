package controller

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Cleanup removes, on the leader, webhook configurations without a server. Otherwise the API server would refuse or
// delay the requests in their rules for ever.
type Cleanup struct {
	// Delete deletes a configuration.
	Delete func(ctx context.Context, name string, opts metav1.DeleteOptions) error
	Names  []string
	Log    logr.Logger
}

// After a removal, the check is repeated every cleanupPause until no configuration has come back for cleanupCalm. A
// replica of the former version recreates deleted configurations. cleanupCalm is longer than such a replica needs to
// shut down.
const (
	cleanupPause = 5 * time.Second
	cleanupCalm  = time.Minute
)

// Start removes the configurations, and retries until they stay away or the context ends. The error is always nil.
func (c *Cleanup) Start(ctx context.Context) error {
	var removed time.Time
	_ = wait.PollUntilContextCancel(ctx, cleanupPause, true, func(ctx context.Context) (calm bool, err error) {
		calm = true
		for _, name := range c.Names {
			switch err := c.Delete(ctx, name, metav1.DeleteOptions{}); {
			case err == nil:
				removed = time.Now()
				c.Log.Info("Removed a webhook configuration: this manager does not serve the webhook", "name", name)
			case !apierrors.IsNotFound(err):
				c.Log.Info("Failed to remove a webhook configuration; will retry", "name", name, "reason", err.Error())
				calm = false
			}
		}
		return calm && (removed.IsZero() || time.Since(removed) >= cleanupCalm), nil
	}) // the only error is the end of the context
	return nil
}
