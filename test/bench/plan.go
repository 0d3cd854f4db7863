package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/cmd/kubectl-flyball/plan"
	planned "flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/harness"
)

// planDays is the length of the plan.
const planDays = 7

// planning measures a plan of a week over many targets: its processor time, and the heap at its end, while all results are
// still in use.
func (b *bench) planning(ctx context.Context) error {
	w, err := planWorld(b.plannedTargets)
	if err != nil {
		return err
	}
	from := nightOf(0).dusk.Add(-8 * time.Hour)
	var seconds, heaps []float64
	var made *plan.Plan
	for b.again(b.planRounds, seconds) {
		collect()
		before, peak := cpuSeconds(), watchHeap()
		made, err = plan.Make(ctx, w, plan.Input{From: from, To: from.AddDate(0, 0, planDays), Zone: time.UTC})
		heaps = append(heaps, float64(peak())/(1<<20))
		if err != nil {
			return err
		}
		seconds = append(seconds, cpuSeconds()-before)
	}
	b.report.rounds("plan_seconds_2000", seconds)
	b.report.rounds("plan_heap_mb_2000", heaps)
	b.report.figure("plan_seconds_2000", median(seconds), "s")
	b.report.figure("plan_heap_mb_2000", median(heaps), "MB")
	b.report.figure("plan_changes_2000", float64(len(made.Changes)), "changes")
	return nil
}

// watchHeap samples the heap until peak is called, which returns the maximum in bytes.
func watchHeap() (peak func() uint64) {
	stop, result := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-stop:
				result <- most
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(stop); return <-result }
}

// planWorld returns a world with n Deployments, 50 in each namespace, under two cluster schedules. One of the schedules
// wakes some targets earlier.
func planWorld(n int) (*planned.World, error) {
	library, err := adapters.All()
	if err != nil {
		return nil, err
	}
	w := &planned.World{Lists: world.Lists{Scope: world.Scope(harness.Namespace, nil)}}
	for i := range library {
		w.Adapters = append(w.Adapters, &library[i])
	}
	early := nightly("early")
	early.Spec.Upscale, early.Spec.Priority = "0 6 * * 1-5", 10
	early.Spec.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}
	for _, p := range []*v1alpha1.ClusterSchedule{nightly("nights"), early} {
		p.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ClusterSchedule"))
		w.Policies = append(w.Policies, policy.Object(p))
	}
	s := &stage{sizes: sizes{perNamespace: 50}}
	for i := range n {
		d := s.deployment(i)
		d.APIVersion, d.Kind = "apps/v1", "Deployment"
		d.ResourceVersion, d.UID = "1", "u"
		raw, err := json.Marshal(d)
		if err != nil {
			return nil, fmt.Errorf("encode a Deployment: %w", err)
		}
		w.Objects = append(w.Objects, raw)
		if i%s.perNamespace == 0 {
			w.Namespaces = append(w.Namespaces, &workload.Object{Name: d.Namespace, Labels: scheduledPairs})
		}
	}
	return w, nil
}
