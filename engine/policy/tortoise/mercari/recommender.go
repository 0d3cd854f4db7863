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
	// halfLife of CPU, and of the peaks of memory.
	halfLife, memoryHalfLife = 24 * time.Hour, 8 * 24 * time.Hour
	// killBump is how much more than its limit a container that was killed is taken to need.
	killBump = 1.2
	day      = 24 * time.Hour
	mebi     = 1 << 20
)

// Recommender says what the recommender of the VerticalPodAutoscaler would say of the same samples: for CPU a quantile of usage, for memory
// one of the peaks of days, both with older samples at less weight and with a margin. The profile needs its numbers where no
// VerticalPodAutoscaler is installed. They are close to those of a real one, not equal: buckets differ. The zero value has seen nothing.
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
		c.cpu.Add(s.CPU, max(s.CPU, 1), s.At, halfLife)
	}
	if !math.IsNaN(s.Memory) {
		c.peak = max(c.peak, s.Memory/mebi)
	}
	if s.OOMKills > 0 {
		c.peak = max(c.peak, s.MemoryLimit/mebi*killBump)
	}
	if now := s.At.Truncate(day); now.After(c.since) || s.OOMKills > 0 {
		c.memory.Add(c.peak, 1, s.At, memoryHalfLife)
		c.since, c.peak = now, 0
	}
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
	return max(c.memory.Quantile(quantile), c.peak) * margin * mebi, max(c.memory.Quantile(upperQuantile), c.peak) * margin * mebi * r.doubt(now)
}

// doubt is how much wider an upper bound is for lack of history.
func (r *Recommender) doubt(now time.Time) float64 {
	return 1 + 1/max(now.Sub(r.first).Hours()/24, 1.0/(24*60))
}
