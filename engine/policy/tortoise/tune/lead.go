package tune

import (
	"slices"
	"time"
)

const (
	// rememberedStarts is the number of start times that are kept. enoughStarts is the number of start times from which they
	// are used.
	rememberedStarts, enoughStarts = 20, 5
	// usualStart is the quantile of the start times that is used. The slowest quarter of the pods waits for a node or an
	// image and is ignored.
	usualStart = 0.75
)

// start remembers the start times of pods. It stores the reason in each decision, because reasons from before the first
// recommendation are dropped.
func (t *Tuner) start(o Observed) {
	s := &t.State
	s.Starts = append(s.Starts, o.Started...)
	s.Starts = s.Starts[max(len(s.Starts)-rememberedStarts, 0):]
	if len(s.Starts) >= enoughStarts {
		t.say("lead", "three of four pods are ready after %s", t.startUp())
	}
}

// startUp returns the usual time from the creation of a pod until it is ready; 0: there are too few start times.
func (t *Tuner) startUp() time.Duration {
	if len(t.State.Starts) < enoughStarts {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t.State.Starts))
	return sorted[int(usualStart*float64(len(sorted)-1))]
}
