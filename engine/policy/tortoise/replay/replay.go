// Package replay plays a demand through the rules of an autoscaler: what a setting would have cost, and for how long demand would have been
// above the headroom of the pods that are ready. Pods are counts and not objects, so that ten days take a few milliseconds, and hundreds of
// settings can be compared. It sees no client and calls no clock.
//
// A Load is what was wanted, by the minute. Play replays it for one Setting and gives an Outcome a day:
//
//	days := replay.Play(load, replay.Default(), replay.Setting{Request: 500, Target: 65, Min: 3, Max: 20}, nil)
//	all := replay.Total(days)
//	fmt.Println(all.Pods()*500, all.Minutes())
package replay

import (
	"math"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/autoscaler"
)

// Load is the demand of a workload by the minute.
type Load struct {
	// First is the minute of Unix time of the first value. Hours and days are counted from there.
	First int64
	// Demand is what all pods together wanted in a minute, in milli-CPU; below 0: not known.
	Demand []float32
}

// Setting is what is set: of a pod, and of its autoscaler.
type Setting struct {
	// Request is the CPU request of the scaled container in milli-CPU.
	Request int64
	// Target is the target utilisation in percent; 0: nothing scales, and there are Min pods.
	Target int
	// Min and Max bound the pods.
	Min, Max int
}

// System says how the autoscaler and the pods behave.
type System struct {
	// Lag is how old the metrics of the autoscaler are, and Start how long a pod takes until it is ready.
	Lag, Start time.Duration
	// Headroom is the share of the ready capacity above which demand is a violation.
	Headroom float64
	// Burst is how many times its request a pod can use at most, by its limit; 0: as much as it wants.
	Burst float64
}

// Default is a system that nothing is known of.
func Default() System { return System{Lag: 45 * time.Second, Start: time.Minute, Headroom: 0.85} }

// Outcome is what a setting came to over some steps.
type Outcome struct {
	// Steps are those of which the demand is known, Violations those of them in which it was above the headroom, PodSteps the sum of the pods
	// in them.
	Steps, Violations, PodSteps int
	// Demand is the sum of the demand, in milli-CPU.
	Demand float64
}

// Add adds another outcome.
func (o *Outcome) Add(p Outcome) {
	o.Steps += p.Steps
	o.Violations += p.Violations
	o.PodSteps += p.PodSteps
	o.Demand += p.Demand
}

// Pods returns how many pods there were on average.
func (o Outcome) Pods() float64 { return float64(o.PodSteps) / float64(max(o.Steps, 1)) }

// Minutes returns for how many minutes demand was above the headroom.
func (o Outcome) Minutes() float64 { return float64(o.Violations) * Step.Minutes() }

// Total adds up outcomes.
func Total(all []Outcome) Outcome {
	var sum Outcome
	for _, o := range all {
		sum.Add(o)
	}
	return sum
}

// Step is the time between two looks at the pods; the autoscaler decides at each SyncPeriod of it.
const Step = 30 * time.Second

const (
	stepsPerMinute = int(time.Minute / Step)
	minutesPerHour = 60
	minutesPerDay  = 24 * minutesPerHour
)

// Early returns how long before an hour the minimum for it is set, in whole minutes, so that pods are ready when the hour begins.
func (s System) Early() time.Duration { return (s.Start + 2*time.Minute - 1).Truncate(time.Minute) }

// Play replays a load and gives an outcome for each day of it. minima are the minimum by hour of the load, each of which counts where it is
// above the one of the setting, and Early before its hour; nil: there are none. It begins with the pods that the first known demand needs.
func Play(l Load, sys System, s Setting, minima []int) []Outcome {
	days := make([]Outcome, (len(l.Demand)+minutesPerDay-1)/minutesPerDay)
	var c *Cluster
	now, early := s, int(sys.Early().Minutes())
	for i, demand := range l.Demand {
		if i/minutesPerHour < len(minima) {
			soon := min((i+early)/minutesPerHour, len(minima)-1)
			now.Min = min(max(s.Min, minima[i/minutesPerHour], minima[soon]), max(s.Max, s.Min))
		}
		if c == nil && demand >= 0 {
			c = NewCluster(sys, now.start(float64(demand)))
		}
		for range stepsPerMinute {
			if c != nil {
				c.Next(now, float64(demand), &days[i/minutesPerDay])
			}
		}
	}
	return days
}

