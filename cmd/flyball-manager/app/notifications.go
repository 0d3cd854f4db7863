package app

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"flyball.dev/flyball/engine/controller/notifications"
	"flyball.dev/flyball/engine/world"
)

// addNotifications adds the controllers that send messages.
func addNotifications(mgr ctrl.Manager, opts Options, w *world.World) (*notifications.Controller, error) {
	guard, err := notifications.NewDialer(opts.Notifications.AllowedHosts)
	if err != nil {
		return nil, fmt.Errorf("--notification-allowed-hosts: %w", err)
	}
	m, err := notifications.NewMetrics(opts.Registry)
	if err != nil {
		return nil, fmt.Errorf("register the metrics of notifications: %w", err)
	}
	c := notifications.New(notifications.Options{
		World: w, Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Guard: guard, Clock: opts.Clock, Namespace: opts.Namespace,
		Secrets: opts.Notifications.Secrets, PerNamespace: opts.Notifications.PerNamespace,
		Page: opts.Notifications.Page, Enabled: opts.Notifications.Enabled, Elected: mgr.Elected(), Metrics: m,
		Log: opts.Log.WithName("notifications"),
	})
	return c, c.SetupWithManager(mgr)
}
