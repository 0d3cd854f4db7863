package tortoise

import (
	"fmt"
	"math"
	"slices"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/tortoise/mercari"
	"flyball.dev/flyball/engine/workload"
)

// tuner changes the setting of a cluster before each tick.
type tuner interface {
	tune(c *cluster)
}

// contender is a way to set the numbers of a workload.
type contender struct {
	name string
	// scaled is true if an autoscaler runs.
	scaled bool
	// begin returns the setting at the beginning. If it is nil, this is the owner's setting.
	begin func(*world) setting
	make  func(*world) tuner
}

// These are the names of the contenders in the figures. One name stands for the whole grid of fixed settings.
const (
	Fixed    = "fixed"
	Baseline = "hpa-70"
	Original = "profile-tortoise"
	Flyball  = "flyball"
	All      = "flyball-all"
)

// Judged are the contenders that the figures compare.
var Judged = []string{Baseline, Fixed, Original, Flyball}

// contenders are in the order of the table, without the fixed settings.
var contenders = []contender{
	{name: Baseline, scaled: true},
	{name: "cron", scaled: true, make: func(w *world) tuner { return newCron(w) }},
	{name: "hpa-vpa", scaled: true, make: func(*world) tuner { return &vpa{} }},
	{name: Original, scaled: true, make: func(w *world) tuner {
		return newLearner(w, v1alpha1.TortoiseRules{Profile: v1alpha1.ProfileTortoise}, false)
	}},
	{name: Flyball, scaled: true, make: func(w *world) tuner { return newLearner(w, v1alpha1.TortoiseRules{}, false) }},
	{name: All, scaled: true, make: func(w *world) tuner {
		return newLearner(w, v1alpha1.TortoiseRules{
			History: v1alpha1.TunedHistory{Source: v1alpha1.HistoryPrometheus}, Vertical: v1alpha1.TunedVertical{Apply: v1alpha1.ApplyInPlace},
		}, true)
	}},
	{name: "oracle", begin: func(w *world) setting { return w.fixed(500, 544, 70) }, make: func(*world) tuner { return oracle{} }},
}

// grid has the fixed settings: the owner's pod size and two smaller sizes, each with nine target utilisations.
var grid = func() []contender {
	var all []contender
	for _, size := range [][2]float64{{1000, 1024}, {500, 544}, {250, 512}} {
		for target := 50; target <= 90; target += 5 {
			all = append(all, contender{
				name: fmt.Sprintf("%.0fm-%d", size[0], target), scaled: true,
				begin: func(w *world) setting { return w.fixed(size[0], size[1], target) },
			})
		}
	}
	return all
}()

// fixed returns the setting with another pod size and another target utilisation. The sidecar is as large as it has to
// be. The capacity at the maximum equals the capacity at the owner's maximum.
func (w *world) fixed(app, memory float64, target int) setting {
	s := w.owner
	s.target = target
	if app == s.app {
		return s
	}
	s.maximum = int(math.Ceil(s.reach() / app))
	s.app, s.memory, s.side = app, memory, math.Ceil(app*w.sidecar/threshold)
	return s
}

// cron raises the minimum around the daily peak. It learns the peak from the days for learning: these are the hours
// with at least three quarters of the demand in the busiest hour.
type cron struct {
	busy [24]bool
	peak int
}

func newCron(w *world) *cron {
	var sums, counts [24]float64
	for t := range w.teach {
		if !w.unknown[t] {
			h := w.at(t).Hour()
			sums[h] += w.demand[t]
			counts[h]++
		}
	}
	for h := range sums {
		sums[h] /= max(counts[h], 1)
	}
	most := slices.Max(sums[:])
	c := &cron{peak: int(math.Ceil(most / threshold / w.owner.app))}
	for h := range sums {
		c.busy[h] = sums[h] >= 0.75*most
	}
	return c
}

func (k *cron) tune(c *cluster) {
	minimum := c.owner.minimum
	// Pods are started ten minutes before they are needed.
	if c.t >= c.teach && k.busy[c.at(c.t+10*ticksPerMin).Hour()] {
		minimum = min(max(k.peak, minimum), c.owner.maximum)
	}
	c.bound(minimum, c.owner.maximum, c.owner.target)
}

// oracle knows the demand of the next 15 minutes, and has exactly as many pods as this demand needs. Its pods are
// small.
type oracle struct{}

func (oracle) tune(c *cluster) {
	largest := slices.Max(c.demand[c.t:min(c.t+15*ticksPerMin, len(c.demand))])
	c.replicas = min(max(int(math.Ceil(largest/threshold/c.set.app)), c.set.minimum), c.set.maximum)
}

// vpa has a VerticalPodAutoscaler for memory and for the CPU of the sidecar. An autoscaler scales by the CPU of the
// app, because the two must not use the same resource. Pods are evicted if a request is wrong by more than a tenth, but
// at most every twelve hours, or after a kill.
type vpa struct {
	mercari.Recommender
	last, kills int
}

// leastMilli and leastMebi are the smallest recommendations for one of two containers, in milli-CPU and MiB.
const leastMilli, leastMebi = 12.5, 125

func (v *vpa) tune(c *cluster) {
	s := c.look()
	if s == nil || c.t%ticksPerMin != 0 {
		return
	}
	now, killed := c.at(c.t), s.kills-v.kills
	v.kills = s.kills
	v.Observe(workload.Sample{At: now, Container: app, CPU: s.app, Memory: s.memory * mebi, Replicas: s.ready, OOMKills: killed,
		MemoryLimit: s.killed * mebi})
	v.Observe(workload.Sample{At: now, Container: proxy, CPU: s.side, Memory: -1, Replicas: s.ready})
	if c.t < ticksPerDay || c.t-v.last < ticksPerDay/2 && killed == 0 {
		return
	}
	side, _ := v.CPU(proxy, now)
	memory, _ := v.Memory(app, now)
	side, memory = math.Ceil(max(side, leastMilli)), math.Ceil(max(memory/mebi, leastMebi))
	if off(side, c.set.side) || off(memory, c.set.memory) {
		v.last = c.t
		c.rollOut(c.set.app, side, memory)
	}
}

// off reports whether a request differs from the wanted request by more than a tenth.
func off(wanted, is float64) bool { return math.Abs(wanted-is) > 0.1*is }
