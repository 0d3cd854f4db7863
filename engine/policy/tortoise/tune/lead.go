package tune

import (
	"slices"
	"time"
)

const (
	// rememberedStarts is how many of the last starts are kept, and enoughStarts from how many on they are believed.
	rememberedStarts, enoughStarts = 20, 5
	// usualStart is the quantile of the starts that counts: one pod in four, which has to wait for a node or an image, is not waited for.
	usualStart = 0.75
)

// start remembers how long pods took until they were ready, and says so in each decision: what the first ones say is not kept before there is a recommendation.
func (t *Tuner) start(o Observed) {
	s := &t.State
	s.Starts = append(s.Starts, o.Started...)
	s.Starts = s.Starts[max(len(s.Starts)-rememberedStarts, 0):]
	if len(s.Starts) >= enoughStarts {
		t.say("lead", "three of four pods are ready after %s", t.startUp())
	}
}

// startUp returns how long pods usually take until they are ready; 0: too few were seen.
func (t *Tuner) startUp() time.Duration {
	if len(t.State.Starts) < enoughStarts {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t.State.Starts))
	return sorted[int(usualStart*float64(len(sorted)-1))]
}
