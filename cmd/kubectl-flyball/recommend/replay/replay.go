// Package replay tells what a Tortoise would have a workload at, had it been there since the first sample of a history. It runs the manager's
// own packages over the samples, minute by minute, as in mode Auto: requests go by steps, and what they arrive at is recommended. It
// calls no clock, and the same history gives the same numbers.
package replay

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/optimize"
	"flyball.dev/flyball/engine/policy/tortoise/phase"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/policy/tortoise/usage"
)

// Input is a workload, its autoscaler and its history.
type Input struct {
	// Profile is Lean, Balanced, Safe or Tortoise.
	Profile string
	// Requests by container, as the owner has them; zero is no request.
	Requests map[string]tune.Request
	// Scaled is the container whose CPU is scaled by replicas.
	Scaled string
	// Bounds of what may be recommended: Min, Max and PreferredMax count.
	Bounds optimize.Bounds
	// Min, Max and Utilisation are those of the autoscaler, or what one has by default.
	Min, Max, Utilisation int
	// Scalable says that the number of replicas can be chosen.
	Scalable bool
	// Samples in ascending order of time.
	Samples []usage.Sample
	// At is the instant for which numbers are wanted. Samples after it are not looked at.
	At time.Time
	// Zone is that of the slots of the profile Tortoise.
	Zone *time.Location
	// Progress is told how much is done, from 0 to 1.
	Progress func(share float64)
}

// Number is what is, what should be, and why.
type Number struct {
	Own, Recommended int64
	Reasons          []string
}

// Container has the requests of one.
type Container struct {
	Name string
	// CPU is in milli-CPU, Memory in bytes.
	CPU, Memory Number
	// Scaled is true for the one whose CPU is scaled by replicas.
	Scaled bool
}

// Hour is what an autoscaler's bounds should be in an hour. Max is zero where it is the same at all hours.
type Hour struct {
	From     time.Time
	Min, Max int
}

// Output is what is recommended.
type Output struct {
	Phase       string
	PhaseReason string
	Containers  []Container
	// Min, Max and Utilisation are those of the autoscaler, in replicas and percent.
	Min, Max, Utilisation Number
	Hours                 []Hour
	// Demand is the CPU demand of the scaled container over all pods that is expected at the instant, Upper what it is not above
	// until a pod that starts then serves; in milli-CPU. Zero where the profile knows none.
	Demand, Upper float64
	// Loss is the mean pinball loss of the forecast, in logarithms: about the share by which it misses.
	Loss float64
	// Now is what the pods of the last sample request, Then what as many pods would as serve the same demand with the recommended numbers.
	Now, Then Total
	// First and Last are the instants of the first and the last sample.
	First, Last time.Time
	Samples     int
	// Settled says that the numbers have arrived where they were going.
	Settled bool
}

// Total is what pods request together, in milli-CPU and bytes.
type Total struct {
	Replicas    int
	CPU, Memory int64
}

// Run replays a history.
func Run(in Input) (*Output, error) {
	n := len(in.Samples)
	for n > 0 && in.Samples[n-1].At.After(in.At) {
		n--
	}
	in.Samples = in.Samples[:n]
	if n == 0 {
		return nil, fmt.Errorf("there is no sample up to %s", in.At.Format(time.RFC3339))
	}
	var out *Output
	if in.Profile == Original {
		out = original(in)
	} else {
		profile, ok := optimize.Profiles[in.Profile]
		if !ok {
			return nil, fmt.Errorf("there is no profile %q", in.Profile)
		}
		out = tuned(in, profile)
	}
	out.First, out.Last, out.Samples = in.Samples[0].At, in.Samples[n-1].At, n
	in.total(out)
	return out, nil
}

// total adds up requests, for the demand of the last sample of the scaled container.
func (in Input) total(out *Output) {
	demand := 0.0
	for _, s := range in.Samples {
		if s.Container == in.Scaled && s.Replicas > 0 && s.CPU >= 0 {
			out.Now.Replicas, demand = s.Replicas, s.CPU*float64(s.Replicas)
		}
	}
	out.Then.Replicas = int(max(out.Min.Recommended, 1))
	for _, c := range out.Containers {
		if per := float64(c.CPU.Recommended) * float64(out.Utilisation.Recommended) / 100; c.Scaled && per > 0 {
			out.Then.Replicas = int(min(max(out.Min.Recommended, int64(math.Ceil(demand/per))), max(out.Max.Recommended, out.Min.Recommended)))
		}
	}
	if !in.Scalable {
		out.Then.Replicas = out.Now.Replicas
	}
	for _, c := range out.Containers {
		out.Now.CPU += c.CPU.Own * int64(out.Now.Replicas)
		out.Now.Memory += c.Memory.Own * int64(out.Now.Replicas)
		out.Then.CPU += c.CPU.Recommended * int64(out.Then.Replicas)
		out.Then.Memory += c.Memory.Recommended * int64(out.Then.Replicas)
	}
}

// instants yields the samples of one instant after the other.
func (in Input) instants(yield func(at time.Time, samples []usage.Sample)) {
	for from := 0; from < len(in.Samples); {
		to := from + 1
		for to < len(in.Samples) && in.Samples[to].At.Equal(in.Samples[from].At) {
			to++
		}
		yield(in.Samples[from].At, in.Samples[from:to])
		if in.Progress != nil {
			in.Progress(float64(to) / float64(len(in.Samples)))
		}
		from = to
	}
}

// replicasOf are the ready pods of samples.
func replicasOf(samples []usage.Sample) int {
	most := 0
	for _, s := range samples {
		most = max(most, s.Replicas)
	}
	return most
}

// decideEvery is the least time between two decisions, as in the manager.
const decideEvery = time.Minute

