package main

import (
	"fmt"
	"runtime"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/harness"
)

// scheduledPairs are the labels of the namespaces that the schedule selects.
var scheduledPairs = workload.Pairs{{Key: scheduledLabel, Value: "true"}}

// compilePolicy compiles a schedule as the manager does.
func compilePolicy(c *v1alpha1.ClusterSchedule) (*policy.Policy, error) {
	p, errs := schedule.CompileCluster(c, schedule.Context{Scope: world.Scope(harness.Namespace, nil)})
	if len(errs) > 0 {
		return nil, fmt.Errorf("compile the schedule %s: %w", c.Name, errs.ToAggregate())
	}
	return p, nil
}

// decide runs the engine's steps from one observed object to its patch, without the engine's indexes and locks: select,
// observe, run the pipelines, merge, render.
func decide(policies []*policy.Policy, a *adapter.Adapter, obj *workload.Object, namespace workload.Pairs, now time.Time) (adapter.Result,
	error) {
	in := pipeline.Input{Now: now, Target: a.Observe(obj)}
	in.Target.Ref = workload.Ref{GroupKind: a.GroupKind(), Namespace: obj.Namespace, Name: obj.Name}
	intents := make([]workload.Intent, 0, len(policies))
	for _, p := range policies {
		if !p.Target.Matches(a.GroupKind(), obj, namespace) {
			continue
		}
		d, err := p.Pipeline.Run(&in, nil)
		if err != nil {
			return adapter.Result{}, fmt.Errorf("decide for %s under %s: %w", in.Target.Ref, p.ID, err)
		}
		intents = append(intents, d.Intents...)
	}
	plan, _ := pipeline.Merge(intents...)
	return a.Render(obj, plan)
}

// collect collects earlier garbage, so that it does not affect the next measurement.
func collect() {
	runtime.GC()
	runtime.GC()
}
