package app

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/controller"
	"flyball.dev/flyball/engine/controller/adapters"
	"flyball.dev/flyball/engine/controller/freezes"
	"flyball.dev/flyball/engine/pods"
	"flyball.dev/flyball/engine/reconcile"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/world"
)

// engine runs the loop of the leader.
type engine struct {
	world    *world.World
	adapters *adapters.Controller
	loop     *reconcile.Loop
	own      own
	log      logr.Logger
}

// Start works on targets until the context ends, and returns after the writes in flight have finished. It loads the
// whole world before the first target. Otherwise a target would be woken if its policy had not been loaded yet.
func (e *engine) Start(ctx context.Context) error {
	defer e.adapters.Close()
	defer e.loop.Stop()
	select {
	case <-ctx.Done():
		return nil
	case <-e.world.Loaded():
	}
	e.own.exclude(ctx)
	if err := e.adapters.Settle(ctx); err != nil {
		return err
	}
	snapshot := e.world.Snapshot()
	e.log.Info("Ready to work on targets", "kinds", len(snapshot.Kinds()), "policies", snapshot.PolicyCount())
	e.loop.Run(ctx)
	return nil
}

// base has the parts that the components of an engine share. Each later component gets those before it.
type base struct {
	config *rest.Config
	opts   Options
	// dry keeps the writes of a dry run; nil: they are sent.
	dry         *apply.DryRun
	world       *world.World
	listings    *status.Listings
	metrics     *Metrics
	enforcement *freezes.Enforcement
	tracker     *status.Tracker
	recorder    events.EventRecorder
	log         logr.Logger
}

// addEngine adds the loop that works on targets, and the controllers of Flyball's own kinds. Components are made in the
// order of their dependencies: the queue of targets, the actuators, the adapters, the statuses, the loop.
func addEngine(mgr ctrl.Manager, b base, pods pods.Options) error {
	w, cached, m, clock, log := b.world, mgr.GetClient(), b.metrics, b.opts.Clock, b.log
	writer, err := apply.NewWriter(b.config, b.dry, log)
	if err != nil {
		return err
	}
	objects, err := apply.NewTemplates(b.config, b.opts.DryRun)
	if err != nil {
		return err
	}
	metadatas, err := metadata.NewForConfig(b.config)
	if err != nil {
		return fmt.Errorf("make the client for metadata: %w", err)
	}
	queue, finalizers := reconcile.NewQueue(w, b.tracker, clock), adapters.NewFinalizers(cached)
	actuators, gates, err := b.actuators(pods, queue, metadatas, writer, finalizers)
	if err != nil {
		return err
	}
	templates := reconcile.NewTemplateKeeper(w, objects, m.target, b.recorder, log)
	policies := &controller.Policies{World: w, Client: cached, Clock: clock, Remover: templates, Objects: metadatas, Started: queue.Started,
		Leftover: actuators.Leftover, Delay: b.tracker.Delay}
	health := status.NewAdapterHealth()
	adapters, err := adapters.New(m.adapter, adapters.Options{
		Finalizers: finalizers, Targets: queue, ChangedOn: actuators.ChangedOn, Config: b.config, DryRun: b.dry, Client: cached,
		World: w, Health: health, Listings: b.listings, Clock: clock, Log: log, PolicyEmptied: policies.Request,
		PolicyDirty: b.tracker.Dirty, Forget: m.target.ForgetAdapter, Recorder: b.recorder,
	})
	if err != nil {
		return err
	}
	statuses := status.NewWriter(status.Options{World: w, Tracker: b.tracker, Health: health, Targets: queue, Actuators: actuators,
		Client: cached, Recorder: b.recorder, Metrics: m.status, Clock: clock, Enforcement: b.enforcement, DryRun: b.opts.DryRun,
		Log: log})
	loop := reconcile.New(reconcile.Options{World: w, Queue: queue, Actuators: actuators, Gates: gates, Writer: writer,
		Batches: apply.NewBatches(statuses.RecordBatch), Tracker: b.tracker, Status: statuses, Templates: templates, Keeper: adapters,
		Metrics: m.target, Savings: m.savings, Clock: clock, Workers: b.opts.Workers, Log: log})
	if err := b.addControllers(mgr, policies, adapters, loop); err != nil {
		return err
	}
	own := own{objects: mgr.GetAPIReader(), world: w, namespace: b.opts.Namespace, pod: b.opts.Pod, log: log}
	return mgr.Add(&engine{world: w, adapters: adapters, loop: loop, own: own, log: log})
}

// addControllers adds the feed that puts objects of Flyball's own kinds into the world, and the controllers of their
// statuses and finalizers.
func (b base) addControllers(mgr ctrl.Manager, finalizers *controller.Policies, adapters *adapters.Controller, loop *reconcile.Loop,
) error {
	cached, clock := mgr.GetClient(), b.opts.Clock
	inbound, err := controller.NewFeed(b.config, mgr.GetCache(), mgr.GetAPIReader(), b.world, loop.NamespaceChanged, b.log)
	if err != nil {
		return err
	}
	if err := mgr.Add(inbound); err != nil {
		return fmt.Errorf("set up the engine: %w", err)
	}
	if err := mgr.Add(&freezes.Exceptions{World: b.world, Client: cached, Clock: clock, Log: b.log}); err != nil {
		return fmt.Errorf("set up the status of exceptions: %w", err)
	}
	calendars := &controller.Calendars{World: b.world, Client: cached, Clock: clock}
	for _, setUp := range []func(ctrl.Manager) error{finalizers.SetupWithManager, adapters.SetupWithManager, calendars.SetupWithManager} {
		if err := setUp(mgr); err != nil {
			return err
		}
	}
	return nil
}
