package replay

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/classic"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/policy/tortoise/usage"
	"flyball.dev/flyball/engine/policy/tortoise/vpa"
)

// Original is the profile that has the formulas of mercari/tortoise.
const Original = classic.Profile

// lostAfter is how long before the instant asked for the last sample may be. Gaps between samples are not taken for lost metrics: a
// history may be coarser.
const lostAfter = 5 * time.Minute

// thousand is how many thousandths of a byte the formulas count for one.
const thousand = 1000

// originalRun replays with the formulas of the original. What its VPA would recommend is made of the same samples.
type originalRun struct {
	Input
	vpa         vpa.Recommender
	tuner       *classic.Tuner
	requests    map[string]tune.Request
	minimum     int32
	maximum     int32
	utilisation int32
	replicas    int32
	last        classic.Decision
	resources   []classic.Resource
	reasons     map[string]string
}

func original(in Input) *Output {
	c := classic.Default()
	c.MinimumMinReplicas, c.MaximumMaxReplicas, c.PreferredMaxReplicas = int32(in.Bounds.Min), int32(in.Bounds.Max), int32(in.Bounds.PreferredMax)
	low, top, target := in.bounds()
	r := &originalRun{
		Input: in, tuner: classic.NewTuner(c, in.Zone), requests: maps.Clone(in.Requests), minimum: int32(low), maximum: int32(top),
		utilisation: int32(target), reasons: map[string]string{},
	}
	last := time.Time{}
	in.instants(func(at time.Time, samples []usage.Sample) {
		for _, s := range samples {
			r.vpa.Observe(s)
		}
		if n := replicasOf(samples); n > 0 {
			r.replicas = int32(n)
		}
		r.decide(at, false)
		last = at
	})
	if in.At.Sub(last) >= lostAfter {
		r.tuner.LostSince = last
		r.decide(in.At, true)
	}
	return r.output()
}

// decide takes one decision, and carries it out.
func (r *originalRun) decide(at time.Time, lost bool) {
	r.resources = r.resources[:0]
	for _, name := range slices.Sorted(maps.Keys(r.requests)) {
		request := r.requests[name]
		cpu, cpuUpper := r.vpa.CPU(name, at)
		memory, memoryUpper := r.vpa.Memory(name, at)
		if request.CPU > 0 {
			r.resources = append(r.resources, classic.Resource{
				Container: name, Horizontal: name == r.Scaled, Request: request.CPU, Target: int64(cpu), Upper: int64(cpuUpper), Limits: r.tuner.Config.CPU(0, 0), Utilisation: r.utilisation,
			})
		}
		if request.Memory > 0 {
			r.resources = append(r.resources, classic.Resource{
				Container: name, Memory: true, Request: request.Memory * thousand, Target: int64(memory * thousand), Upper: int64(memoryUpper * thousand), Limits: r.tuner.Config.Memory(0, 0),
			})
		}
	}
	d := r.tuner.Decide(classic.Seen{Now: at, Lost: lost, Replicas: max(r.replicas, r.minimum), Minimum: r.minimum, Resources: r.resources})
	for i, size := range d.Sizes {
		r.take(r.resources[i], size, d.RollOut)
	}
	if d.Bound {
		r.minimum, r.maximum = d.Bounds.Min, d.Bounds.Max
		for i, target := range d.Targets {
			if r.resources[i].Horizontal {
				r.utilisation = target
			}
		}
	}
	r.last = d
}

// take carries out the size of one resource. The reason is that of the last one that changed it, or that it stays.
func (r *originalRun) take(of classic.Resource, size classic.Sized, rollOut bool) {
	key := of.Container + "/cpu"
	if of.Memory {
		key = of.Container + "/memory"
	}
	if !rollOut || size.Size == of.Request {
		if r.reasons[key] == "" || size.Size == of.Request && strings.HasPrefix(r.reasons[key], "it stays") {
			r.reasons[key] = "it stays: " + size.Reason
		}
		return
	}
	request := r.requests[of.Container]
	if of.Memory {
		request.Memory = size.Size / thousand
		r.reasons[key] = fmt.Sprintf("%s; V is %s", size.Reason, bytesText(r.tuner.Values[key]/thousand))
	} else {
		request.CPU = size.Size
		r.reasons[key] = fmt.Sprintf("%s; V is %dm", size.Reason, r.tuner.Values[key])
	}
	r.requests[of.Container] = request
}

func bytesText(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }

func (r *originalRun) output() *Output {
	o := &Output{Phase: "Working", PhaseReason: "every slot of the week has a value", Settled: true}
	switch {
	case r.last.Mode == classic.Emergency:
		o.Phase, o.PhaseReason = "Emergency", "metrics are lost"
	case r.last.Mode == classic.BackToNormal:
		o.Phase, o.PhaseReason = "BackToNormal", "metrics are back"
	case !r.last.Bound:
		filled := 0
		for _, v := range r.tuner.Low.Values {
			if v.Value > 0 {
				filled++
			}
		}
		o.Phase, o.Settled = "PartlyWorking", false
		o.PhaseReason = fmt.Sprintf("%d of %d slots of the week have a value: bounds and utilisation wait for all", filled, len(r.tuner.Low.Values))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		own, now := r.Requests[name], r.requests[name]
		o.Containers = append(o.Containers, Container{
			Name: name, Scaled: name == r.Scaled,
			CPU:    Number{own.CPU, now.CPU, r.why(name, "cpu", own.CPU)},
			Memory: Number{own.Memory, now.Memory, r.why(name, "memory", own.Memory)},
		})
	}
	waits := []string{"it stays: " + o.PhaseReason}
	low, top, target := r.bounds()
	o.Min, o.Max = Number{int64(low), int64(r.minimum), waits}, Number{int64(top), int64(r.maximum), waits}
	o.Utilisation = Number{int64(target), int64(r.utilisation), waits}
	if r.last.Bound {
		slot := r.tuner.Low.At(r.At)
		o.Min.Reasons = []string{fmt.Sprintf("half the replicas that were there in this hour of the week, %d at least", r.tuner.Config.MinimumMinReplicas)}
		o.Max.Reasons = []string{fmt.Sprintf("twice the replicas that were there in this hour of the week: %d, at most %d", r.tuner.Top.Values[slot].Value, r.tuner.Config.MaximumMaxReplicas)}
		o.Utilisation.Reasons = []string{fmt.Sprintf("by V over the request, from %d %% to %d %%, at most %d more a day", r.tuner.Config.MinUtilisation, r.tuner.Config.MaxUtilisation, r.tuner.Config.MaxIncrease)}
		o.Hours = r.hours()
	}
	return o
}

func (r *originalRun) why(name, resource string, own int64) []string {
	if own == 0 {
		return []string{"it stays: without a request the profile " + Original + " leaves a resource alone"}
	}
	return []string{r.reasons[name+"/"+resource]}
}

// hours are the slots of the next day.
func (r *originalRun) hours() []Hour {
	var all []Hour
	first := time.Unix(r.At.Unix()/3600*3600, 0)
	for i := range 24 {
		at := first.Add(time.Duration(i) * time.Hour)
		slot := r.tuner.Low.At(at)
		b := r.tuner.Config.Bounds(classic.Working, r.tuner.Low.Values[slot].Value, r.tuner.Top.Values[slot].Value, int32(math.MaxInt32))
		all = append(all, Hour{From: at, Min: int(min(b.Min, b.Max)), Max: int(b.Max)})
	}
	return all
}
