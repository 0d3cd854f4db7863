package mercari

import (
	"maps"
	"math"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

const (
	// quantile is the quantile of the usage for the target. upperQuantile is the quantile for the upper bound. Both values
	// are multiplied by margin.
	quantile, upperQuantile, margin = 0.9, 0.95, 1.15
	// halfLife is the half-life of the samples of CPU and of the peaks of memory.
	halfLife = 24 * time.Hour
	// killBump is the factor from a killed container's limit to its assumed need. The need is at least leastBump above the
	// limit, in MiB.
	killBump, leastBump = 1.2, 100
	day                 = 24 * time.Hour
	mebi                = 1 << 20
)

// Recommender computes the recommendation of a VerticalPodAutoscaler from the same samples. For CPU it is a quantile of
// the usage, in which each pod has the same weight. For memory it is a quantile of the daily peaks. Older samples have
// less weight, and a margin is added. The profile needs these numbers if no VerticalPodAutoscaler is installed. They
// differ from the real numbers by at most one bucket, as a test with recorded numbers shows: the buckets differ, and a day
// begins at midnight. The zero value is empty.
//
// Source: VerticalPodAutoscaler, pkg/recommender/logic/recommender.go and pkg/recommender/model.
type Recommender struct {
	containers map[string]*container
	first      time.Time
}

type container struct {
	cpu, memory tune.Histogram
	// peak is the largest memory usage, in MiB, on the day that began at since.
	peak  float64
	since time.Time
}

// Observe learns from a sample.
func (r *Recommender) Observe(s workload.Sample) {
	if r.first.IsZero() {
		r.first = s.At
		r.containers = map[string]*container{}
	}
	c := r.containers[s.Container]
	if c == nil {
		if len(r.containers) == tune.MaxContainers {
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

// peaks returns the peaks of all days. The peak of the present day has the weight that it will have at the end of the day.
func (c *container) peaks() tune.Histogram {
	h := c.memory
	if c.peak > 0 {
		h.Add(c.peak, 1, c.since.Add(day), halfLife)
	}
	return h
}

// MakeRoom drops the containers that a target does not have, if there is no room for another one.
func (r *Recommender) MakeRoom(has func(container string) bool) {
	if len(r.containers) == tune.MaxContainers {
		maps.DeleteFunc(r.containers, func(name string, _ *container) bool { return !has(name) })
	}
}

// CPU returns the target and the upper bound of a container in milli-CPU, or zeros if it is unknown. With less history the
// upper bound is higher.
func (r *Recommender) CPU(name string, now time.Time) (target, upper float64) {
	c := r.containers[name]
	if c == nil {
		return 0, 0
	}
	return c.cpu.Quantile(quantile) * margin, c.cpu.Quantile(upperQuantile) * margin * r.doubt(now)
}

// Memory returns the target and the upper bound of a container in bytes, or zeros if it is unknown.
func (r *Recommender) Memory(name string, now time.Time) (target, upper float64) {
	c := r.containers[name]
	if c == nil {
		return 0, 0
	}
	h := c.peaks()
	return h.Quantile(quantile) * margin * mebi, h.Quantile(upperQuantile) * margin * mebi * r.doubt(now)
}

// doubt returns the factor by which an upper bound is raised for lack of history.
func (r *Recommender) doubt(now time.Time) float64 {
	return 1 + 1/max(now.Sub(r.first).Hours()/24, 1.0/(24*60))
}
