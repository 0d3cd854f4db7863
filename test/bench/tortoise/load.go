// Package tortoise is the offline benchmark of tuning: loads, a cluster with an autoscaler, those that tune it, and what each of
// them costs. It is pure Go with fixed seeds: every run gives the same numbers.
package tortoise

import (
	"math"
	"math/rand/v2"
	"time"
)

// A tick is the step of the simulation.
const (
	tick        = 30 * time.Second
	ticksPerMin = int(time.Minute / tick)
	ticksPerDay = int(24 * time.Hour / tick)
	// days are simulated; during the first warmUp of them nothing is measured.
	days, warmUp = 42, 14
)

// start is a Monday.
var start = time.Date(2037, 1, 5, 0, 0, 0, 0, time.UTC)

// at gives the instant of a tick.
func at(t int) time.Time { return start.Add(time.Duration(t) * tick) }

// world is what a family and a seed make: demand, and how the cluster behaves. All that tune are given the same one.
type world struct {
	family string
	seed   uint64
	// demand is of the app in milli-CPU, over all its pods, each tick. sidecar is the share that the sidecar needs beside it.
	demand  []float64
	sidecar float64
	// memory of a pod in MiB: base, and what each milli-CPU of its load adds. leak is added each day that a pod runs, grown on
	// each day of the simulation.
	memoryBase, memoryPerMilli, leak, grown float64
	// blackout ticks have no metrics.
	blackout []bool
	// ready is after how many ticks a pod is ready, node how many more it takes if a node must come, lag how old metrics are.
	ready, node, lag int
	// spread is the deviation of the logarithm of what single pods get of the load.
	spread float64
	// owner is what the owner of the workload set.
	owner setting
}

// setting is what can be set: requests of app, sidecar and memory of a pod in milli-CPU and MiB; bounds and target of the autoscaler.
type setting struct {
	app, side, memory   float64
	minimum, maximum    int
	target              int // percent
	appLimit, sideLimit float64
}

// shape are the parameters of a load that a seed chooses.
type shape struct {
	peak, trough, weekend, sigma float64
}

// families are in the order of the table.
var families = []string{
	"diurnal", "weekly", "noon-spike", "flash-crowd", "release-step", "growth", "outage-herd", "holiday", "bursty", "blackout", "sidecar", "memory-ramp",
}

// events change the demand of one tick, or the world.
var events = map[string]func(*world, *rand.Rand){
	"diurnal":      func(*world, *rand.Rand) {},
	"weekly":       func(*world, *rand.Rand) {},
	"noon-spike":   noonSpike,
	"flash-crowd":  flashCrowd,
	"release-step": func(w *world, _ *rand.Rand) { w.scale(20*ticksPerDay+11*60*ticksPerMin, len(w.demand), 1.5) },
	"growth":       growth,
	"outage-herd":  outageHerd,
	"holiday":      func(w *world, _ *rand.Rand) { w.scale(23*ticksPerDay, 25*ticksPerDay, 0.35) },
	"bursty":       bursty,
	"blackout":     blackout,
	"sidecar":      func(w *world, _ *rand.Rand) { w.sidecar, w.owner.side, w.owner.sideLimit = 0.1, 500, 1000 },
	"memory-ramp":  func(w *world, _ *rand.Rand) { w.leak, w.grown = 20, 25 },
}

// newWorld makes the world of a family and a seed. length is in days; a short one is for tests.
func newWorld(family string, seed uint64, length int) *world {
	r := rand.New(rand.NewPCG(seed, hash(family)))
	pick := func(values ...float64) float64 { return values[r.IntN(len(values))] }
	s := shape{peak: pick(2000, 4000, 8000), trough: pick(2, 4, 8), weekend: 1, sigma: []float64{0.05, 0.2}[seed%2]}
	if family != "diurnal" {
		s.weekend = pick(0.3, 0.6, 1)
	}
	if family == "weekly" {
		s.weekend = pick(0.3, 0.6)
	}
	w := &world{
		family: family, seed: seed, sidecar: 0.03, memoryBase: 300, memoryPerMilli: 0.2,
		ready: int(pick(1, 2, 6)), node: 3, lag: 1 + r.IntN(2), spread: pick(0.05, 0.15),
		owner:  setting{app: 1000, side: 100, memory: 1024, minimum: 3, maximum: 100, target: 70, appLimit: 2000, sideLimit: 200},
		demand: make([]float64, length*ticksPerDay), blackout: make([]bool, length*ticksPerDay),
	}
	noise := 0.0
	for t := range w.demand {
		noise = 0.9*noise + s.sigma*math.Sqrt(1-0.9*0.9)*r.NormFloat64()
		w.demand[t] = s.level(t) * math.Exp(noise)
	}
	events[family](w, r)
	return w
}

