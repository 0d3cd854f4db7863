package tortoise

import (
	"math"
	"math/rand/v2"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/autoscaler"
)

// pod is one replica. Requests are in milli-CPU and MiB.
type pod struct {
	born, readyAt     int
	app, side, memory float64
	// weight is its share of the load, 1 on average.
	weight float64
	// old pods are replaced by a roll-out that is under way.
	old bool
}

// cluster runs one workload tick by tick.
type cluster struct {
	*world
	rand *rand.Rand
	// set is what is set now; pods follow it.
	set      setting
	pods     []pod
	replicas int
	scaler   *autoscaler.Scaler // nil: nothing scales
	readings []autoscaler.Reading
	seen     []sample
	t        int
	tally    tally
	// kills are OOM kills that the next sample tells.
	kills int
}

// sample is what somebody who tunes can see of one tick, late by the lag of the metrics.
type sample struct {
	ok bool
	// app and side are the mean usage of the ready pods in milli-CPU, memory the largest usage in MiB; throttled is the share of
	// the app's demand that was not served.
	app, side, memory, throttled float64
	ready, replicas, kills       int
	appRequest                   float64
}

// tally is what is measured after the warm-up.
type tally struct {
	ViolationMinutes, CoreHours, GiBHours float64
	Kills, Restarts, Changes              int
	// Fallen says how many replicas' worth of capacity went in a blackout, in milli-CPU.
	Fallen float64
}

// threshold is the share of the ready capacity above which demand counts as a violation.
const threshold = 0.85

func newCluster(w *world, scaled bool) *cluster {
	c := &cluster{world: w, set: w.owner, rand: rand.New(rand.NewPCG(w.seed, hash("pods of "+w.family)))}
	if scaled {
		c.scaler = &autoscaler.Scaler{}
	}
	c.replicas = max(c.set.minimum, int(math.Ceil(w.demand[0]/c.set.app*100/float64(c.set.target))))
	for range c.replicas {
		c.pods = append(c.pods, c.newPod())
		c.pods[len(c.pods)-1].readyAt = 0
	}
	return c
}

// newPod starts a pod: every tenth waits for a node.
func (c *cluster) newPod() pod {
	p := pod{born: c.t, readyAt: c.t + c.ready, app: c.set.app, side: c.set.side, memory: c.set.memory, weight: math.Exp(c.spread * c.rand.NormFloat64())}
	if c.rand.IntN(10) == 0 {
		p.readyAt += c.node
	}
	return p
}

func (c *cluster) measured() bool {
	return c.t >= warmUp*ticksPerDay || len(c.demand) <= warmUp*ticksPerDay
}

// resize changes the requests of all pods in place; every twentieth is infeasible and stays as it is.
func (c *cluster) resize(app, side, memory float64) {
	c.note(app, side, memory)
	for i := range c.pods {
		if p := &c.pods[i]; c.rand.IntN(20) > 0 {
			p.app, p.side, p.memory = app, side, memory
		}
	}
}

// rollOut changes the requests in the template, and so replaces every pod.
func (c *cluster) rollOut(app, side, memory float64) {
	c.note(app, side, memory)
	for i := range c.pods {
		c.pods[i].old = true
	}
	if c.measured() {
		c.tally.Restarts += len(c.pods)
	}
}

func (c *cluster) note(app, side, memory float64) {
	appRatio, sideRatio := c.set.appLimit/c.set.app, c.set.sideLimit/c.set.side
	c.set.app, c.set.side, c.set.memory = app, side, memory
	c.set.appLimit, c.set.sideLimit = app*appRatio, side*sideRatio
	c.changed()
}

// bound sets the bounds and the target.
func (c *cluster) bound(minimum, maximum, target int) {
	if minimum != c.set.minimum || maximum != c.set.maximum || target != c.set.target {
		c.set.minimum, c.set.maximum, c.set.target = minimum, maximum, target
		c.changed()
	}
}

func (c *cluster) changed() {
	if c.measured() {
		c.tally.Changes++
	}
}

