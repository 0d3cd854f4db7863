package app

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/controller/adapters"
	"flyball.dev/flyball/engine/controller/calendars"
	"flyball.dev/flyball/engine/controller/feed"
	"flyball.dev/flyball/engine/controller/freezes"
	"flyball.dev/flyball/engine/controller/notifications"
	"flyball.dev/flyball/engine/controller/policies"
	"flyball.dev/flyball/engine/pods"
	"flyball.dev/flyball/engine/pods/cost"
	"flyball.dev/flyball/engine/pods/resize"
	"flyball.dev/flyball/engine/pods/rooms"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/target"
	"flyball.dev/flyball/engine/template"
	"flyball.dev/flyball/engine/tuning"
	"flyball.dev/flyball/engine/world"
)

// engine runs the loops of the leader.
type engine struct {
	world    *world.World
	adapters *adapters.Controller
	loop     *target.Loop
	costs    *cost.Loop
	resized  *resize.Loop
	tuned    *tuning.Loop
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
	var wg sync.WaitGroup
	wg.Go(func() { e.costs.Run(ctx) })
	wg.Go(func() { e.resized.Run(ctx) })
	wg.Go(func() { e.tuned.Run(ctx) })
	e.loop.Run(ctx)
	wg.Wait()
	return nil
}

// addEngine adds the world's feeds, the loops that work on targets, and the controllers of Flyball's own kinds.
func addEngine(mgr ctrl.Manager, config *rest.Config, opts Options, w *world.World, listings *status.Listings,
	enforcement *freezes.Enforcement, pods pods.Options, messages *notifications.Controller) error {
	log := opts.Log.WithName("engine")
	cached, recorder := mgr.GetClient(), status.CutNotes(messages.Tap(mgr.GetEventRecorder("flyball")))
	rates, err := opts.Savings.rates()
	if err != nil {
		return err
	}
	m, err := NewMetrics(opts.Registry, w, listings, opts.Clock, rates)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	writer, err := apply.NewWriter(config)
	if err != nil {
		return err
	}
	writer.Log = log
	objects, err := apply.NewTemplates(config)
	if err != nil {
		return err
	}
	statuses := status.NewWriter(w, cached, recorder, m.status, status.Options{Clock: opts.Clock, Enforcement: enforcement, Log: log})
	enforcement.Dirty = statuses.Dirty
	templates := template.NewKeeper(w, objects, m.target, recorder, log, target.ErrSoon)
	metadatas, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make the client for metadata: %w", err)
	}
	policies := &policies.Controllers{World: w, Client: cached, Remover: templates, Objects: metadatas, Delay: statuses.Book.Delay}
	adapters, err := adapters.New(m.adapter, adapters.Options{
		Config: config, Client: cached, World: w, Health: statuses.Health, Listings: listings, Clock: opts.Clock,
		Log:           log,
		PolicyEmptied: policies.Request, PolicyDirty: statuses.Dirty, Forget: m.target.ForgetAdapter, Recorder: recorder,
	})
	if err != nil {
		return err
	}
	loop := target.New(w, writer, apply.NewBatches(statuses.RecordBatch), statuses, templates, adapters, m.target,
		target.Options{Clock: opts.Clock, Workers: opts.Workers, Log: log, Savings: m.savings})
	adapters.Drive(loop)
	belonging, budgets := newMembers(pods, metadatas, loop)
	costs := newCosts(belonging, w, writer, loop, statuses, adapters, m.cost, log)
	resized, err := newResizes(belonging, config, opts, w, writer, loop, adapters, recorder, m.resize, log)
	if err != nil {
		return err
	}
	adapters.FollowPods(func(gk schema.GroupKind) int { return costs.CostedOn(gk) + resized.ResizedOn(gk) })
	tuned, err := newTuning(belonging, &rooms.Nodes{Watches: pods.Watches}, budgets, resized, config, opts, w, loop, statuses, recorder,
		m.tuning, log)
	if err != nil {
		return err
	}
	policies.Started = loop.Started
	policies.Leftover = func(p *world.Policy) string { return cmp.Or(costs.Leftover(p), resized.Leftover(p)) }
	if err := addControllers(mgr, config, opts, w, policies, adapters, loop); err != nil {
		return err
	}
	own := own{objects: mgr.GetAPIReader(), world: w, namespace: opts.Namespace, pod: opts.Pod, log: log}
	return mgr.Add(&engine{world: w, adapters: adapters, loop: loop, costs: costs, resized: resized, tuned: tuned, own: own, log: log})
}

// addControllers adds the feed that puts objects of Flyball's own kinds into the world, and the controllers of their
// statuses and finalizers.
func addControllers(mgr ctrl.Manager, config *rest.Config, opts Options, w *world.World, policies *policies.Controllers,
	adapters *adapters.Controller, loop *target.Loop) error {
	log, cached := opts.Log.WithName("engine"), mgr.GetClient()
	inbound, err := feed.New(config, mgr.GetCache(), mgr.GetAPIReader(), w, loop.NamespaceChanged, log)
	if err != nil {
		return err
	}
	if err := mgr.Add(inbound); err != nil {
		return fmt.Errorf("set up the engine: %w", err)
	}
	if err := mgr.Add(&freezes.Exceptions{World: w, Client: cached, Clock: opts.Clock, Log: log}); err != nil {
		return fmt.Errorf("set up the status of exceptions: %w", err)
	}
	calendars := &calendars.Controller{World: w, Client: cached, Clock: opts.Clock}
	for _, setUp := range []func(ctrl.Manager) error{policies.SetupWithManager, adapters.SetupWithManager, calendars.SetupWithManager} {
		if err := setUp(mgr); err != nil {
			return err
		}
	}
	return nil
}
