package usage

import "time"

// Sample is what one container of a target used at an instant, over all its pods that are ready and past their start.
type Sample struct {
	At        time.Time
	Container string
	// CPU is the mean usage of a pod in milli-CPU, Memory the largest of a pod in bytes. Negative or NaN: not known.
	CPU, Memory float64
	// Replicas are the pods that were ready. Without any there is nothing to learn.
	Replicas int
	// Throttled is the share of the CPU demand that limits kept from being served, 0 to 1.
	Throttled float64
	// OOMKills since the last sample, and the memory limit in bytes at which they happened.
	OOMKills    int
	MemoryLimit float64
	// Starting says that pods are younger than the time they need to settle: their usage says nothing of demand.
	Starting bool
}

const (
	mebi = 1 << 20
	// halfLife of the histogram of memory.
	halfLife = 4 * 24 * time.Hour
	// maxThrottled is the share beyond which a correction is a guess: demand is at most four times what is used.
	maxThrottled = 0.75
	// oomBump is how much more than the limit a container that was killed may have wanted, and oomWeight how many samples it counts as.
	oomBump, oomWeight = 1.2, 400
)

// container is what is learnt of one container.
type container struct {
	memory Histogram
	demand Series
	kill   kill
	line   line
}

// kill is the largest memory in bytes that a kill spoke for, at an instant in Unix seconds.
type kill struct {
	wanted float64
	at     int64
}

// remembered is how long a kill speaks, in seconds: two half-lives.
const remembered = int64(2 * halfLife / time.Second)

// then gives what counts after a later kill.
func (k kill) then(later kill) kill {
	if later.wanted >= k.wanted || later.at-k.at >= remembered {
		return later
	}
	return k
}

// Target is all that is learnt of one target.
type Target struct {
	names      []string
	containers []*container
	// first and last are the first and the newest sample, in Unix seconds.
	first, last int64
}

// MaxContainers is how many containers of a target are learnt; others are not.
const MaxContainers = 8

// Add learns from a sample.
func (t *Target) Add(s Sample) {
	s = s.Finite()
	c := t.named(s.Container, true)
	if c == nil || s.Replicas <= 0 && s.OOMKills == 0 {
		return
	}
	now := s.At.Unix()
	if t.first == 0 {
		t.first = now
	}
	if t.last = max(t.last, now); t.last-now > ahead*int64(Step/time.Second) {
		t.first, t.last = min(t.first, now), now // the clock was wrong
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

// Finite gives a sample in which what says nothing is not known: numbers below zero, beyond all measure, or none at all.
func (s Sample) Finite() Sample {
	s.CPU, s.Memory, s.MemoryLimit = finite(s.CPU), finite(s.Memory), max(finite(s.MemoryLimit), 0)
	return s
}

// most is what no container uses: a million cores in milli-CPU, or a million TiB in bytes.
const most = 1 << 60

// finite gives -1 in place of a number that says nothing.
func finite(v float64) float64 {
	if v >= 0 && v <= most {
		return v
	}
	return -1
}

// named gives what is learnt of a container, nil if there is nothing.
func (t *Target) named(name string, add bool) *container {
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

// MakeRoom forgets the containers that a target does not have, where there is no room for another one.
func (t *Target) MakeRoom(has func(container string) bool) {
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

// Span is how long there have been samples.
func (t *Target) Span() time.Duration { return time.Duration(t.last-t.first) * time.Second }

// First is the instant of the first sample; zero where there is none.
func (t *Target) First() time.Time {
	if t.first == 0 {
		return time.Time{}
	}
	return time.Unix(t.first, 0).UTC()
}

// Newest is the instant of the newest sample; zero where there is none.
func (t *Target) Newest() time.Time {
	if t.last == 0 {
		return time.Time{}
	}
	return time.Unix(t.last, 0).UTC()
}

// Containers names what was learnt of, in the order in which it was seen.
func (t *Target) Containers() []string { return t.names }

// Memory gives a quantile of the largest usage of a pod in bytes. What a kill spoke for is a lower bound for as long as it is
// remembered.
func (t *Target) Memory(name string, q float64) float64 {
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

// MemoryByCPU returns how many bytes of memory each milli-CPU that a pod uses brings along, by a line through what was seen; 0 where none is
// known.
func (t *Target) MemoryByCPU(name string) float64 {
	if c := t.named(name, false); c != nil {
		return c.line.slope() * mebi
	}
	return 0
}

// Demand gives the series of a container's demand over all pods; nil where nothing is known.
func (t *Target) Demand(name string) *Series {
	if c := t.named(name, false); c != nil {
		return &c.demand
	}
	return nil
}

// Reset forgets a container, for example because its image is another one.
func (t *Target) Reset(name string) {
	for i, n := range t.names {
		if n == name {
			t.containers[i] = &container{}
		}
	}
}
