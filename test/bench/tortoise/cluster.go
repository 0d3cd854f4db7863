package tortoise

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/tune"
)

// pod is one pod. Its CPU requests are in milli-CPU, and its memory request is in MiB.
type pod struct {
	born, readyAt     int
	app, side, memory float64
	// weight is the pod's share of the load. It is 1 on average.
	weight float64
	// old is true if the present roll-out has yet to replace the pod.
	old bool
	// refused is the tick of an infeasible resize of the pod; zero: the last resize was feasible.
	refused int
}

// cluster simulates one workload, tick by tick.
type cluster struct {
	*world
	rand *rand.Rand
	// set is the present setting. Pods follow it with a delay.
	set      setting
	pods     []pod
	replicas int
	scaled   bool // true if an autoscaler sets the replicas
	scaler   tune.Scaler
	// recent has the samples of the last ticks, because metrics are late. The sample of tick t is at index t modulo the
	// length.
	recent [4]sample
	t      int
	tally  tally
	// kills is the number of OOM kills up to now. killed is the largest memory, in MiB, of a pod in the last tick with
	// kills.
	kills  int
	killed float64
}

// sample is what the metrics of one tick show. They can be read only after the lag of the metrics.
type sample struct {
	// app and side are the mean CPU usage of the ready pods, in milli-CPU. memory is the largest memory usage of a pod, in
	// MiB. throttled is the share of the app's demand that was not served. kills is the number of OOM kills since the
	// beginning. killed is the largest memory, in MiB, of a pod in the last tick with kills.
	app, side, memory, throttled, killed float64
	ready, kills                         int
}

// tally has the measured costs. They are measured only after the time for learning.
type tally struct {
	ViolationMinutes, CoreHours, GiBHours float64
	Kills, Restarts, Changes              int
	// CeilingLost is the largest share of the owner's maximum capacity that could not be reached at some tick. Unlike the
	// other fields, it counts from the first tick on.
	CeilingLost float64
}

// cost returns the core hours plus the price of the memory in core hours.
func (t tally) cost() float64 { return t.CoreHours + GiBPrice*t.GiBHours }

func newCluster(w *world, scaled bool, set setting) *cluster {
	c := &cluster{world: w, set: set, scaled: scaled, rand: rand.New(rand.NewPCG(w.seed, hash("pods of "+w.name)))}
	c.replicas = max(c.set.minimum, min(int(math.Ceil(w.demand[0]/c.set.app*100/float64(c.set.target))), c.set.maximum))
	for range c.replicas {
		c.pods = append(c.pods, c.newPod())
		c.pods[len(c.pods)-1].readyAt = 0
	}
	return c
}

// newPod starts a pod. On average, one pod in ten has to wait for a new node.
func (c *cluster) newPod() pod {
	p := pod{born: c.t, readyAt: c.t + c.ready, app: c.set.app, side: c.set.side, memory: c.set.memory,
		weight: math.Exp(c.spread * c.rand.NormFloat64())}
	if c.rand.IntN(10) == 0 {
		p.readyAt += c.node
	}
	return p
}

func (c *cluster) measured() bool { return c.t >= c.teach && !c.unknown[c.t] }

// resize changes the requests of all pods in place.
func (c *cluster) resize(app, side, memory float64) {
	c.set.app, c.set.side, c.set.memory = app, side, memory
	for i := range c.pods {
		c.pods[i].resize(c)
	}
	c.changed()
}

// resize changes the requests of a pod in place. Every twentieth resize is infeasible: the pod stays as it is, and the
// manager tries again after ten minutes.
func (p *pod) resize(c *cluster) {
	if p.refused = 0; c.rand.IntN(20) == 0 {
		p.refused = c.t
		return
	}
	p.app, p.side, p.memory = c.set.app, c.set.side, c.set.memory
}

// refusedRetry is the number of ticks until an infeasible resize is tried again.
const refusedRetry = 10 * ticksPerMin

// rollOut changes the requests in the pod template, and so replaces every pod.
func (c *cluster) rollOut(app, side, memory float64) {
	c.set.app, c.set.side, c.set.memory = app, side, memory
	for i := range c.pods {
		c.pods[i].old = true
	}
	if c.measured() {
		c.tally.Restarts += len(c.pods)
	}
	c.changed()
}

// bound sets the bounds and the target utilisation of the autoscaler.
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

// step simulates one tick: it lets the autoscaler scale, starts and removes pods, serves the load, and adds up the
// costs.
func (c *cluster) step() {
	if c.scaled {
		c.scale()
	}
	c.replicas = max(c.replicas, 0)
	c.replace()
	c.place()
	for i := range c.pods {
		if p := &c.pods[i]; p.refused > 0 && c.t-p.refused >= refusedRetry {
			p.resize(c)
		}
	}
	c.load()
	c.tally.CeilingLost = max(c.tally.CeilingLost, 1-c.set.reach()/c.owner.reach())
	c.t++
}

