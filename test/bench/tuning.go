package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/usage"
	"flyball.dev/flyball/test/bench/tortoise"
)

// usageTargets is how many targets are kept in memory, each of two containers with as much history as they can have.
const usageTargets = 2000

// usageHeap measures what is kept of the usage of targets.
func (b *bench) usageHeap(context.Context) error {
	history := fullHistory().Marshal()
	before := heapInUse()
	all := make([]*usage.Target, usageTargets)
	for i := range all {
		var err error
		if all[i], err = usage.Unmarshal(history); err != nil {
			return err
		}
	}
	used := heapInUse() - before
	runtime.KeepAlive(all)
	b.report.say("a history of two containers is %d bytes in a checkpoint", len(history))
	b.report.figure("usage_heap_mb_2000", used/1e6, "MB")
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

// fullHistory has five weeks of samples that fill every bucket there is.
func fullHistory() *usage.Target {
	r, t := rand.New(rand.NewPCG(1, 2)), &usage.Target{}
	start := time.Date(2037, 1, 5, 0, 0, 0, 0, time.UTC)
	for i := range 5 * 7 * 24 * 12 {
		for _, name := range []string{"app", "proxy"} {
			t.Add(usage.Sample{At: start.Add(time.Duration(i) * 5 * time.Minute), Container: name, CPU: math.Exp(10 * r.Float64()), Memory: math.Exp(14 + 8*r.Float64()), Replicas: 1 + r.IntN(9)})
		}
	}
	return t
}

// quickDays and quickSeeds are the size of the offline benchmark of tuning here; make bench-tortoise runs all of it.
const quickDays, quickSeeds = 18, 2

// tuningFigures are those of the offline benchmark.
var tuningFigures = func() []string {
	var names []string
	for _, f := range tortoise.Figures(nil) {
		names = append(names, f.Name)
	}
	return names
}()

// tuning runs a quick form of the offline benchmark.
func (b *bench) tuning(ctx context.Context) error {
	results, err := tortoise.Run(ctx, tortoise.Options{Seeds: tortoise.ReportingSeeds[:quickSeeds], Contenders: tortoise.Judged, Days: quickDays})
	if err != nil {
		return fmt.Errorf("tune: %w", err)
	}
	for _, f := range tortoise.Figures(results) {
		b.report.figure(f.Name, f.Value, f.Unit)
	}
	for _, g := range tortoise.Gates(results) {
		b.report.say("gate %s of the quick form holds: %t: %s", g.Name, g.Holds, g.Text)
	}
	return nil
}
