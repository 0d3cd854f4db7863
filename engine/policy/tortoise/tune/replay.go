package tune

import (
	"math"
	"time"
)

// Load is the demand of a workload by the minute.
type Load struct {
	// First is the number of the first minute, in minutes of Unix time. Hours and days are counted from this minute.
	First int64
	// Demand is the demand of all pods together in a minute, in milli-CPU; negative: unknown.
	Demand []float32
}

// PodSetting is the setting of a pod and its autoscaler.
type PodSetting struct {
	// Request is the CPU request of the scaled container in milli-CPU.
	Request int64
	// Target is the target utilisation in percent; 0: there is no autoscaler, and the number of pods is always Min.
	Target int
	// Min and Max bound the number of pods.
	Min, Max int
}

// System describes the behaviour of the autoscaler and the pods.
type System struct {
	// Lag is the age of the autoscaler's metrics. Start is the time from a pod's creation until it is ready.
	Lag, Start time.Duration
	// Headroom is the share of the ready capacity above which demand is a violation.
	Headroom float64
}

// Default returns the system that is assumed without measurements.
func Default() System { return System{Lag: 45 * time.Second, Start: time.Minute, Headroom: 0.85} }

// Outcome is the outcome of a setting over some steps.
type Outcome struct {
	// Steps is the number of steps with known demand. Violations is the number of steps with demand above the headroom.
	// PodSteps is the sum of the pods in all Steps.
	Steps, Violations, PodSteps int
}

// Pods returns the mean number of pods.
func (o Outcome) Pods() float64 { return float64(o.PodSteps) / float64(max(o.Steps, 1)) }

// Minutes returns the minutes with demand above the headroom.
func (o Outcome) Minutes() float64 { return float64(o.Violations) * ReplayStep.Minutes() }

// ReplayStep is the time between two looks at the pods. Within a step, the autoscaler decides once every SyncPeriod.
const ReplayStep = 30 * time.Second

const (
	stepsPerMinute = int(time.Minute / ReplayStep)
	minutesPerHour = 60
)

// Early returns how long before an hour its minimum is set, in whole minutes. So the pods are ready when the hour begins.
func (s System) Early() time.Duration { return (s.Start + 2*time.Minute - 1).Truncate(time.Minute) }

// Play replays a load. minima are the minima for each hour of the load, or nil. The minimum of an hour counts if it is
// above the setting's minimum. It counts already before the hour, for the time Early. The replay begins with enough pods
// for the first known demand.
func Play(l Load, sys System, s PodSetting, minima []int) (o Outcome) {
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
				c.Next(now, float64(demand), &o)
			}
		}
	}
	return o
}

// start returns the number of pods with which a demand is served at the target utilisation.
func (s PodSetting) start(demand float64) int {
	if s.Target == 0 {
		return s.Min
	}
	return int(min(max(math.Ceil(demand*100/(float64(s.Request)*float64(s.Target))), float64(s.Min)), float64(s.Max)))
}

// slots is one more than the largest number of steps until a pod is ready. The same limit holds for the age of metrics.
const slots = 64

// Cluster is a workload with its autoscaler: the number of ready pods, and the numbers of pods that become ready in later
// steps.
type Cluster struct {
	system     System
	scaler     Scaler
	lag, start int
	now        int
	ready, all int
	// due has the number of pods that become ready in a step. seen has the metrics of a step. The index of both is the step
	// modulo slots.
	due  [slots]int
	seen [slots]Reading
}

// NewCluster returns a cluster with some ready pods.
func NewCluster(s System, pods int) *Cluster {
	steps := func(d time.Duration) int { return min(max(int((d+ReplayStep-1)/ReplayStep), 0), slots-1) }
	return &Cluster{system: s, lag: steps(s.Lag), start: steps(s.Start), ready: pods, all: pods}
}

// Pods returns the number of all pods and the number of ready pods.
func (c *Cluster) Pods() (all, ready int) { return c.all, c.ready }

// Next plays one step. The autoscaler decides by its metrics, and the pods serve a demand in milli-CPU. A negative demand
// is unknown. A step with unknown demand has no metrics and does not count.
func (c *Cluster) Next(s PodSetting, demand float64, o *Outcome) {
	slot := c.now & (slots - 1)
	c.ready += c.due[slot]
	c.due[slot] = 0
	c.scale(s)
	c.seen[slot] = Reading{}
	if demand >= 0 {
		capacity := float64(c.ready) * float64(s.Request)
		o.Steps++
		o.PodSteps += c.all
		if demand > c.system.Headroom*capacity {
			o.Violations++
		}
		c.seen[slot] = Reading{OK: c.ready > 0, Usage: demand / float64(max(c.ready, 1)), Request: float64(s.Request), Ready: c.ready}
	}
	c.now++
}

// scale sets the number of pods to the number that the autoscaler wants.
func (c *Cluster) scale(s PodSetting) {
	if s.Target == 0 {
		c.resize(s.Min)
		return
	}
	var r Reading
	if c.now > c.lag {
		r = c.seen[(c.now-1-c.lag)&(slots-1)]
	}
	for at := time.Duration(0); at < ReplayStep; at += SyncPeriod {
		r.Unready = max(c.all-r.Ready, 0)
		before, now := c.all, time.Duration(c.now)*ReplayStep+at
		if c.resize(c.scaler.Sync(now, c.all, s, r)); c.all == before && !c.scaler.Forgets(now+SyncPeriod) {
			return // the next decision would have the same input
		}
	}
}

// resize starts new pods, or removes the newest pods.
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