// tuned replays with the profiles of package optimize.
func tuned(in Input, profile optimize.Profile) *Output {
	t, spec := tune.New(), tune.Defaults(profile, in.Scaled)
	spec.Bounds.Min, spec.Bounds.Max, spec.Bounds.PreferredMax = in.Bounds.Min, in.Bounds.Max, in.Bounds.PreferredMax
	setting := tune.Setting{Requests: started(in, spec), Min: in.Min, Max: in.Max, Utilisation: in.Utilisation}
	said := map[string][]string{}
	replicas, last := 0, time.Time{}
	var r tune.Recommendation
	decide := func(at time.Time) {
		before := t.State.Phase
		count := max(replicas, setting.Min)
		r = t.Decide(spec, tune.Observed{Now: at, Setting: setting, Replicas: count, Ready: count})
		setting, last = r.Setting, at
		remember(said, r.Reasons, before != r.Phase)
	}
	in.instants(func(at time.Time, samples []usage.Sample) {
		t.Observe(samples...)
		if n := replicasOf(samples); n > 0 {
			replicas = n
		}
		if at.Sub(last) >= decideEvery {
			decide(at)
		}
	})
	if in.At.After(last) {
		decide(in.At)
	}
	return in.outputOf(t, spec, r, said)
}

// usual is the share of samples that a first request is enough for.
const usual = 0.9

// started are the requests at the beginning: those of the owner. Where there are none it is the CPU that nearly all samples are within, with
// the headroom of the profile, and the least memory, which grows at once.
func started(in Input, spec tune.Spec) map[string]tune.Request {
	all := map[string]tune.Request{}
	for name, r := range in.Requests {
		least := tune.DefaultLimits.Min
		if name == in.Scaled {
			least.CPU = spec.Bounds.MinRequest
		}
		if r.CPU == 0 {
			r.CPU = max(int64(math.Ceil(in.usual(name)/spec.Profile.Headroom)), least.CPU)
		}
		if r.Memory == 0 {
			r.Memory = least.Memory
		}
		all[name] = r
	}
	return all
}

// usual is the CPU in milli-CPU that nearly all samples of a container are within.
func (in Input) usual(name string) float64 {
	var used []float64
	for _, s := range in.Samples {
		if s.Container == name && s.Replicas > 0 && s.CPU >= 0 {
			used = append(used, s.CPU)
		}
	}
	if len(used) == 0 {
		return 0
	}
	slices.Sort(used)
	return used[int(usual*float64(len(used)-1))]
}

// remember keeps the newest reasons of each number.
func remember(said map[string][]string, reasons []optimize.Reason, moved bool) {
	fresh := map[string]bool{}
	for _, why := range reasons {
		if why.Of == "phase" && !moved {
			continue
		}
		if !fresh[why.Of] {
			fresh[why.Of], said[why.Of] = true, nil
		}
		said[why.Of] = append(said[why.Of], why.Text)
	}
}

// outputOf reads what was arrived at.
func (in Input) outputOf(t *tune.Tuner, spec tune.Spec, r tune.Recommendation, said map[string][]string) *Output {
	o := &Output{Phase: string(r.Phase), Demand: r.Demand, Upper: r.Upper, Loss: r.Loss, Settled: r.Phase == phase.Working}
	if why := said["phase"]; len(why) > 0 {
		o.PhaseReason = strings.TrimPrefix(why[len(why)-1], o.Phase+": ")
	}
	for _, name := range slices.Sorted(maps.Keys(in.Requests)) {
		own, now := in.Requests[name], r.Setting.Requests[name]
		c := Container{Name: name, Scaled: name == in.Scaled,
			CPU:    Number{own.CPU, now.CPU, said[name+" cpu"]},
			Memory: Number{own.Memory, now.Memory, said[name+" memory"]},
		}
		if c.Scaled {
			c.CPU.Reasons = said["request"]
			if _, more := spec.Guard.Step(now.CPU, t.State.Wanted, false); more && t.State.Wanted != 0 {
				o.Settled = false
			}
		}
		fill(&c.CPU)
		fill(&c.Memory)
		if own.CPU == 0 && now.CPU > 0 && c.CPU.Recommended == 0 {
			c.CPU = Number{0, now.CPU, []string{fmt.Sprintf("%dm: there is none, and nine of ten samples are within this with the headroom of the profile", now.CPU)}}
		}
		o.Containers = append(o.Containers, c)
	}
	o.Min = Number{int64(in.Min), int64(r.Setting.Min), said["min"]}
	o.Max = Number{Own: int64(in.Max), Recommended: int64(r.Setting.Max)}
	if r.Setting.Max == spec.Bounds.Max {
		o.Max.Reasons = []string{fmt.Sprintf("%d: the most that is allowed, so that nothing keeps the autoscaler from scaling up", r.Setting.Max)}
	}
	o.Utilisation = Number{int64(in.Utilisation), int64(r.Setting.Utilisation), said["utilisation"]}
	for _, n := range []*Number{&o.Min, &o.Max, &o.Utilisation} {
		fill(n)
	}
	if !r.Phase.Allowed().Seasons {
		return o // a forecast without a season says nothing of hours
	}
	for i, n := range t.Hours(spec, in.At, r.Request) {
		hour := time.Unix(in.At.Unix()/3600*3600, 0).Add(time.Duration(i) * time.Hour)
		o.Hours = append(o.Hours, Hour{From: hour, Min: n})
	}
	return o
}

// fill says why a number stays, where nobody said anything. What nobody recommends stays as its owner has it.
func fill(n *Number) {
	if len(n.Reasons) > 0 {
		return
	}
	n.Recommended = n.Own
	n.Reasons = []string{"it stays: too little was seen"}
}
