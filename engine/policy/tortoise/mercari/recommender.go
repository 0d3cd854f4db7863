package mercari

import (
	"maps"
	"math"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/model"
)

const (
	// quantile of the usage gives the target, and upperQuantile the upper bound. Both are multiplied by margin.
	quantile, upperQuantile, margin = 0.9, 0.95, 1.15
	// halfLife is the half-life of the samples of CPU and of the peaks of memory.
	halfLife = 24 * time.Hour
	// killBump is the assumed need of a killed container as a factor of its limit. leastBump is the least addition to the
	// limit, in MiB.
	killBump, leastBump = 1.2, 100
	day                 = 24 * time.Hour
	mebi                = 1 << 20
)

// Recommender computes the recommendation of a VerticalPodAutoscaler from the same samples: for CPU a quantile of usage
// in which each pod counts the same, for memory a quantile of daily peaks, both with less weight for older samples and
// with a margin. The profile needs these numbers if no VerticalPodAutoscaler is installed. They are within a bucket of
// the real ones, which a test has on record: buckets differ, and a day begins at midnight. The zero value is empty.
//
// Source: VerticalPodAutoscaler, pkg/recommender/logic/recommender.go and pkg/recommender/model.
type Recommender struct {
	containers map[string]*container
	first      time.Time
}

type container struct {
	cpu, memory model.Histogram
	// peak is the largest memory in MiB of the day that began at since.
	peak  float64
	since time.Time
}

// Observe learns from a sample.
func (r *Recommender) Observe(s model.Sample) {
	if r.first.IsZero() {
		r.first = s.At
		r.containers = map[string]*container{}
	}
	c := r.containers[s.Container]
	if c == nil {
		if len(r.containers) == model.MaxContainers {
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

// peaks returns the peaks of all days, with today's at the weight of its end.
func (c *container) peaks() model.Histogram {
	h := c.memory
	if c.peak > 0 {
		h.Add(c.peak, 1, c.since.Add(day), halfLife)
	}
	return h
}

// MakeRoom drops the containers that a target does not have, if there is no room for another one.
func (r *Recommender) MakeRoom(has func(container string) bool) {
	if len(r.containers) == model.MaxContainers {
		maps.DeleteFunc(r.containers, func(name string, _ *container) bool { return !has(name) })
	}
}

// CPU returns target and upper bound of a container in milli-CPU, or zeros. The upper bound is wider with less history.
func (r *Recommender) CPU(name string, now time.Time) (target, upper float64) {
	c := r.containers[name]
	if c == nil {
		return 0, 0
	}
	return c.cpu.Quantile(quantile) * margin, c.cpu.Quantile(upperQuantile) * margin * r.doubt(now)
}

// Memory returns target and upper bound of a container in bytes, or zeros.
func (r *Recommender) Memory(name string, now time.Time) (target, upper float64) {
	c := r.containers[name]
	if c == nil {
		return 0, 0
	}
	h := c.peaks()
	return h.Quantile(quantile) * margin * mebi, h.Quantile(upperQuantile) * margin * mebi * r.doubt(now)
}

// doubt returns the factor of an upper bound for lack of history.
func (r *Recommender) doubt(now time.Time) float64 {
	return 1 + 1/max(now.Sub(r.first).Hours()/24, 1.0/(24*60))
}
