package freeze

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"flyball.dev/flyball/engine/admit"
)

// Cleanup removes the webhook configuration of freezes where no webhook is served any more: an API server that finds
// nobody to ask refuses what is frozen, and would for ever.
type Cleanup struct {
	Hook admit.FreezeHook
	Log  logr.Logger
}

// NeedLeaderElection says that one replica is enough.
func (c *Cleanup) NeedLeaderElection() bool { return true }

// Start removes the configuration, and tries until that is through or the context ends.
func (c *Cleanup) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		removed, err := c.Hook.Keep(ctx, nil, false)
		if err == nil {
			if removed {
				c.Log.Info("removed the webhook configuration of freezes: this manager serves no webhook")
			}
			return nil
		}
		c.Log.Info("cannot remove the webhook configuration of freezes, trying again", "reason", err.Error())
		select {
		case <-ctx.Done():
		case <-time.After(15 * time.Second):
		}
	}
	return nil
}
