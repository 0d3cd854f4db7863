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
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/controller/freezes"
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

// CacheOptions returns the options of the cache of Flyball's own objects. The cache drops managedFields: the manager
// does not read them, and they are larger than the rest of the object. A patch made from a cached object does not
// mention managedFields, and an update without managedFields leaves them as they are. listings records the outcome of
// lists.
func CacheOptions(listings *status.Listings) cache.Options {
	return cache.Options{NewInformer: informers{listings}.make, DefaultTransform: cache.TransformStripManagedFields()}
}

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
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        Scheme(),
		Logger:                        opts.Log,
		Cache:                         CacheOptions(listings),
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
	w := world.New(world.Scope(opts.Namespace, clusterScoped(mgr.GetRESTMapper())))
	if opts.Webhook.Enabled {
		w.AuthorsAreAsked()
	}
	enforcement := &freezes.Enforcement{World: w, Client: mgr.GetClient(), Clock: opts.Clock, Log: opts.Log.WithName("freezes")}
	pods, err := memberOptions(mgr, config, w, opts.Log.WithName("engine"))
	if err != nil {
		return err
	}
	messages, err := addNotifications(mgr, opts, w)
	if err != nil {
		return err
	}
	if err := addEngine(mgr, config, opts, w, listings, enforcement, pods, messages); err != nil {
		return err
	}
	server, err := addWebhook(mgr, config, opts, w, enforcement, pods, messages)
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

// clusterScoped returns a function that reports whether a kind is cluster-scoped. A kind that is not served counts as
// namespaced.
func clusterScoped(mapper meta.RESTMapper) func(schema.GroupKind) bool {
	return func(gk schema.GroupKind) bool {
		mapping, err := mapper.RESTMapping(gk)
		return err == nil && mapping.Scope.Name() == meta.RESTScopeNameRoot
	}
}
