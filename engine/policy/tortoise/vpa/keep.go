package vpa

import (
	"fmt"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/usage"
)

// Kept is all that a Recommender has learnt, in a form that can be kept as JSON.
type Kept struct {
	First      time.Time
	Containers map[string]KeptContainer
}

// KeptContainer is what was learnt of one container.
type KeptContainer struct {
	CPU, Memory []byte
	Peak        float64
	Since       time.Time
}

// Keep gives all that was learnt.
func (r *Recommender) Keep() Kept {
	k := Kept{First: r.first, Containers: map[string]KeptContainer{}}
	for name, c := range r.containers {
		k.Containers[name] = KeptContainer{CPU: c.cpu.Marshal(), Memory: c.memory.Marshal(), Peak: c.peak, Since: c.since}
	}
	return k
}

// Restore makes a Recommender of what was kept.
func Restore(k Kept) (Recommender, error) {
	r := Recommender{first: k.First, containers: map[string]*container{}}
	for name, kept := range k.Containers {
		c := &container{peak: kept.Peak, since: kept.Since}
		var err error
		if c.cpu, err = usage.UnmarshalHistogram(kept.CPU); err != nil {
			return Recommender{}, fmt.Errorf("read what %s used: %w", name, err)
		}
		if c.memory, err = usage.UnmarshalHistogram(kept.Memory); err != nil {
			return Recommender{}, fmt.Errorf("read what %s used: %w", name, err)
		}
		r.containers[name] = c
	}
	return r, nil
}