// level is the demand without noise: a day that peaks at 14:00, and weekends.
func (s shape) level(t int) float64 {
	hour := float64(t%ticksPerDay) / float64(60*ticksPerMin)
	low := s.peak / s.trough
	v := low + (s.peak-low)*(0.5-0.5*math.Cos(2*math.Pi*(hour-2)/24))
	if day := t / ticksPerDay % 7; day >= 5 {
		v *= s.weekend
	}
	return v
}

// scale multiplies the demand of some ticks.
func (w *world) scale(from, to int, by float64) {
	for t := max(from, 0); t < min(to, len(w.demand)); t++ {
		w.demand[t] *= by
	}
}

// surge multiplies the demand by up to a factor: it rises over some ticks, stays for some, and falls over some.
func (w *world) surge(from, rise, stay, fall int, factor float64) {
	for i := range rise + stay + fall {
		share := 1.0
		if i < rise {
			share = float64(i+1) / float64(rise)
		} else if i >= rise+stay {
			share = 1 - float64(i-rise-stay+1)/float64(fall+1)
		}
		w.scale(from+i, from+i+1, 1+(factor-1)*share)
	}
}

func noonSpike(w *world, _ *rand.Rand) {
	for day := range len(w.demand) / ticksPerDay {
		if day%7 < 5 {
			w.surge(day*ticksPerDay+12*60*ticksPerMin, ticksPerMin, 9*ticksPerMin, 1, 2.5)
		}
	}
}

func flashCrowd(w *world, r *rand.Rand) {
	for t := r.IntN(4 * ticksPerDay); t < len(w.demand); t += 2*ticksPerDay + r.IntN(4*ticksPerDay) {
		w.surge(t, ticksPerMin, (10+r.IntN(20))*ticksPerMin, 15*ticksPerMin, 3+7*r.Float64())
	}
}

func growth(w *world, _ *rand.Rand) {
	for t := range w.demand {
		w.demand[t] *= math.Pow(1.01, float64(t)/float64(ticksPerDay))
	}
}

func outageHerd(w *world, r *rand.Rand) {
	for t := r.IntN(3 * ticksPerDay); t < len(w.demand); t += 2*ticksPerDay + r.IntN(3*ticksPerDay) {
		down := (20 + r.IntN(20)) * ticksPerMin
		w.scale(t, t+down, 0.02)
		w.surge(t+down, 1, 8*ticksPerMin, 10*ticksPerMin, 2+r.Float64())
	}
}

func bursty(w *world, r *rand.Rand) {
	w.scale(0, len(w.demand), 0.05)
	for t := r.IntN(ticksPerDay / 4); t < len(w.demand); t += r.IntN(ticksPerDay / 2) {
		w.surge(t, 2*ticksPerMin, (5+r.IntN(25))*ticksPerMin, 2*ticksPerMin, 4+8*r.Float64())
	}
}

// blackout takes the metrics away for 20 minutes a day, at all times of the day.
func blackout(w *world, r *rand.Rand) {
	for day := range len(w.demand) / ticksPerDay {
		from := day*ticksPerDay + (1+r.IntN(22))*60*ticksPerMin
		for t := from; t < from+20*ticksPerMin; t++ {
			w.blackout[t] = true
		}
	}
}

// hash is FNV-1a.
func hash(text string) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range []byte(text) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}
