package mercari

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/tune"
)

// Kept is the state that is kept across a restart, with a JSON form.
type Kept struct {
	Learnt
	// Zone is the name of the time zone of the slots.
	Zone          string
	Targets       map[string]int32
	First, Newest time.Time
	VPA           KeptUsage
}

// Keep returns the learnt state.
func (t *Tuner) Keep() *Kept {
	return &Kept{Learnt: t.formulas.Learnt, Zone: t.zone, Targets: t.targets, First: t.first, Newest: t.newest, VPA: t.vpa.Keep()}
}

// IsSound reports whether the numbers are possible. Counts, sizes and shares must not be negative, and the mode must be
// known.
func (k *Kept) IsSound() bool {
	const mostReplicas, mostPercent = 1_000_000, 1_000_000
	sound := k.Mode >= Working && k.Mode <= BackToNormal
	for _, s := range slices.Concat(k.Low, k.Top) {
		sound = sound && s.Value >= 0 && s.Value <= mostReplicas
	}
	for _, v := range k.Values {
		sound = sound && v >= 0
	}
	for _, percent := range k.Targets {
		sound = sound && percent >= 0 && percent <= mostPercent
	}
	return sound
}

// Restore returns a tuner from its kept state. A state of another form is an error.
func Restore(k *Kept) (*Tuner, error) {
	if n := len(k.Low); n != len(k.Top) || n != hoursOfDay && n != hoursOfWeek {
		return nil, errors.New("read the learnt state: it has slots of another length")
	}
	t := New()
	values, targets := t.formulas.Values, t.targets
	t.formulas.Learnt, t.zone, t.targets, t.first, t.newest = k.Learnt, k.Zone, k.Targets, k.First, k.Newest
	if k.Values == nil {
		t.formulas.Values = values
	}
	if k.Targets == nil {
		t.targets = targets
	}
	var err error
	t.vpa, err = RestoreUsage(k.VPA)
	return t, err
}

// KeptUsage is the learnt state of a Recommender, with a JSON form.
type KeptUsage struct {
	First      time.Time
	Containers map[string]KeptContainer
}

// KeptContainer is the learnt state of a container.
type KeptContainer struct {
	CPU, Memory []byte
	Peak        float64
	Since       time.Time
}

// Keep returns the learnt state.
func (r *Recommender) Keep() KeptUsage {
	k := KeptUsage{First: r.first, Containers: map[string]KeptContainer{}}
	for name, c := range r.containers {
		k.Containers[name] = KeptContainer{CPU: c.cpu.Marshal(), Memory: c.memory.Marshal(), Peak: c.peak, Since: c.since}
	}
	return k
}

// RestoreUsage returns a Recommender from its kept state. A state of another form is an error.
func RestoreUsage(k KeptUsage) (Recommender, error) {
	r := Recommender{first: k.First, containers: map[string]*container{}}
	for name, kept := range k.Containers {
		c := &container{peak: kept.Peak, since: kept.Since}
		var err error
		if c.cpu, err = tune.UnmarshalHistogram(kept.CPU); err != nil {
			return Recommender{}, fmt.Errorf("read the usage of %s: %w", name, err)
		}
		if c.memory, err = tune.UnmarshalHistogram(kept.Memory); err != nil {
			return Recommender{}, fmt.Errorf("read the usage of %s: %w", name, err)
		}
		r.containers[name] = c
	}
	return r, nil
}
