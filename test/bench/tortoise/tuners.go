package tortoise

import (
	"math"
	"slices"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/classic"
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

// contenders are in the order of the table.
var contenders = []contender{
	{"static", false, func(w *world) tuner { return static{} }},
	{baseline, true, func(*world) tuner { return nothing{} }},
	{"hpa-vpa", true, func(*world) tuner { return &vpa{} }},
	{"vpa", false, func(*world) tuner { return &vpa{} }},
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

// recommender is what the VPA's recommender would say: the 90th percentile of a pod's CPU and the largest memory of a day, both
// decaying by half a day, with a margin of 15 %. The upper bound is the 95th percentile, wider while there is little history.
type recommender struct {
	app, side, memory usage.Histogram
	peak              float64
	day               int
	began             int
}

const (
	vpaHalfLife = 24 * time.Hour
	vpaMargin   = 1.15
)

func (r *recommender) see(c *cluster) {
	s := c.look()
	if !s.ok {
		return
	}
	now := at(c.t)
	r.app.Add(s.app, max(s.app, 1)/1000, now, vpaHalfLife)
	r.side.Add(s.side, 1, now, vpaHalfLife)
	r.peak = max(r.peak, s.memory*(1+0.2*float64(min(s.kills, 1))))
	if day := c.t / ticksPerDay; day != r.day || s.kills > 0 {
		r.memory.Add(r.peak, 1, now, 8*24*time.Hour)
		r.day, r.peak = day, 0
	}
}

// target and upper give the recommendation from a histogram.
func (r *recommender) target(h *usage.Histogram) float64 { return h.Quantile(0.9) * vpaMargin }

func (r *recommender) upper(h *usage.Histogram, t int) float64 {
	return h.Quantile(0.95) * vpaMargin * (1 + float64(ticksPerDay)/float64(t+1))
}

func (r *recommender) memoryTarget() float64 { return max(r.memory.Quantile(0.9), r.peak) * vpaMargin }

// vpa sets requests to what the recommender says, by evicting pods, at most every twelve hours and if they are off by a tenth.
type vpa struct {
	recommender
	last int
}

func (v *vpa) tune(c *cluster) {
	v.see(c)
	if c.t < ticksPerDay || c.t-v.last < ticksPerDay/2 {
		return
	}
	app, side, memory := max(v.target(&v.app), 25), max(v.target(&v.side), 25), max(v.memoryTarget(), 250)
	if off(app, c.set.app) || off(side, c.set.side) || off(memory, c.set.memory) {
		v.last = c.t
		c.rollOut(app, side, memory)
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

// classicTuner is profile Tortoise: package classic, fed by the recommender, with roll-outs.
type classicTuner struct {
	recommender
	config         classic.Config
	low, top       classic.Slots
	app, side      int64
	memory         int64
	moved, rolled  time.Time
	pressure       classic.Pressure
	lost           time.Time
	mode           classic.Mode
	last           sample
	lastTarget     int32
	lastConsidered int
}

func newOriginal() *classicTuner {
	return &classicTuner{config: classic.Default(), low: classic.NewSlots(true, time.UTC), top: classic.NewSlots(true, time.UTC)}
}

const thousand = 1000

func (k *classicTuner) tune(c *cluster) {
	k.see(c)
	now := at(c.t)
	s := c.look()
	if s.ok {
		if !k.lost.IsZero() && k.mode == classic.Emergency {
			k.mode = classic.BackToNormal
		}
		k.lost = time.Time{}
	} else if k.lost.IsZero() {
		k.lost = now
	}
	if k.config.Lost(k.lost, now) {
		k.mode = classic.Emergency
	}
	k.app = classic.Stored(k.app, int64(k.target(&k.recommender.app)), int64(k.upper(&k.recommender.app, c.t)))
	k.side = classic.Stored(k.side, int64(k.target(&k.recommender.side)), int64(k.upper(&k.recommender.side, c.t)))
	k.memory = int64(k.memoryTarget() * (1 << 20) * thousand)
	slot := k.low.At(now)
	if k.mode == classic.Working {
		k.low.Values[slot] = k.config.Minimum(k.low.Values[slot], int32(c.replicas), now)
		k.top.Values[slot] = k.config.Maximum(k.top.Values[slot], int32(c.replicas), now)
	}
	if c.t < ticksPerDay {
		return
	}
	if k.low.Filled() {
		k.bounds(c, slot, now)
	}
	if k.mode == classic.Working {
		k.vertical(c, now)
	}
}

func (k *classicTuner) bounds(c *cluster, slot int, now time.Time) {
	b := k.config.Bounds(k.mode, k.low.Values[slot].Value, k.top.Values[slot].Value, int32(c.set.minimum))
	if b.Done {
		k.mode = classic.Working
	}
	target := int32(c.set.target)
	if proposed, ok := k.config.Utilisation(int64(c.set.app), k.app, target, int32(c.replicas)); ok && k.mode == classic.Working {
		if next := k.config.ApplyUtilisation(target, proposed, k.moved, now); next != target {
			target, k.moved = next, now
		}
	}
	c.bound(int(min(b.Min, b.Max)), int(b.Max), int(target))
}

func (k *classicTuner) vertical(c *cluster, now time.Time) {
	var raise bool
	k.pressure, raise = k.config.Press(k.pressure, int32(c.replicas), int32(c.set.minimum), now)
	app := k.config.Horizontal(classic.Horizontal{
		Request: int64(c.set.app), Stored: k.app, Limits: k.config.CPU(0, 0), Replicas: int32(c.replicas), Minimum: int32(c.set.minimum), Target: int32(c.set.target), Raise: raise,
	}).Size
	side := k.config.Vertical(int64(c.set.side), k.side, k.config.CPU(0, 0)).Size
	request := int64(c.set.memory * (1 << 20) * thousand)
	memory := k.config.Vertical(request, k.memory, k.config.Memory(0, 0)).Size
	if app == int64(c.set.app) && side == int64(c.set.side) && memory == request {
		return
	}
	down := app <= int64(c.set.app) && side <= int64(c.set.side) && memory <= request
	if k.config.MayRestart(down, k.rolled, now) {
		k.rolled = now
		c.rollOut(float64(app), float64(side), float64(memory)/thousand/(1<<20))
	}
}
