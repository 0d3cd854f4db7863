package app

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/engine/admission/serve"
	"flyball.dev/flyball/engine/controller"

	"flyball.dev/flyball/engine/pods"
	"flyball.dev/flyball/engine/tuning/resize"
)

// addNewPods serves the webhook that sets requests of new pods, on every replica, and keeps its webhook configuration
// up to date.
func (j *judging) addNewPods(mgr ctrl.Manager, server *serve.Server, keeper *register.Registrar, o pods.Options) error {
	if !j.opts.Webhook.Pods || j.opts.DryRun {
		return addNoNewPods(mgr, j.clients, j.opts)
	}
	log := j.opts.Log.WithName("pods")
	note, err := resize.NewCounter(j.opts.Registry)
	if err != nil {
		return fmt.Errorf("register the metrics of new pods: %w", err)
	}
	index := resize.NewIndex(resize.IndexOptions{
		World: j.world, Watches: o.Watches, OwnerReferences: pods.NewOwnerReferences(o), Clock: j.clock, Log: log,
		Between: []schema.GroupKind{{Group: "apps", Kind: "ReplicaSet"}},
	})
	server.HandleHTTP(register.PodsPath, &resize.Handler{Wants: index, Note: note, Log: log})
	if err := mgr.Add(index); err != nil {
		return fmt.Errorf("set up the index of new pods: %w", err)
	}
	configuration := &resize.ConfigurationWriter{
		Index: index, Keeper: keeper, Server: server, Exempt: j.exempt(), Log: log,
	}
	if err := mgr.Add(configuration); err != nil {
		return fmt.Errorf("set up the webhook configuration of pods: %w", err)
	}
	return nil
}

// addNoNewPods deletes the webhook configuration of pods. It is used if this manager does not serve that webhook.
func addNoNewPods(mgr ctrl.Manager, clients *clients, opts Options) error {
	err := mgr.Add(&controller.Cleanup{
		Delete: clients.registrations.MutatingWebhookConfigurations().Delete, Names: []string{register.PodsConfigurationName},
		Log: opts.Log.WithName("pods"),
	})
	if err != nil {
		return fmt.Errorf("set up without a webhook for pods: %w", err)
	}
	return nil
}