// start is how many pods serve a demand at the target.
func (s Setting) start(demand float64) int {
	if s.Target == 0 {
		return s.Min
	}
	return int(min(max(math.Ceil(demand*100/(float64(s.Request)*float64(s.Target))), float64(s.Min)), float64(s.Max)))
}

// slots are how many steps ahead of now a pod may become ready, and metrics may be late.
const slots = 64

// Cluster is a workload with its autoscaler: how many pods are ready, and how many will be in which step.
type Cluster struct {
	system     System
	scaler     autoscaler.Scaler
	lag, start int
	now        int
	ready, all int
	// due has the pods that become ready in a step, and seen what the metrics say of one, by the step modulo slots.
	due  [slots]int
	seen [slots]autoscaler.Reading
}

// NewCluster makes a cluster in which some pods are ready.
func NewCluster(s System, pods int) *Cluster {
	steps := func(d time.Duration) int { return min(max(int((d+Step-1)/Step), 0), slots-1) }
	return &Cluster{system: s, lag: steps(s.Lag), start: steps(s.Start), ready: pods, all: pods}
}

// Pods returns how many pods there are, and how many of them are ready.
func (c *Cluster) Pods() (all, ready int) { return c.all, c.ready }

// Next plays one step: the autoscaler decides by what it sees, and the pods serve a demand in milli-CPU. A demand below 0 is not known: there
// are no metrics of it, and it counts for nothing.
func (c *Cluster) Next(s Setting, demand float64, o *Outcome) {
	slot := c.now & (slots - 1)
	c.ready += c.due[slot]
	c.due[slot] = 0
	c.scale(s)
	c.seen[slot] = autoscaler.Reading{}
	if demand >= 0 {
		capacity := float64(c.ready) * float64(s.Request)
		o.Steps++
		o.PodSteps += c.all
		o.Demand += demand
		if demand > c.system.Headroom*capacity {
			o.Violations++
		}
		if c.system.Burst > 0 {
			demand = min(demand, c.system.Burst*capacity)
		}
		c.seen[slot] = autoscaler.Reading{OK: c.ready > 0, Usage: demand / float64(max(c.ready, 1)), Request: float64(s.Request), Ready: c.ready}
	}
	c.now++
}

// scale has the autoscaler decide how many pods there are.
func (c *Cluster) scale(s Setting) {
	if s.Target == 0 {
		c.resize(s.Min)
		return
	}
	var r autoscaler.Reading
	if c.now > c.lag {
		r = c.seen[(c.now-1-c.lag)&(slots-1)]
	}
	to := autoscaler.Setting{Min: s.Min, Max: s.Max, Target: s.Target}
	for at := time.Duration(0); at < Step; at += autoscaler.SyncPeriod {
		r.Unready = max(c.all-r.Ready, 0)
		c.resize(c.scaler.Sync(time.Duration(c.now)*Step+at, c.all, to, r))
	}
}

// resize starts pods, or removes those that started last.
func (c *Cluster) resize(to int) {
	if to > c.all && c.start > 0 {
		c.due[(c.now+c.start)&(slots-1)] += to - c.all
		c.all = to
		return
	}
	for back := c.start; back > 0 && c.all > to; back-- {
		slot := (c.now + back) & (slots - 1)
		gone := min(c.due[slot], c.all-to)
		c.due[slot] -= gone
		c.all -= gone
	}
	c.ready += to - c.all
	c.all = to
}
