package reconcile

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"flyball.dev/flyball/engine/admit"
)

// FreezeUnhook removes the webhook configuration of freezes where no webhook is served any more: an API server that finds
// nobody to ask refuses what is frozen, and would for ever.
type FreezeUnhook struct {
	Hook admit.FreezeHook
	Log  logr.Logger
}

// NeedLeaderElection says that one replica is enough.
func (u *FreezeUnhook) NeedLeaderElection() bool { return true }

// Start removes the configuration, and tries until that is through or the context ends.
func (u *FreezeUnhook) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		removed, err := u.Hook.Keep(ctx, nil, false)
		if err == nil {
			if removed {
				u.Log.Info("removed the webhook configuration of freezes: this manager serves no webhook")
			}
			return nil
		}
		u.Log.Info("cannot remove the webhook configuration of freezes, trying again", "reason", err.Error())
		select {
		case <-ctx.Done():
		case <-time.After(hookRecheck):
		}
	}
	return nil
}
