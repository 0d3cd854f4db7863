package controller

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cleanup removes, on the leader, webhook configurations of what is not served any more: an API server that finds nobody to ask
// refuses what they name, or waits, and would for ever.
type Cleanup struct {
	// Delete deletes a configuration.
	Delete func(ctx context.Context, name string, opts metav1.DeleteOptions) error
	Names  []string
	Log    logr.Logger
}

// Start removes the configurations, and tries until that is through or the context ends.
func (c *Cleanup) Start(ctx context.Context) error {
	for _, name := range c.Names {
		for ctx.Err() == nil {
			err := c.Delete(ctx, name, metav1.DeleteOptions{})
			if err == nil {
				c.Log.Info("removed a webhook configuration: this manager serves no such webhook", "name", name)
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
