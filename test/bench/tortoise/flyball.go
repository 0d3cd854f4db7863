package tortoise

import (
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	policytortoise "flyball.dev/flyball/engine/policy/tortoise"
	"flyball.dev/flyball/engine/workload"
)

// learner is a Tortoise as in the manager. It sees one sample a minute and decides once a minute, and its advice is
// carried out.
type learner struct {
	policy.Learner
	seen policy.Seen
	// throttling is true if samples show how much demand limits kept from being served, as samples from Prometheus do.
	throttling bool
	// kills is the number of OOM kills that the learner has seen.
	kills int
}

const (
	app, proxy = "app", "proxy"
	mebi       = 1 << 20
)

// newLearner returns the learner of a policy with the given rules. It sets the mode to Auto, because in other modes
// nothing would be carried out.
func newLearner(w *world, rules v1alpha1.TortoiseRules, throttling bool) *learner {
	rules.Mode = v1alpha1.TortoiseAuto
	tuner, errs := policytortoise.NewTuner(rules)
	if len(errs) > 0 {
		panic(fmt.Sprintf("the rules of a contender are refused: %v", errs.ToAggregate()))
	}
	m, err := tuner.NewLearner(nil)
	if err != nil {
		panic(fmt.Sprintf("nothing was kept, and it cannot be read: %v", err))
	}
	own := w.owner
	return &learner{Learner: m, throttling: throttling, seen: policy.Seen{
		Since: w.start, Pods: policy.SeenPods{Able: true}, Node: workload.Requests{MilliCPU: 16_000, MemoryBytes: 64 << 30},
		Requested: map[string]int64{}, Largest: map[string]workload.Requests{},
		Own: workload.Allocations{
			{Component: app, Requests: requests(own.app, own.memory), Limits: requests(limitRatio*own.app, own.memory)},
			{Component: proxy, Requests: requests(own.side, 0), Limits: requests(limitRatio*own.side, 0)},
		},
		Autoscaler: &policy.SeenAutoscaler{
			Ref:         workload.Ref{Namespace: "shop", Name: "web"},
			Bounds:      workload.Bounds{Min: ptr.To(int64(own.minimum)), Max: ptr.To(int64(own.maximum))},
			Utilisation: []workload.Utilisation{{Container: app, Resource: workload.CPU, Percent: int64(own.target)}},
		},
	}}
}

func requests(milli, mebis float64) workload.Requests {
	return workload.Requests{MilliCPU: int64(milli), MemoryBytes: int64(mebis * mebi)}
}

func (m *learner) tune(c *cluster) {
	if c.t%ticksPerMin != 0 {
		return
	}
	m.look(c)
	if s := c.look(); s != nil && (s.ready > 0 || s.kills > m.kills) {
		sample := workload.Sample{
			At: m.seen.Now, Container: app, CPU: s.app, Memory: s.memory * mebi, Replicas: s.ready, OOMKills: s.kills - m.kills,
			MemoryLimit: s.killed * mebi,
		}
		m.kills = s.kills
		if m.throttling {
			sample.Throttled = s.throttled
		}
		m.Observe(sample, workload.Sample{At: m.seen.Now, Container: proxy, CPU: s.side, Memory: -1, Replicas: s.ready})
	}
	if a := m.Decide(m.seen).Advice; a != nil {
		carryOut(c, a)
	}
}

// look updates the observation of the cluster, except the usage.
func (m *learner) look(c *cluster) {
	s := &m.seen
	s.Now, s.Replicas, s.Ready, s.Started, s.Stuck = c.at(c.t), c.replicas, 0, nil, c.t > 0 && c.blind[c.t-1]
	s.Pods.Refused = false
	var apps, sides float64
	var largest pod
	for i := range c.pods {
		p := &c.pods[i]
		largest.app, largest.side, largest.memory = max(largest.app, p.app), max(largest.side, p.side), max(largest.memory, p.memory)
		s.Pods.Refused = s.Pods.Refused || p.refused > 0
		if p.readyAt > c.t {
			continue
		}
		s.Ready++
		apps, sides = apps+p.app, sides+p.side
		if p.readyAt > c.t-ticksPerMin && p.born > 0 {
			s.Started = append(s.Started, time.Duration(p.readyAt-p.born)*tick)
		}
	}
	clear(s.Requested)
	if s.Ready > 0 {
		s.Requested[app], s.Requested[proxy] = int64(apps)/int64(s.Ready), int64(sides)/int64(s.Ready)
	}
	s.Largest[app], s.Largest[proxy] = requests(largest.app, largest.memory), requests(largest.side, 0)
}

// carryOut carries out advice. A number without advice gets the owner's value.
func carryOut(c *cluster, a *workload.Advice) {
	amount := func(container string, of workload.Resource, own float64) float64 {
		if n, asked := a.Amounts[workload.Amount{Kind: workload.AmountRequest, Component: container, Resource: of}]; asked {
			return float64(n)
		}
		return own
	}
	cpu, side, memory := amount(app, workload.CPU, c.owner.app), amount(proxy, workload.CPU, c.owner.side),
		amount(app, workload.Memory, c.owner.memory*mebi)/mebi
	if cpu != c.set.app || side != c.set.side || memory != c.set.memory {
		if a.InPlace {
			c.resize(cpu, side, memory)
		} else {
			c.rollOut(cpu, side, memory)
		}
	}
	least, most, target := int64(c.owner.minimum), int64(c.owner.maximum), int64(c.owner.target)
	if a.Min != nil {
		least = *a.Min
	}
	if a.Max != nil {
		most = *a.Max
	}
	if n, asked := a.Targets[workload.Amount{Kind: workload.AmountUtilisation, Component: app, Resource: workload.CPU}]; asked {
		target = n
	}
	c.bound(int(least), int(most), int(target))
}