// step runs one tick: the autoscaler, pods that come and go, load, and what it costs.
func (c *cluster) step() {
	before := c.capacity()
	if c.scaler != nil {
		r := autoscaler.Reading{}
		if c.t >= c.lag && !c.blackout[c.t] {
			r = c.readings[c.t-c.lag]
		}
		for i := range tick / autoscaler.SyncPeriod {
			if r.OK {
				r.Unready = max(c.replicas-r.Ready, 0)
			}
			c.replicas = c.scaler.Sync(time.Duration(c.t)*tick+i*autoscaler.SyncPeriod, c.replicas, autoscaler.Setting{Min: c.set.minimum, Max: c.set.maximum, Target: c.set.target}, r)
		}
	} else {
		c.replicas = min(max(c.replicas, c.set.minimum), c.set.maximum)
	}
	c.place()
	c.load()
	if c.measured() && c.blackout[c.t] {
		c.tally.Fallen += max(before-c.capacity(), 0)
	}
	c.t++
}

// capacity is what all pods request for the app, in milli-CPU, ready or not.
func (c *cluster) capacity() float64 {
	sum := 0.0
	for _, p := range c.pods {
		sum += p.app
	}
	return sum
}

// place starts and removes pods: those that are not ready first, then the youngest. A roll-out starts a quarter more and removes as
// many old ones as became ready.
func (c *cluster) place() {
	old, fresh := 0, 0
	for _, p := range c.pods {
		if p.old {
			old++
		} else if p.readyAt > c.t {
			fresh++
		}
	}
	wanted := c.replicas
	if old > 0 {
		surge := (c.replicas + 3) / 4
		if fresh == 0 {
			for range min(surge, old) {
				c.pods = append(c.pods, c.newPod())
			}
		}
		for i := 0; i < len(c.pods) && len(c.pods) > c.replicas && c.readyFresh() > c.replicas-old; i++ {
			if c.pods[i].old {
				c.pods = append(c.pods[:i], c.pods[i+1:]...)
				old--
				i--
			}
		}
		wanted = max(wanted, min(len(c.pods), c.replicas+surge))
	}
	for len(c.pods) < wanted {
		c.pods = append(c.pods, c.newPod())
	}
	for len(c.pods) > wanted {
		c.pods = c.pods[:len(c.pods)-1]
	}
}

// readyFresh counts the ready pods that are not old.
func (c *cluster) readyFresh() int {
	n := 0
	for _, p := range c.pods {
		if !p.old && p.readyAt <= c.t {
			n++
		}
	}
	return n
}

// load serves the demand of the tick, and measures.
func (c *cluster) load() {
	demand := c.demand[c.t]
	ready, weights, capacity, sides, cores, memory := 0, 0.0, 0.0, 0.0, 0.0, 0.0
	for _, p := range c.pods {
		cores += p.app + p.side
		memory += p.memory
		if p.readyAt <= c.t {
			ready++
			weights += p.weight
			capacity += p.app
			sides += p.side
		}
	}
	s := sample{ok: ready > 0, ready: ready, replicas: c.replicas, appRequest: c.set.app}
	served := 0.0
	ratio := c.set.appLimit / c.set.app
	for i := range c.pods {
		p := &c.pods[i]
		if p.readyAt > c.t {
			continue
		}
		want := demand * p.weight / weights
		got := min(want, p.app*ratio)
		served += got
		s.side += min(want*c.sidecar, p.side*2) / float64(ready)
		used := c.memoryBase + c.memoryPerMilli*got + c.grown*float64(c.t)/float64(ticksPerDay) + c.leak*float64(c.t-p.born)/float64(ticksPerDay)
		s.memory = max(s.memory, min(used, p.memory))
		if used > p.memory {
			p.born, p.readyAt = c.t, c.t+c.ready
			c.kills++
			if c.measured() {
				c.tally.Kills++
				c.tally.Restarts++
			}
		}
	}
	if ready > 0 {
		s.app, s.throttled = served/float64(ready), 1-served/demand
	}
	s.kills, c.kills = c.kills, 0
	c.readings = append(c.readings, autoscaler.Reading{OK: ready > 0, Usage: s.app, Request: c.set.app, Ready: ready})
	c.seen = append(c.seen, s)
	if !c.measured() {
		return
	}
	hours := tick.Hours()
	c.tally.CoreHours += cores / 1000 * hours
	c.tally.GiBHours += memory / 1024 * hours
	if demand > threshold*capacity || demand*c.sidecar > threshold*sides {
		c.tally.ViolationMinutes += tick.Minutes()
	}
}

// look gives the newest sample that can be seen; ok is false in a blackout.
func (c *cluster) look() sample {
	if c.t <= c.lag || c.blackout[c.t-1] {
		return sample{}
	}
	return c.seen[c.t-1-c.lag]
}
