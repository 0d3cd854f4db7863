package tortoise

import (
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/optimize"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/policy/tortoise/usage"
)

// flyball is package tune, with the source Prometheus: it sees samples of every tick, and decides every minute.
type flyball struct {
	*tune.Tuner
	spec tune.Spec
}

const (
	app, proxy = "app", "proxy"
	mebi       = 1 << 20
)

func newOurs(*world) *flyball {
	return &flyball{Tuner: tune.New(), spec: tune.Defaults(optimize.Profiles["Balanced"], app)}
}

func (f *flyball) tune(c *cluster) {
	now := at(c.t)
	if s := c.look(); s.ok {
		when := at(c.t - 1 - c.lag)
		f.Observe(
			usage.Sample{At: when, Container: app, CPU: s.app, Memory: s.memory * mebi, Replicas: s.ready, Throttled: s.throttled, OOMKills: s.kills, MemoryLimit: c.set.memory * mebi},
			usage.Sample{At: when, Container: proxy, CPU: s.side, Memory: -1, Replicas: s.ready},
		)
	}
	if c.t%ticksPerMin != 0 {
		return
	}
	ready := 0
	var started []time.Duration
	for _, p := range c.pods {
		if p.readyAt > c.t {
			continue
		}
		ready++
		if p.readyAt > c.t-ticksPerMin && p.born > 0 {
			started = append(started, time.Duration(p.readyAt-p.born)*tick)
		}
	}
	o := tune.Observed{
		Now: now, Replicas: c.replicas, Ready: ready, Started: started, Stuck: c.t > 0 && c.blackout[c.t-1],
		Setting: tune.Setting{
			Min: c.set.minimum, Max: c.set.maximum, Utilisation: c.set.target,
			Requests: map[string]tune.Request{app: {CPU: int64(c.set.app), Memory: int64(c.set.memory * mebi)}, proxy: {CPU: int64(c.set.side)}},
		},
	}
	r := f.Decide(f.spec, o).Setting
	c.bound(r.Min, r.Max, r.Utilisation)
	if a, p := r.Requests[app], r.Requests[proxy]; a != o.Setting.Requests[app] || p != o.Setting.Requests[proxy] {
		c.resize(float64(a.CPU), float64(p.CPU), float64(a.Memory)/mebi)
	}
}
