package analysis

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// ReplayInput is a workload, its autoscaler and its history.
type ReplayInput struct {
	// Policy is the replayed policy.
	Policy policy.Tuner
	// Requests are the owner's requests, by container. Zero means that the owner has set no request.
	Requests map[string]tune.Requests
	// Scaled is the container whose CPU usage sets the number of replicas.
	Scaled string
	// Autoscaler is the autoscaler, or an autoscaler as Flyball would create it. If it is nil, the number of replicas cannot
	// be chosen.
	Autoscaler *policy.SeenAutoscaler
	// Bounds has the maximum of replicas for a workload without an autoscaler.
	Bounds tune.Bounds
	// Samples are the samples of the history, in ascending order of time.
	Samples []workload.Sample
	// At is the instant for which the numbers are wanted. Later samples are ignored.
	At time.Time
	// Border is an earlier instant whose recommendation is also returned, in Output.Earlier. The zero time means none.
	Border time.Time
	// Progress is called with the finished share of the work, from 0 to 1.
	Progress func(share float64)

	// started are the requests at the beginning of the replay.
	started map[string]tune.Requests
}

// Number has the present number, the recommended number, and the reasons.
type Number struct {
	Own, Recommended int64
	Reasons          []string
}

// Container has the requests of a container.
type Container struct {
	Name string
	// CPU is in milli-CPU, Memory in bytes.
	CPU, Memory Number
	// Scaled is true for the container whose CPU usage sets the number of replicas.
	Scaled bool
}

// Hour is the recommended minimum of an autoscaler in an hour.
type Hour struct {
	From time.Time
	Min  int
}

// Replayed is the recommendation.
type Replayed struct {
	Phase       string
	PhaseReason string
	Containers  []Container
	// Min and Max are the bounds of the autoscaler, in replicas. Utilisation is its target utilisation, in percent.
	Min, Max, Utilisation Number
	Hours                 []Hour
	// Demand is the CPU demand of the scaled container over all pods that is expected at the instant, in milli-CPU. Upper
	// is the upper bound of the demand until a pod started at the instant is ready, in milli-CPU. Both are zero if the
	// profile knows no demand.
	Demand, Upper float64
	// Loss is the mean error of the hourly peaks expected from earlier days, as a share.
	Loss float64
	// Now has the requests of the pods in the last sample. Then has the requests of the pods that serve the same demand
	// with the recommended numbers.
	Now, Then Total
	// Earlier is the recommendation at the border. It is nil if the input has no border.
	Earlier *Replayed
	// First is the instant of the first sample. Last is the instant of the last sample.
	First, Last time.Time
	Samples     int
	// Settled is true once the numbers have reached their final values.
	Settled bool
}

// Total is the requests of all pods together. The CPU is in milli-CPU, and the memory is in bytes.
type Total struct {
	Replicas    int
	CPU, Memory int64
}

// Replay replays a history and returns the recommendation.
func Replay(in ReplayInput) (*Replayed, error) {
	n := len(in.Samples)
	for n > 0 && in.Samples[n-1].At.After(in.At) {
		n--
	}
	in.Samples = in.Samples[:n]
	if n == 0 {
		return nil, fmt.Errorf("there is no sample up to %s", in.At.Format(time.RFC3339))
	}
	in.start()
	out, err := in.tuned()
	if err != nil {
		return nil, err
	}
	out.First, out.Last, out.Samples = in.Samples[0].At, in.Samples[n-1].At, n
	in.total(out)
	return out, nil
}

// total adds up the requests of all pods, with as many pods as the demand in the last sample of the scaled container
// needs.
func (in ReplayInput) total(out *Replayed) {
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
	if in.Autoscaler == nil {
		out.Then.Replicas = out.Now.Replicas
	}
	for _, c := range out.Containers {
		out.Now.CPU += c.CPU.Own * int64(out.Now.Replicas)
		out.Now.Memory += c.Memory.Own * int64(out.Now.Replicas)
		out.Then.CPU += c.CPU.Recommended * int64(out.Then.Replicas)
		out.Then.Memory += c.Memory.Recommended * int64(out.Then.Replicas)
	}
}

