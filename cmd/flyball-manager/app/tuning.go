package app

import (
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/pods"
	"flyball.dev/flyball/engine/pods/disruption"
	"flyball.dev/flyball/engine/pods/resize"
	"flyball.dev/flyball/engine/pods/rooms"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/target"
	"flyball.dev/flyball/engine/tuning"
	"flyball.dev/flyball/engine/tuning/measure"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// measureTime is the time limit of one measurement.
const measureTime = 15 * time.Second

// newTuning returns the loop that learns from pod usage, connected to the target loop and the status writer.
func newTuning(belonging *pods.Members, nodes *rooms.Nodes, budgets *disruption.Budgets, resized *resize.Loop, config *rest.Config,
	opts Options, w *world.World, loop *target.Loop, statuses *status.Writer, recorder events.EventRecorder,
	m *tuning.Metrics, log logr.Logger,
) (*tuning.Loop, error) {
	meter, err := measure.NewMetrics(config, measureTime)
	if err != nil {
		return nil, err
	}
	verticals, err := measure.NewVerticals(config, measureTime)
	if err != nil {
		return nil, err
	}
	server, err := opts.Prometheus.server()
	if err != nil {
		return nil, err
	}
	uncached, err := client.New(config, client.Options{Scheme: Scheme()})
	if err != nil {
		return nil, fmt.Errorf("make the client of usage checkpoints: %w", err)
	}
	store := &tuning.Store{Client: uncached, Kinds: func(ref workload.Ref) *decide.Kind { return w.Snapshot().Kind(ref.GroupKind) }}
	tuned := tuning.New(w, belonging, resized, meter, store,
		tuning.Callbacks{Requeue: loop.Queue, Dirty: statuses.Dirty, Waiting: loop.Waiting, Held: loop.Held, Rollouts: loop.Rollouts,
			Fault: loop.CountFault}, m,
		tuning.Options{Clock: opts.Clock, NoNewPods: !opts.Webhook.Enabled || !opts.Webhook.Pods, Resolution: opts.UsageResolution,
			Recorder: server, Verticals: verticals, Budgets: budgets, Nodes: nodes,
			Refusals: tuning.RefusalReader{Client: uncached, Clock: clock.RealClock{}}, Events: recorder, Log: log})
	loop.FollowTuned(tuned)
	statuses.FollowTuned(tuned)
	return tuned, nil
}
