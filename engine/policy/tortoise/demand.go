package tortoise

import (
	"errors"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/tune"
)

// Demand is the mean CPU demand of all pods of a target in milli-CPU. It begins at the instant At and lasts for
// model.Step.
type Demand struct {
	At  time.Time
	CPU float64
}

// EachDemand yields the demand in the checkpoint of a learner (policy.Learner), in order of time. Unknown steps are left
// out. A checkpoint that cannot be read, or has no demand because of the profile Tortoise, is an error.
func EachDemand(kept []byte, yield func(Demand)) error {
	k, err := unpack(kept)
	if err != nil {
		return err
	}
	if k.Original != nil {
		return errors.New("the profile Tortoise keeps no history of the demand")
	}
	t, err := tune.Unmarshal(k.Usage)
	if err != nil {
		return err
	}
	var all []*tune.Series
	last := int64(0)
	for _, name := range t.Containers() {
		s := t.Demand(name)
		all, last = append(all, s), max(last, s.Last())
	}
	for step := last - int64(tune.Points) + 1; step <= last; step++ {
		d, known := Demand{At: time.Unix(step*int64(tune.Step/time.Second), 0).UTC()}, false
		for _, s := range all {
			if p := s.At(step); p.Known {
				d.CPU, known = d.CPU+p.Mean, true
			}
		}
		if known {
			yield(d)
		}
	}
	return nil
}
