package app

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/serve"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/world"
)

// Scheme returns the scheme of Flyball's kinds and the built-in kinds of Kubernetes. All callers share it, so it must
// not be changed.
func Scheme() *runtime.Scheme { return scheme() }

var scheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
})

// Run runs the manager until the context ends. It returns after the writes in flight have finished.
func Run(ctx context.Context, config *rest.Config, opts Options) error {
	if err := opts.validate(); err != nil {
		return err
	}
	opts.setDefaults()
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = opts.QPS, opts.Burst
	config.UserAgent = "flyball-manager"
	listings := status.NewListings()
	informers := NewInformers(listings)
	defer informers.Close()
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        Scheme(),
		Logger:                        opts.Log,
		Cache:                         informers.CacheOptions(),
		Metrics:                       metricsserver.Options{BindAddress: opts.MetricsAddress},
		HealthProbeBindAddress:        opts.HealthAddress,
		LeaderElection:                opts.LeaderElection,
		LeaderElectionID:              "flyball-manager", // the chart has a Lease of this name
		LeaderElectionNamespace:       opts.Namespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &opts.ShutdownTimeout,
	})
	if err != nil {
		return fmt.Errorf("set up the manager: %w", err)
	}
	w := world.New(world.Scope(opts.Namespace, clusterScoped(mgr.GetRESTMapper())), world.AuthorsAsked(opts.Webhook.Enabled),
		world.Settles(opts.DryRun))
	server, err := addAll(mgr, config, opts, w, listings)
	if err != nil {
		return err
	}
	if server != nil {
		ctx = server.Drained(ctx)
	}
	if err := mgr.AddReadyzCheck("kinds", listings.Ready); err != nil {
		return fmt.Errorf("set up the readiness check of kinds: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("set up the health check: %w", err)
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return nil
}

// addAll adds everything that runs in the manager. It returns the webhook's server, or nil if the webhook is disabled.
func addAll(mgr ctrl.Manager, config *rest.Config, opts Options, w *world.World, listings *status.Listings) (*serve.Server, error) {
	log := opts.Log.WithName("engine")
	rates, err := opts.Savings.rates()
	if err != nil {
		return nil, err
	}
	m, err := NewMetrics(opts.Registry, w, listings, opts.Clock, rates, opts.DryRun)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	dry, err := opts.dryRun(config)
	if err != nil {
		return nil, err
	}
	pods, err := memberOptions(mgr, config, w, dry, log)
	if err != nil {
		return nil, err
	}
	messages, err := addNotifications(mgr, opts, w)
	if err != nil {
		return nil, err
	}
	tracker := status.NewTracker(w, opts.Clock, m.status)
	server, enforcement, err := addWebhook(mgr, config, opts, w, tracker, pods, messages)
	if err != nil {
		return nil, err
	}
	return server, addEngine(mgr, base{config: config, opts: opts, dry: dry, world: w, listings: listings, metrics: m,
		enforcement: enforcement, tracker: tracker,
		recorder: status.CutNotes(messages.Tap(mgr.GetEventRecorder("flyball")), opts.mark()), log: log}, pods)
}

// clusterScoped returns a function that reports whether a kind is cluster-scoped. A kind that is not served counts as
// namespaced.
func clusterScoped(mapper meta.RESTMapper) func(schema.GroupKind) bool {
	return func(gk schema.GroupKind) bool {
		mapping, err := mapper.RESTMapping(gk)
		return err == nil && mapping.Scope.Name() == meta.RESTScopeNameRoot
	}
}
