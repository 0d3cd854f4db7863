// Package tortoise is the offline benchmark of tuning: loads, a cluster with an autoscaler, contenders that set its numbers, and
// what each of them costs. It is pure Go with fixed seeds, and every run gives the same numbers.
//
// A run of everything takes many minutes. While something is developed, choose a part:
//
//	go run ./test/bench/tortoise/cmd --seeds 1,2                                  # all families, two seeds
//	go run ./test/bench/tortoise/cmd --traces DIR                                 # real load; every DIR/*.csv.gz is a series
//	go run ./test/bench/tortoise/cmd --seeds 3 --families weekly,retired --contenders flyball,fixed --days 14
//
// A contender that is not named does not run: "fixed" is the grid of fixed settings, without which there is no frontier, and
// figures that lack a contender are left out.
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

// GiBPrice is what a GiB of memory costs, in cores.
const GiBPrice = 0.13

// setting is what can be set: requests of app, sidecar and memory of a pod in milli-CPU and MiB, bounds of the autoscaler, and
// its target in percent. CPU limits are limitRatio times the request; the memory limit is the request.
type setting struct {
	app, side, memory        float64
	minimum, maximum, target int
}

const limitRatio = 2

// reach is the capacity at the maximum of replicas, in milli-CPU.
func (s setting) reach() float64 { return s.app * float64(s.maximum) }

// world is a load, and how the cluster behaves. All contenders are given the same one.
type world struct {
	name string
	seed uint64
	// apart says that the world is in no sum: a size of memory that is fixed does not bear it.
	apart bool
	start time.Time
	// teach is the tick from which on everything is measured. What is before teaches.
	teach int
	// demand is of the app in milli-CPU, over all its pods, each tick. sidecar is the share that the sidecar needs beside it.
	demand  []float64
	sidecar float64
	// memory of a pod in MiB: base, and what each milli-CPU of its load adds. leak is added each day that a pod runs, grown on
	// each day of the simulation.
	memoryBase, memoryPerMilli, leak, grown float64
	// blind ticks have no metrics. unknown ones were not recorded: nothing is measured in them either.
	blind, unknown []bool
	// ready is after how many ticks a pod is ready, node how many more it takes if a node must come, lag how old metrics are.
	ready, node, lag int
	// spread is the deviation of the logarithm of what single pods get of the load.
	spread float64
	// owner is what the owner of the workload set.
	owner setting
}

// at returns the instant of a tick.
func (w *world) at(t int) time.Time { return w.start.Add(time.Duration(t) * tick) }

// judgedDays returns how many days are measured.
func (w *world) judgedDays() float64 {
	judged := 0
	for t := w.teach; t < len(w.demand); t++ {
		if !w.unknown[t] {
			judged++
		}
	}
	return float64(judged) / float64(ticksPerDay)
}

// hash is FNV-1a.
func hash(text string) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range []byte(text) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}
