// Package tortoise is the offline benchmark of tuning: it has loads, a simulated cluster with an autoscaler, contenders
// that set the numbers, and the cost of each contender. It is pure Go with fixed seeds, and every run gives the same
// numbers.
//
// A run of everything takes many minutes. While something is developed, choose a part:
//
//	go run ./test/bench/tortoise/cmd --seeds 1,2                                  # all families, two seeds
//	go run ./test/bench/tortoise/cmd --traces DIR                                 # real load; every DIR/*.csv.gz is a series
//	go run ./test/bench/tortoise/cmd --seeds 3 --families weekly,retired --contenders flyball,fixed --days 14
//
// A contender that is not named does not run: The contender "fixed" is the grid of fixed settings. Without it there is
// no frontier. Figures that lack a contender are left out.
package tortoise

import "time"

// A tick is the step of the simulation.
const (
	tick        = 30 * time.Second
	ticksPerMin = int(time.Minute / tick)
	ticksPerDay = int(24 * time.Hour / tick)
)

// threshold is the share of the ready capacity above which demand is a violation.
const threshold = 0.85

// GiBPrice is the price of a GiB of memory, in cores.
const GiBPrice = 0.13

// setting has the numbers that can be set: the requests of a pod for the app, the sidecar and the memory, in milli-CPU
// and MiB, the bounds of the autoscaler, and its target utilisation in percent. A CPU limit is limitRatio times the
// request. The memory limit equals the request.
type setting struct {
	app, side, memory        float64
	minimum, maximum, target int
}

const limitRatio = 2

// reach returns the capacity of the app at the maximum of replicas, in milli-CPU.
func (s setting) reach() float64 { return s.app * float64(s.maximum) }

// world has a load and the behaviour of the cluster. All contenders run in the same world.
type world struct {
	name string
	seed uint64
	// apart is true if the world does not count in sums, because no fixed size of memory is enough for it.
	apart bool
	start time.Time
	// teach is the tick from which on everything is measured. The ticks before are for learning.
	teach int
	// demand is the CPU demand of the app over all its pods at each tick, in milli-CPU. sidecar is the share of it that
	// the sidecar needs in addition.
	demand  []float64
	sidecar float64
	// memoryBase is the memory of a pod without load, in MiB. memoryPerMilli is the memory that each milli-CPU of load
	// adds. leak is added for each day that a pod runs, and grown is added for each day of the simulation.
	memoryBase, memoryPerMilli, leak, grown float64
	// blind is true for ticks without metrics. unknown is true for ticks that were not recorded, in which nothing is
	// measured either.
	blind, unknown []bool
	// ready is the number of ticks until a pod is ready. node is the number of additional ticks if the pod needs a new
	// node. lag is the age of metrics in ticks.
	ready, node, lag int
	// spread is the standard deviation of the logarithm of a pod's share of the load.
	spread float64
	// owner is the setting of the workload's owner.
	owner setting
}

// at returns the instant of a tick.
func (w *world) at(t int) time.Time { return w.start.Add(time.Duration(t) * tick) }

// judgedDays returns the number of measured days.
func (w *world) judgedDays() float64 {
	judged := 0
	for t := w.teach; t < len(w.demand); t++ {
		if !w.unknown[t] {
			judged++
		}
	}
	return float64(judged) / float64(ticksPerDay)
}

// hash returns the FNV-1a hash of a text.
func hash(text string) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range []byte(text) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}