// scale lets the autoscaler sync. The autoscaler sees late metrics, but the present pods.
func (c *cluster) scale() {
	r := tune.Reading{}
	if s := c.look(); s != nil {
		r = tune.Reading{OK: s.ready > 0, Usage: s.app, Request: c.requested(), Ready: s.ready}
	}
	to := tune.PodSetting{Min: c.set.minimum, Max: c.set.maximum, Target: c.set.target}
	for i := range tick / tune.SyncPeriod {
		r.Unready = max(c.replicas-r.Ready, 0)
		c.replicas = c.scaler.Sync(time.Duration(c.t)*tick+i*tune.SyncPeriod, c.replicas, to, r)
	}
}

// requested returns the mean CPU request of the pods for the app.
func (c *cluster) requested() float64 {
	sum := 0.0
	for i := range c.pods {
		sum += c.pods[i].app
	}
	return sum / float64(len(c.pods))
}

// replace continues a roll-out as a Deployment does by default. There may be a quarter more pods than wanted, rounded
// up, and a quarter fewer ready pods than wanted, rounded down.
func (c *cluster) replace() {
	old, ready := 0, 0
	for i := range c.pods {
		if p := &c.pods[i]; p.readyAt <= c.t {
			ready++
		}
		if c.pods[i].old {
			old++
		}
	}
	if old == 0 {
		return
	}
	spare := ready - (c.replicas - c.replicas/4)
	c.pods = slices.DeleteFunc(c.pods, func(p pod) bool {
		switch {
		case !p.old:
			return false
		case p.readyAt <= c.t && spare <= 0:
			return false
		case p.readyAt <= c.t:
			spare--
		}
		old--
		return true
	})
	for fresh := len(c.pods) - old; fresh < c.replicas && len(c.pods) < c.replicas+(c.replicas+3)/4; fresh++ {
		c.pods = append(c.pods, c.newPod())
	}
}

// place starts missing pods and removes surplus pods. It first removes pods that are not ready, then the youngest pods.
// It leaves old pods to the roll-out.
func (c *cluster) place() {
	old := 0
	for i := range c.pods {
		if c.pods[i].old {
			old++
		}
	}
	for len(c.pods) < c.replicas {
		c.pods = append(c.pods, c.newPod())
	}
	most := c.replicas
	if old > 0 {
		most += (c.replicas + 3) / 4
	}
	for i := len(c.pods) - 1; i >= 0 && len(c.pods) > most; i-- {
		if c.pods[i].readyAt > c.t {
			c.pods = slices.Delete(c.pods, i, i+1)
		}
	}
	c.pods = c.pods[:min(len(c.pods), most)]
}

// load serves the demand of the tick and measures the costs.
func (c *cluster) load() {
	demand, ready, weights, capacity, sides, cores, memory := c.demand[c.t], 0, 0.0, 0.0, 0.0, 0.0, 0.0
	for i := range c.pods {
		p := &c.pods[i]
		cores += p.app + p.side
		memory += p.memory
		if p.readyAt <= c.t {
			ready++
			weights += p.weight
			capacity += p.app
			sides += p.side
		}
	}
	c.recent[c.t%len(c.recent)] = c.serve(demand/weights, ready)
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

// serve lets each ready pod serve its part of the demand, and kills the pods whose memory is too small. It returns the
// sample of the tick.
func (c *cluster) serve(perWeight float64, ready int) sample {
	s := sample{ready: ready, kills: c.kills, killed: c.killed}
	if ready == 0 {
		return s
	}
	wanted, killed, day := 0.0, 0.0, float64(ticksPerDay)
	base := c.memoryBase + c.grown*float64(c.t)/day
	for i := range c.pods {
		p := &c.pods[i]
		if p.readyAt > c.t {
			continue
		}
		want := perWeight * p.weight
		got := min(want, p.app*limitRatio)
		wanted += want
		s.app += got
		s.side += min(want*c.sidecar, p.side*limitRatio)
		used := base + c.memoryPerMilli*got + c.leak*float64(c.t-p.born)/day
		s.memory = max(s.memory, min(used, p.memory))
		if used > p.memory {
			p.born, p.readyAt = c.t, c.t+c.ready
			c.kills++
			killed = max(killed, p.memory)
			if c.measured() {
				c.tally.Kills++
				c.tally.Restarts++
			}
		}
	}
	if wanted > 0 {
		s.throttled = 1 - s.app/wanted
	}
	s.app /= float64(ready)
	s.side /= float64(ready)
	c.killed = cmp.Or(killed, c.killed)
	s.kills, s.killed = c.kills, c.killed
	return s
}

// look returns the newest sample that the metrics show. It returns nil while there are no metrics.
func (c *cluster) look() *sample {
	if c.t <= c.lag || c.blind[c.t-1] {
		return nil
	}
	return &c.recent[(c.t-1-c.lag)%len(c.recent)]
}
