package tortoise

import (
	"math"
	"slices"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/mercari"
	"flyball.dev/flyball/engine/policy/tortoise/usage"
)

// tuner changes the setting of a cluster before a tick.
type tuner interface {
	tune(c *cluster)
}

// contender is somebody who tunes.
type contender struct {
	name string
	// scaled says that an autoscaler runs.
	scaled bool
	make   func(*world) tuner
}

// names of those that the gates speak of.
const (
	baseline = "hpa-70"
	original = "profile-tortoise"
	ours     = "flyball"
)

// Judged are those that the gates speak of.
var Judged = []string{baseline, original, ours}

// contenders are in the order of the table.
var contenders = []contender{
	{"static", false, func(w *world) tuner { return static{} }},
	{baseline, true, func(*world) tuner { return nothing{} }},
	{"hpa-vpa", true, func(*world) tuner { return &evicting{} }},
	{"vpa", false, func(*world) tuner { return &evicting{} }},
	{original, true, func(*world) tuner { return newOriginal() }},
	{ours, true, func(w *world) tuner { return newOurs(w) }},
	{"oracle", false, func(*world) tuner { return &oracle{} }},
}

// nothing leaves everything as the owner set it.
type nothing struct{}

func (nothing) tune(*cluster) {}

// static has as many replicas as the largest demand of the warm-up needs.
type static struct{}

func (static) tune(c *cluster) {
	if c.t == 0 {
		largest := slices.Max(c.demand[:min(len(c.demand), warmUp*ticksPerDay)])
		n := min(int(math.Ceil(largest/(threshold*c.set.app))), c.set.maximum)
		c.replicas = max(n, c.set.minimum)
	}
}

// recommender is what the VPA's recommender would say of the samples.
type recommender struct{ mercari.Recommender }

func (r *recommender) see(c *cluster) {
	s := c.look()
	if !s.ok {
		return
	}
	r.Observe(usage.Sample{At: at(c.t), Container: app, CPU: s.app, Memory: s.memory * mebi, Replicas: s.ready, OOMKills: s.kills, MemoryLimit: c.set.memory * mebi})
	r.Observe(usage.Sample{At: at(c.t), Container: proxy, CPU: s.side, Memory: -1, Replicas: s.ready})
}

// evicting sets requests to what the recommender says, by evicting pods, at most every twelve hours and if they are off by a tenth.
type evicting struct {
	recommender
	last int
}

func (v *evicting) tune(c *cluster) {
	v.see(c)
	if c.t < ticksPerDay || c.t-v.last < ticksPerDay/2 {
		return
	}
	cpu, _ := v.CPU(app, at(c.t))
	side, _ := v.CPU(proxy, at(c.t))
	memory, _ := v.Memory(app, at(c.t))
	cpu, side, memory = max(cpu, 25), max(side, 25), max(memory/mebi, 250)
	if off(cpu, c.set.app) || off(side, c.set.side) || off(memory, c.set.memory) {
		v.last = c.t
		c.rollOut(cpu, side, memory)
	}
}

// off says that a request should be changed: by more than a tenth.
func off(wanted, is float64) bool { return math.Abs(wanted-is) > 0.1*is }

// oracle knows the demand: it starts pods so that they are ready when they are needed, and none longer. Its pods are small.
type oracle struct{}

func (oracle) tune(c *cluster) {
	if c.t == 0 {
		app := max(math.Ceil(c.owner.app/4), 250)
		c.resize(app, math.Ceil(app*c.sidecar/threshold*1.001), c.owner.memory)
		for i := range c.pods {
			c.pods[i].app, c.pods[i].side = c.set.app, c.set.side
		}
		c.set.maximum = math.MaxInt32
	}
	largest := 0.0
	for t := c.t; t < min(c.t+c.ready+c.node+1, len(c.demand)); t++ {
		largest = max(largest, c.demand[t])
	}
	c.replicas = max(int(math.Ceil(largest/(threshold*c.set.app))), c.set.minimum)
	if c.grown > 0 && c.t%ticksPerDay == 0 {
		c.resize(c.set.app, c.set.side, c.owner.memory+(c.grown+c.leak)*float64(c.t/ticksPerDay+1))
	}
}

// classicTuner is profile Tortoise: its formulas, fed by the recommender, with roll-outs.
type classicTuner struct {
	recommender
	*mercari.Formulas
}

func newOriginal() *classicTuner {
	return &classicTuner{Formulas: mercari.NewFormulas(mercari.Default(), time.UTC)}
}

const thousand = 1000

func (k *classicTuner) tune(c *cluster) {
	k.see(c)
	now := at(c.t)
	cpu, cpuUpper := k.CPU(app, now)
	side, sideUpper := k.CPU(proxy, now)
	memory, memoryUpper := k.Memory(app, now)
	request := int64(c.set.memory * mebi * thousand)
	seen := mercari.Seen{Now: now, Lost: !c.look().ok, Replicas: int32(c.replicas), Minimum: int32(c.set.minimum), Resources: []mercari.Resource{
		{Container: app, Horizontal: true, Request: int64(c.set.app), Target: int64(cpu), Upper: int64(cpuUpper), Limits: k.Config.CPU(0, 0), Utilisation: int32(c.set.target)},
		{Container: proxy, Request: int64(c.set.side), Target: int64(side), Upper: int64(sideUpper), Limits: k.Config.CPU(0, 0)},
		{Container: app, Memory: true, Request: request, Target: int64(memory) * thousand, Upper: int64(memoryUpper) * thousand, Limits: k.Config.Memory(0, 0)},
	}}
	d := k.Decide(seen)
	if d.Bound && c.t >= ticksPerDay {
		c.bound(int(min(d.Bounds.Min, d.Bounds.Max)), int(d.Bounds.Max), int(d.Targets[0]))
	}
	if d.RollOut && c.t >= ticksPerDay {
		c.rollOut(float64(d.Sizes[0].Size), float64(d.Sizes[1].Size), float64(d.Sizes[2].Size)/thousand/mebi)
	}
}
