package app

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/controller/adapters"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/pods"
	"flyball.dev/flyball/engine/pods/cost"
	"flyball.dev/flyball/engine/reconcile"
	"flyball.dev/flyball/engine/reconcile/gate"
	"flyball.dev/flyball/engine/tuning"
	"flyball.dev/flyball/engine/tuning/measure"
	"flyball.dev/flyball/engine/tuning/resize"
	"flyball.dev/flyball/engine/tuning/rollout"
	"flyball.dev/flyball/engine/workload"
)

// measureTime is the time limit of one measurement.
const measureTime = 15 * time.Second

// actuators returns the components that act on the pods and requests of targets, and the gates that they add to the gates of
// a write.
func (b base) actuators(o pods.Options, queue *reconcile.Queue, metadatas metadata.Interface, writer *apply.Writer,
	finalizers *adapters.Finalizers) (reconcile.Actuators, []gate.Gate, error) {
	fault := b.metrics.target.CountFault
	members := pods.New(o)
	budgets := rollout.NewBudgets(rollout.BudgetOptions{Watches: o.Watches, Members: members, Pods: metadatas, Again: queue.Add,
		Log: o.Log})
	rollouts := rollout.New(b.world, queue, members, budgets, b.opts.Clock)
	costs := cost.New(b.world, members, writer, cost.Callbacks{Requeue: queue.Add, Dirty: b.tracker.Dirty, Fault: fault}, finalizers,
		b.metrics.cost, b.log)
	client, err := discovery.NewDiscoveryClientForConfig(b.config)
	if err != nil {
		return nil, nil, fmt.Errorf("set up changes of pods in place: %w", err)
	}
	server := &resizing{client: client, clock: clock.RealClock{}}
	resizes := resize.New(b.world, members, writer, finalizers, b.metrics.resize, resize.Options{
		Server: server.options, Turns: rollouts, Requeue: queue.Add, Fault: fault, Kept: b.tellKept, Clock: b.opts.Clock, Log: b.log})
	tuned, err := b.tuning(members, resizes, rollouts, queue, budgets, &tuning.Nodes{Watches: o.Watches})
	if err != nil {
		return nil, nil, err
	}
	asked, err := b.idle(queue)
	return reconcile.Actuators{costs, resizes, tuned, asked}, []gate.Gate{rollouts}, err
}

// tellKept sends an event about a pod that keeps requests of Flyball.
func (b base) tellKept(p *workload.Pod, why string) {
	pod := &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.UID)}
	b.recorder.Eventf(pod, nil, corev1.EventTypeWarning, "RequestsKept", "GiveBack",
		"no policy asks for the requests that Flyball gave it, and it keeps them until it is replaced: %s", why)
}

// tuning returns the loop that learns from pod usage.
func (b base) tuning(members *pods.Members, resizes *resize.Actuator, rollouts *rollout.Gate, queue *reconcile.Queue,
	budgets *rollout.Budgets, nodes *tuning.Nodes) (*tuning.Actuator, error) {
	meter, err := measure.NewMetrics(b.config, measureTime)
	if err != nil {
		return nil, err
	}
	verticals, err := measure.NewVerticals(b.config, measureTime)
	if err != nil {
		return nil, err
	}
	server, err := b.opts.Prometheus.recorder()
	if err != nil {
		return nil, err
	}
	uncached, err := client.New(b.config, client.Options{Scheme: Scheme()})
	if err != nil {
		return nil, fmt.Errorf("make the client of usage checkpoints: %w", err)
	}
	store := &tuning.Store{Client: uncached, Kinds: func(ref workload.Ref) *decide.Kind { return b.world.Snapshot().Kind(ref.GroupKind) }}
	return tuning.New(b.world, members, resizes, rollouts, meter, store,
		tuning.Callbacks{Requeue: queue.Add, Dirty: b.tracker.Dirty, Fault: b.metrics.target.CountFault},
		b.metrics.tuning, tuning.Options{Clock: b.opts.Clock, PodClock: b.opts.PodClock,
			NoNewPods: !b.opts.Webhook.Enabled || !b.opts.Webhook.Pods, Resolution: b.opts.UsageResolution,
			Recorder: server, Verticals: verticals, Budgets: budgets, Nodes: nodes,
			Refusals: tuning.RefusalReader{Client: uncached, Clock: clock.RealClock{}}, Events: b.recorder, Log: b.log}), nil
}
