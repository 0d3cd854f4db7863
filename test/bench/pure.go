package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// pure measures the parts that use neither a client nor a clock.
func (b *bench) pure(ctx context.Context) error {
	d, err := newDecision()
	if err != nil {
		return err
	}
	transition, settled := func(t *testing.B) { d.benchmark(t, d.awake) }, func(t *testing.B) { d.benchmark(t, d.asleep) }
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return fmt.Errorf("load the time zone: %w", err)
	}
	line, errs := timeline.Pair("0 8 * * 1-5", "0 20 * * 1-5", loc, nil)
	if len(errs) > 0 {
		return fmt.Errorf("compile a cron pair: %w", errs.ToAggregate())
	}
	next := func(t *testing.B) { benchmarkNext(t, line) }
	rounds := map[string][]float64{}
	for b.again(b.pureRounds, rounds["decide_ns"], rounds["timeline_next_ns"]) {
		for name, run := range map[string]func(*testing.B){"decide_ns": transition, "decide_ns with nothing to change": settled,
			"timeline_next_ns": next} {
			r := testing.Benchmark(run)
			if r.N == 0 {
				return fmt.Errorf("the benchmark of %s failed", name)
			}
			rounds[name] = append(rounds[name], r.Extra[processorTime])
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	for _, name := range []string{"decide_ns", "decide_ns with nothing to change", "timeline_next_ns"} {
		b.report.rounds(name, rounds[name])
	}
	b.report.figure("decide_ns", median(rounds["decide_ns"]), "ns")
	b.report.figure("timeline_next_ns", median(rounds["timeline_next_ns"]), "ns")
	return nil
}

// decision is one target at an instant. Ten schedules select the target, and disagree at this instant.
type decision struct {
	policies []*policy.Policy
	adapter  *adapter.Adapter
	now      time.Time
	// awake is the object before it is put to sleep. asleep is the same object afterwards.
	awake, asleep *workload.Object
}

func newDecision() (*decision, error) {
	d := &decision{now: nightOf(0).dusk.Add(2 * time.Hour)}
	var err error
	if d.adapter, err = compileAdapter(); err != nil {
		return nil, err
	}
	for i := range 10 {
		c := nightly(fmt.Sprint("nights-", i))
		c.Spec.Priority = int32(i / 2)
		c.Spec.TimeZone = []string{"UTC", zone, "America/New_York", "Asia/Kolkata", "Europe/London"}[i%5]
		c.Spec.Downscale = fmt.Sprintf("%d 20 * * 1-5", i)
		p, err := compilePolicy(c)
		if err != nil {
			return nil, err
		}
		d.policies = append(d.policies, p)
	}
	raw, err := json.Marshal((&stage{sizes: sizes{perNamespace: 1}}).deployment(4))
	if err != nil {
		return nil, fmt.Errorf("encode a Deployment: %w", err)
	}
	if d.awake, err = d.adapter.Project(raw); err != nil {
		return nil, err
	}
	result, err := decide(d.policies, d.adapter, d.awake, scheduledPairs, d.now)
	if err != nil {
		return nil, err
	}
	if result.Patch == nil {
		return nil, fmt.Errorf("prepare the decision: there is nothing to change: %s", result.Message)
	}
	if raw, err = jsonpatch.MergePatch(raw, result.Patch.Body); err != nil {
		return nil, fmt.Errorf("apply the decision's patch: %w", err)
	}
	d.asleep, err = d.adapter.Project(raw)
	return d, err
}

func (d *decision) benchmark(b *testing.B, obj *workload.Object) {
	b.ReportAllocs()
	defer reportProcessorTime(b)()
	for b.Loop() {
		result, err := decide(d.policies, d.adapter, obj, scheduledPairs, d.now)
		if err != nil || (result.Patch != nil) != (obj == d.awake) {
			b.Fatalf("decided %+v, error %v", result, err)
		}
	}
}

func benchmarkNext(b *testing.B, line timeline.Timeline) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	defer reportProcessorTime(b)()
	for i := 0; b.Loop(); i++ {
		if _, ok := line.Next(start.Add(time.Duration(i%100_000) * 5 * time.Minute)); !ok {
			b.Fatal("there is no next transition")
		}
	}
}

// processorTime is the unit of the processor time of one operation.
const processorTime = "cpu-ns/op"

// reportProcessorTime reports the processor time until the returned function is called. A busy machine changes it less than the time.
func reportProcessorTime(b *testing.B) (done func()) {
	before := cpuSeconds()
	return func() { b.ReportMetric((cpuSeconds()-before)*1e9/float64(b.N), processorTime) }
}
