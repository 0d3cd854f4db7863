package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	policytortoise "flyball.dev/flyball/engine/policy/tortoise"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/bench/tortoise"
)

// usageHeap measures the memory for tuned targets: for the learnt usage, and for the last decision.
func (b *bench) usageHeap(ctx context.Context) error {
	tuner, errs := policytortoise.NewTuner(v1alpha1.TortoiseRules{Mode: v1alpha1.TortoiseAuto})
	if len(errs) > 0 {
		return errs.ToAggregate()
	}
	full, err := tuner.NewLearner(nil)
	if err != nil {
		return err
	}
	end := fill(full)
	history := full.Keep()
	type tuned struct {
		learner policy.Learner
		found   policy.Found
	}
	before := heapInUse()
	all := make([]tuned, b.usageTargets)
	for i := range all {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if all[i].learner, err = tuner.NewLearner(history); err != nil {
			return err
		}
		for minute := range 3 { // until it works and has a complete report
			all[i].found = all[i].learner.Decide(filled(end.Add(time.Duration(minute) * time.Minute)))
		}
	}
	used := heapInUse() - before
	runtime.KeepAlive(all)
	b.report.say("%s of two containers: %d bytes in a checkpoint, phase %s", workload.Count(b.usageTargets, "target"), len(history),
		all[0].found.Report.Phase)
	b.report.figure("usage_heap_mb_2000", used/1e6*2000/float64(b.usageTargets), "MB")
	b.report.figure("usage_checkpoint_bytes", float64(len(history)), "bytes")
	return nil
}

func heapInUse() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// fill gives a learner eleven days of samples, which fill all of its buckets. It returns the last instant.
func fill(m policy.Learner) time.Time {
	r := rand.New(rand.NewPCG(1, 2))
	at := time.Date(2037, 1, 5, 0, 0, 0, 0, time.UTC)
	for range 11 * 24 * 60 {
		for _, name := range []string{"app", "proxy"} {
			m.Observe(workload.Sample{At: at, Container: name, CPU: math.Exp(10 * r.Float64()), Memory: math.Exp(14 + 8*r.Float64()), Replicas: 1 +
				r.IntN(9)})
		}
		at = at.Add(time.Minute)
	}
	return at
}

// filled returns the observation of the workload that fill uses.
func filled(at time.Time) policy.Seen {
	low, top := int64(3), int64(20)
	return policy.Seen{
		Now: at, Replicas: 5, Ready: 5,
		Own: workload.Allocations{
			{Component: "app", Requests: workload.Requests{MilliCPU: 1000, MemoryBytes: 1 << 30}},
			{Component: "proxy", Requests: workload.Requests{MilliCPU: 100, MemoryBytes: 128 << 20}},
		},
		Autoscaler: &policy.SeenAutoscaler{
			Ref: workload.Ref{Namespace: "shop", Name: "web"}, Bounds: workload.Bounds{Min: &low, Max: &top},
			Utilisation: []workload.Utilisation{{Resource: workload.CPU, Percent: 70}},
		},
	}
}

const synthetic = "synthetic"

// tuningFigures are the figures of the offline benchmark.
var tuningFigures = func() []string {
	var names []string
	for _, f := range tortoise.Promises(synthetic) {
		names = append(names, f.Name)
	}
	return names
}()

// tuning runs the offline benchmark with the contenders that its figures compare.
func (b *bench) tuning(ctx context.Context) error {
	results, err := tortoise.Run(ctx, tortoise.Options{Seeds: b.tuningSeeds, Contenders: tortoise.Judged, Days: b.tuningDays})
	if err != nil {
		return fmt.Errorf("tune: %w", err)
	}
	for _, f := range tortoise.Figures(synthetic, results) {
		b.report.figure(f.Name, f.Value, f.Unit)
	}
	return nil
}
