package app

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"flyball.dev/flyball/engine/apply"
	adaptercontroller "flyball.dev/flyball/engine/controller/adapter"
	"flyball.dev/flyball/engine/controller/calendar"
	"flyball.dev/flyball/engine/controller/feed"
	freezecontroller "flyball.dev/flyball/engine/controller/freeze"
	policycontroller "flyball.dev/flyball/engine/controller/policy"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/target"
	"flyball.dev/flyball/engine/template"
	"flyball.dev/flyball/engine/world"
)

// Metrics are all metrics of the engine.
type Metrics struct {
	status  *status.Metrics
	target  *target.Metrics
	adapter *adaptercontroller.Metrics
}

// NewMetrics makes the metrics of an engine and registers them.
func NewMetrics(r prometheus.Registerer, w *world.World) (*Metrics, error) {
	var m Metrics
	var err error
	if m.status, err = status.NewMetrics(r); err != nil {
		return nil, err
	}
	if m.target, err = target.NewMetrics(r); err != nil {
		return nil, err
	}
	if m.adapter, err = adaptercontroller.NewMetrics(r, w); err != nil {
		return nil, err
	}
	return &m, nil
}

// engine works on targets, on the leader.
type engine struct {
	world    *world.World
	adapters *adaptercontroller.Controller
	loop     *target.Loop
	log      logr.Logger
}

// NeedLeaderElection says that only one replica works on targets.
func (e *engine) NeedLeaderElection() bool { return true }

// Start works until the context ends; a write in flight is then finished before it returns. Everything is looked at once
// before any target is worked on: a target whose policy is not known yet would be woken.
func (e *engine) Start(ctx context.Context) error {
	defer e.adapters.Close()
	defer e.loop.Stop()
	select {
	case <-ctx.Done():
		return nil
	case <-e.world.Loaded():
	}
	if err := e.adapters.Settle(ctx); err != nil {
		return err
	}
	snapshot := e.world.Snapshot()
	e.log.Info("ready", "kinds", len(snapshot.Kinds()), "policies", snapshot.PolicyCount())
	e.loop.Run(ctx)
	return nil
}

// addEngine adds what keeps the world up to date, what works on targets, and the controllers of Flyball's own kinds.
func addEngine(mgr ctrl.Manager, config *rest.Config, opts Options, w *world.World) error {
	log := opts.Log.WithName("engine")
	cached, recorder := mgr.GetClient(), mgr.GetEventRecorder("flyball")
	if opts.Registry == nil {
		opts.Registry = metrics.Registry
	}
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	m, err := NewMetrics(opts.Registry, w)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	writer, err := apply.NewWriter(config)
	if err != nil {
		return err
	}
	objects, err := apply.NewTemplates(config)
	if err != nil {
		return err
	}
	statuses := status.NewWriter(w, cached, recorder, m.status, status.Options{Clock: opts.Clock, Log: log})
	templates := template.NewKeeper(w, objects, m.target, recorder, log, target.ErrSoon)
	policies := &policycontroller.Controllers{World: w, Client: cached, Remover: templates, Delay: statuses.Book.Delay}
	adapters, err := adaptercontroller.New(m.adapter, adaptercontroller.Options{
		Config: config, Client: cached, World: w, Health: statuses.Health, Clock: opts.Clock, Log: log,
		PolicyEmptied: policies.Request, PolicyDirty: statuses.Dirty, Forget: m.target.ForgetAdapter,
	})
	if err != nil {
		return err
	}
	loop := target.New(w, writer, apply.NewBatches(statuses.RecordBatch), statuses, templates, adapters, m.target,
		target.Options{Clock: opts.Clock, Workers: opts.Workers, Log: log})
	adapters.Drive(loop)
	policies.Started = loop.Started

	inbound, err := feed.New(config, mgr.GetCache(), w, loop.NamespaceChanged, log)
	if err != nil {
		return err
	}
	if err := mgr.Add(inbound); err != nil {
		return fmt.Errorf("set up the engine: %w", err)
	}
	if err := mgr.Add(&freezecontroller.Exceptions{World: w, Client: cached, Clock: opts.Clock, Log: log}); err != nil {
		return fmt.Errorf("set up the status of exceptions: %w", err)
	}
	calendars := &calendar.Controller{World: w, Client: cached, Clock: opts.Clock}
	for _, setUp := range []func(ctrl.Manager) error{policies.SetupWithManager, adapters.SetupWithManager, calendars.SetupWithManager} {
		if err := setUp(mgr); err != nil {
			return err
		}
	}
	return mgr.Add(&engine{world: w, adapters: adapters, loop: loop, log: log})
}