// instants calls yield for each instant, in order, with all samples of the instant.
func (in ReplayInput) instants(yield func(at time.Time, samples []workload.Sample)) {
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

// replicasOf returns the number of ready pods in the samples of an instant.
func replicasOf(samples []workload.Sample) int {
	most := 0
	for _, s := range samples {
		most = max(most, s.Replicas)
	}
	return most
}

// These are the defaults of an autoscaler: its minimum, and its target utilisation in percent.
const defaultMin, defaultTarget = 1, 70

// bounds returns the minimum, the maximum and the target utilisation at the beginning of the replay.
func (in ReplayInput) bounds() (low, top, target int) {
	low, top, target = defaultMin, in.Bounds.Max, defaultTarget
	if in.Autoscaler == nil {
		return low, top, target
	}
	if b := in.Autoscaler.Bounds; b.Min != nil {
		low = int(*b.Min)
	}
	if b := in.Autoscaler.Bounds; b.Max != nil {
		top = int(*b.Max)
	}
	for _, u := range in.Autoscaler.Utilisation {
		if u.Resource == workload.CPU && (u.Container == "" || u.Container == in.Scaled) {
			target = int(u.Percent)
		}
	}
	return low, top, target
}

const (
	// usual is the share of samples that a first CPU request covers. usualUse is the share of the request that these samples
	// use at most.
	usual, usualUse = 0.9, 0.85
	// decideEvery is the least time between two decisions, as in the manager.
	decideEvery = time.Minute
)

// start sets the first requests of containers whose owner has set none. The first CPU request covers nearly all
// samples. The first memory request is the smallest allowed one, which the replay raises at once.
func (in *ReplayInput) start() {
	in.started = maps.Clone(in.Requests)
	for name, r := range in.started {
		if r.CPU == 0 {
			r.CPU = max(int64(math.Ceil(in.usual(name)/usualUse)), tune.DefaultLimits.Min.CPU)
		}
		if r.Memory == 0 {
			r.Memory = tune.DefaultLimits.Min.Memory
		}
		in.started[name] = r
	}
}

// usual returns the CPU usage, in milli-CPU, that nearly all samples of a container do not exceed.
func (in *ReplayInput) usual(name string) float64 {
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

// tuned replays the policy and returns the output of its last decision.
func (in *ReplayInput) tuned() (*Replayed, error) {
	learner, err := in.Policy.NewLearner(nil)
	if err != nil {
		return nil, err
	}
	seen := policy.Seen{Since: in.Samples[0].At, Autoscaler: in.Autoscaler}
	for _, name := range slices.Sorted(maps.Keys(in.started)) {
		seen.Own = append(seen.Own, workload.Allocation{Component: name,
			Requests: workload.Requests{MilliCPU: in.started[name].CPU, MemoryBytes: in.started[name].Memory}})
	}
	var found policy.Found
	replicas, low := 0, 0
	decide := func(at time.Time) {
		seen.Now, seen.Replicas, seen.Ready = at, max(replicas, low), max(replicas, low)
		found = learner.Decide(seen)
		if a := found.Report.Autoscaler; a != nil && in.Autoscaler != nil {
			low = int(a.Min.Recommended)
		}
	}
	var earlier *Replayed
	in.instants(func(at time.Time, samples []workload.Sample) {
		if earlier == nil && !in.Border.IsZero() && !at.Before(in.Border) && !seen.Now.IsZero() {
			then := *in
			then.At = seen.Now
			earlier = then.read(found)
		}
		for _, s := range samples {
			learner.Observe(s)
		}
		if n := replicasOf(samples); n > 0 {
			replicas = n
		}
		if at.Sub(seen.Now) >= decideEvery {
			decide(at)
		}
	})
	if in.At.After(seen.Now) {
		decide(in.At)
	}
	if found.Trouble != "" {
		return nil, fmt.Errorf("the policy does not fit: %s", found.Trouble)
	}
	out := in.read(found)
	out.Earlier = earlier
	return out, nil
}

// read returns the output from the report that the Tortoise would have in a cluster.
func (in *ReplayInput) read(found policy.Found) *Replayed {
	st := found.Report
	o := &Replayed{Phase: st.Phase, PhaseReason: strings.TrimPrefix(st.PhaseReason, st.Phase+": "),
		Settled: st.Phase == string(tune.Working) && found.Next.IsZero()}
	for _, name := range slices.Sorted(maps.Keys(in.Requests)) {
		own := in.Requests[name]
		c := Container{Name: name, Scaled: name == in.Scaled, CPU: stays(own.CPU), Memory: stays(own.Memory)}
		for _, r := range st.Containers {
			if r.Name == name {
				c.CPU = number(own.CPU, r.CPU, (*resource.Quantity).MilliValue)
				c.Memory = number(own.Memory, r.Memory, (*resource.Quantity).Value)
			}
		}
		o.Containers = append(o.Containers, c)
	}
	low, top, target := in.bounds()
	o.Min, o.Max, o.Utilisation = stays(int64(low)), stays(int64(top)), stays(int64(target))
	if a := st.Autoscaler; a != nil {
		o.Min = bound(o.Min, &a.Min)
		o.Max = bound(o.Max, &a.Max)
		o.Utilisation = bound(o.Utilisation, a.Utilisation)
		if tune.Phase(st.Phase).Allowed().Seasons { // hours are unknown before a day of history
			zone, err := timeline.LoadZone(a.TimeZone)
			if err != nil {
				zone = time.UTC // cannot happen: the zone was loaded when the policy was compiled
			}
			first := tune.HourOf(in.At, zone)
			for i, n := range a.MinByHour {
				o.Hours = append(o.Hours, Hour{From: first.Add(time.Duration(i) * time.Hour), Min: int(n)})
			}
			if len(o.Hours) > 0 {
				o.Hours[0].Min = int(o.Min.Recommended) // for the present hour, the present minimum counts
			}
		}
	}
	if d := st.Demand; d != nil {
		o.Demand, o.Upper, o.Loss = float64(d.Expected.MilliValue()), float64(d.Upper.MilliValue()), float64(d.Loss)/1000
	}
	return o
}

// stays returns a number that keeps its present value because there is no recommendation.
func stays(own int64) Number { return Number{own, own, []string{"it stays: too little is known yet"}} }

// number converts a recommended request to a Number. The function unit returns the value of a quantity in the unit of
// the Number.
func number(own int64, r *v1alpha1.RecommendedRequest, unit func(*resource.Quantity) int64) Number {
	switch {
	case r == nil:
		return stays(own)
	case own == 0 && r.Recommended.Cmp(*r.Own) == 0:
		return Number{0, unit(&r.Recommended), []string{"there is none now, and tuning begins with what nine of ten samples are within"}}
	}
	return Number{own, unit(&r.Recommended), []string{r.Reason}}
}

// bound converts a recommended number of an autoscaler to a Number.
func bound(was Number, n *v1alpha1.RecommendedNumber) Number {
	if n == nil {
		return was
	}
	was.Recommended = int64(n.Recommended)
	if n.Reason != "" {
		was.Reasons = []string{n.Reason}
	}
	return was
}
