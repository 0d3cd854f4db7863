package tune

import (
	"time"

	"flyball.dev/flyball/engine/workload"
)

const (
	mebi = 1 << 20
	// halfLife is the half-life of values in the histogram of memory, and of points of the line.
	halfLife = 4 * 24 * time.Hour
	// maxThrottled is the largest throttled share that is used to correct usage. So the demand is at most four times the
	// usage.
	maxThrottled = 0.75
	// oomBump is the factor from a killed container's limit to its assumed need. oomWeight is the number of samples as which
	// a kill counts.
	oomBump, oomWeight = 1.2, 400
)

// container has the learnt usage of a container.
type container struct {
	memory Histogram
	demand Series
	kill   kill
	line   line
}

// kill is the largest memory need in bytes that follows from a kill, and the instant of the kill in Unix seconds.
type kill struct {
	wanted float64
	at     int64
}

// remembered is the time for which a kill counts, in seconds: two half-lives.
const remembered = int64(2 * halfLife / time.Second)

// then returns the kill that counts after a later kill: the larger one, or the later one if the first is too old.
func (k kill) then(later kill) kill {
	if later.wanted >= k.wanted || later.at-k.at >= remembered {
		return later
	}
	return k
}

// Usage is learnt from samples of a target's containers: a decaying histogram of memory, and a series of the demand of the whole
// target. It is small and survives restarts. It keeps no sample. It learns demand rather than served usage: usage is corrected
// for throttling and multiplied by the replicas that served it.
type Usage struct {
	names      []string
	containers []*container
	// first and last are the instants of the first and the newest sample, in Unix seconds.
	first, last int64
}

// MaxContainers is the largest number of containers of a target that are learnt.
const MaxContainers = 8

// Add learns from a sample.
func (t *Usage) Add(s workload.Sample) {
	s = Finite(s)
	c := t.named(s.Container, true)
	if c == nil || s.Replicas <= 0 && s.OOMKills == 0 {
		return
	}
	now := s.At.Unix()
	if t.first == 0 {
		t.first = now
	}
	if t.last = max(t.last, now); t.last-now > ahead*int64(Step/time.Second) {
		t.first, t.last = min(t.first, now), now // the clock was wrong before
	}
	if s.OOMKills > 0 {
		wanted := s.MemoryLimit * oomBump
		c.memory.Add(wanted/mebi, oomWeight*float64(s.OOMKills), s.At, halfLife)
		c.kill = c.kill.then(kill{wanted, now})
	}
	if s.Replicas <= 0 || s.Starting {
		return
	}
	if s.CPU >= 0 {
		used := s.CPU / (1 - min(max(finite(s.Throttled), 0), maxThrottled))
		c.demand.Add(used*float64(s.Replicas), s.At)
	}
	if s.Memory >= 0 {
		c.memory.Add(s.Memory/mebi, 1, s.At, halfLife)
	}
	if s.CPU >= 0 && s.Memory >= 0 {
		c.line.add(s.CPU, s.Memory/mebi, now)
	}
}

// Finite returns the sample with its meaningless numbers (negative, huge, NaN) replaced by unknown ones.
func Finite(s workload.Sample) workload.Sample {
	s.CPU, s.Memory, s.MemoryLimit = finite(s.CPU), finite(s.Memory), max(finite(s.MemoryLimit), 0)
	return s
}

// most is a number above every possible usage: a million cores in milli-CPU, or a million TiB in bytes.
const most = 1 << 60

// finite returns -1 for a meaningless number.
func finite(v float64) float64 {
	if v >= 0 && v <= most {
		return v
	}
	return -1
}

// named returns the learnt usage of a container; nil: it is not learnt. If add is true, a container that is not learnt is
// added if there is room.
func (t *Usage) named(name string, add bool) *container {
	for i, n := range t.names {
		if n == name {
			return t.containers[i]
		}
	}
	if !add || len(t.names) == MaxContainers {
		return nil
	}
	t.names, t.containers = append(t.names, name), append(t.containers, &container{})
	return t.containers[len(t.containers)-1]
}

// MakeRoom drops the containers that a target does not have, if there is no room for another one.
func (t *Usage) MakeRoom(has func(container string) bool) {
	if len(t.names) < MaxContainers {
		return
	}
	var names []string
	var containers []*container
	for i, name := range t.names {
		if has(name) {
			names, containers = append(names, name), append(containers, t.containers[i])
		}
	}
	t.names, t.containers = names, containers
}

// Span returns the time covered by samples.
func (t *Usage) Span() time.Duration { return time.Duration(t.last-t.first) * time.Second }

// First returns the instant of the first sample, or zero.
func (t *Usage) First() time.Time {
	if t.first == 0 {
		return time.Time{}
	}
	return time.Unix(t.first, 0).UTC()
}

// Newest returns the instant of the newest sample, or zero.
func (t *Usage) Newest() time.Time {
	if t.last == 0 {
		return time.Time{}
	}
	return time.Unix(t.last, 0).UTC()
}

// Containers returns the names of the learnt containers, in the order in which they were seen.
func (t *Usage) Containers() []string { return t.names }

// Memory returns a quantile of the largest memory usage of a pod, in bytes. It is at least the need that follows from a
// remembered kill.
func (t *Usage) Memory(name string, q float64) float64 {
	c := t.named(name, false)
	if c == nil {
		return 0
	}
	v := c.memory.Quantile(q) * mebi
	if t.last-c.kill.at < remembered {
		v = max(v, c.kill.wanted)
	}
	return v
}

// MemoryByCPU returns the bytes of memory for each milli-CPU of a pod's usage, by a line through the samples; 0:
// unknown.
func (t *Usage) MemoryByCPU(name string) float64 {
	if c := t.named(name, false); c != nil {
		return c.line.slope() * mebi
	}
	return 0
}

// Demand returns the series of a container's demand over all pods, or nil.
func (t *Usage) Demand(name string) *Series {
	if c := t.named(name, false); c != nil {
		return &c.demand
	}
	return nil
}

// Reset drops a container, for example after a change of its image.
func (t *Usage) Reset(name string) {
	for i, n := range t.names {
		if n == name {
			t.containers[i] = &container{}
		}
	}
}
