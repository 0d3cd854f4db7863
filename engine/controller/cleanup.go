package controller

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
)

// Cleanup removes, on the leader, webhook configurations of what is not served any more: an API server that finds nobody to ask
// refuses what they name, or waits, and would for ever.
type Cleanup struct {
	// Delete deletes a configuration.
	Delete func(ctx context.Context, name string, opts metav1.DeleteOptions) error
	Names  []string
	Clock  clock.Clock
	Log    logr.Logger
}

// After a removal it is looked again, every cleanupPause, until nothing has come back for cleanupCalm: longer than a replica of before, which
// makes anew what is deleted, runs on once it is told to stop.
const (
	cleanupPause = 5 * time.Second
	cleanupRetry = 15 * time.Second
	cleanupCalm  = time.Minute
)

// Start removes the configurations, and tries until they stay away or the context ends.
func (c *Cleanup) Start(ctx context.Context) error {
	var removed time.Time
	for {
		pause := time.Duration(0)
		for _, name := range c.Names {
			switch err := c.Delete(ctx, name, metav1.DeleteOptions{}); {
			case err == nil:
				removed = c.Clock.Now()
				c.Log.Info("removed a webhook configuration: this manager serves no such webhook", "name", name)
			case !apierrors.IsNotFound(err):
				c.Log.Info("cannot remove a webhook configuration, trying again", "name", name, "reason", err.Error())
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
