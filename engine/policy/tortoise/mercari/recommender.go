package mercari

import (
	"maps"
	"math"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/usage"
)

const (
	// quantile is that of the target, upperQuantile that of the upper bound; margin is what both have above usage.
	quantile, upperQuantile, margin = 0.9, 0.95, 1.15
	// halfLife is that of CPU, and of the peaks of memory.
	halfLife = 24 * time.Hour
	// killBump is how much more than its limit a container that was killed is taken to need, and leastBump the least that is added, in MiB.
	killBump, leastBump = 1.2, 100
	day                 = 24 * time.Hour
	mebi                = 1 << 20
)

// Recommender says what the recommender of the VerticalPodAutoscaler would say of the same samples: for CPU a quantile of usage in which
// each pod counts the same, for memory one of the peaks of days, both with older samples at less weight and with a margin. The profile
// needs its numbers where no VerticalPodAutoscaler is installed. They are within a bucket of those of a real one, of which a test has the
// record: buckets differ, and a day begins at midnight. The zero value has seen nothing.
//
// Source: VerticalPodAutoscaler, pkg/recommender/logic/recommender.go and pkg/recommender/model.
type Recommender struct {
	containers map[string]*container
	first      time.Time
}

type container struct {
	cpu, memory usage.Histogram
	// peak is the largest memory in MiB of the day that began at since.
	peak  float64
	since time.Time
}

// Observe learns from a sample.
func (r *Recommender) Observe(s usage.Sample) {
	if r.first.IsZero() {
		r.first = s.At
		r.containers = map[string]*container{}
	}
	c := r.containers[s.Container]
	if c == nil {
		if len(r.containers) == usage.MaxContainers {
			return
		}
		c = &container{since: s.At.Truncate(day)}
		r.containers[s.Container] = c
	}
	if s.Replicas > 0 && s.CPU >= 0 {
		c.cpu.Add(s.CPU, float64(s.Replicas), s.At, halfLife)
	}
	if now := s.At.Truncate(day); now.After(c.since) {
		c.memory = c.peaks()
		c.since, c.peak = now, 0
	}
	if !math.IsNaN(s.Memory) {
		c.peak = max(c.peak, s.Memory/mebi)
	}
	if s.OOMKills > 0 {
		limit := s.MemoryLimit / mebi
		c.peak = max(c.peak, limit*killBump, limit+leastBump)
	}
}

// peaks returns the peaks of all days, that of today at the weight of the instant at which it will be over.
func (c *container) peaks() usage.Histogram {
	h := c.memory
	if c.peak > 0 {
		h.Add(c.peak, 1, c.since.Add(day), halfLife)
	}
	return h
}

// MakeRoom forgets the containers that a target does not have, where there is no room for another one.
func (r *Recommender) MakeRoom(has func(container string) bool) {
	if len(r.containers) == usage.MaxContainers {
		maps.DeleteFunc(r.containers, func(name string, _ *container) bool { return !has(name) })
	}
}

// CPU returns target and upper bound of a container in milli-CPU; zero where nothing is known. The upper bound is the wider, the less history there
// is.
func (r *Recommender) CPU(name string, now time.Time) (target, upper float64) {
	c := r.containers[name]
	if c == nil {
		return 0, 0
	}
	return c.cpu.Quantile(quantile) * margin, c.cpu.Quantile(upperQuantile) * margin * r.doubt(now)
}

// Memory returns target and upper bound of a container in bytes; zero where nothing is known.
func (r *Recommender) Memory(name string, now time.Time) (target, upper float64) {
	c := r.containers[name]
	if c == nil {
		return 0, 0
	}
	h := c.peaks()
	return h.Quantile(quantile) * margin * mebi, h.Quantile(upperQuantile) * margin * mebi * r.doubt(now)
}

// doubt is how much wider an upper bound is for lack of history.
func (r *Recommender) doubt(now time.Time) float64 {
	return 1 + 1/max(now.Sub(r.first).Hours()/24, 1.0/(24*60))
}
