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
	// beforeStart is what may pass before a pod is started: a minute until metrics tell, and one until the next decision.
	beforeStart = 2 * time.Minute
	// shorterAfter is how long a lead is kept before it becomes shorter: a new lead means learning the next minutes anew.
	shorterAfter = 24 * time.Hour
)

// start remembers how long pods took until they were ready, and chooses the lead by that: in whole minutes, longer at once, shorter after
// a day.
func (t *Tuner) start(spec Spec, o Observed) {
	s := &t.State
	s.Starts = append(s.Starts, o.Started...)
	s.Starts = s.Starts[max(len(s.Starts)-rememberedStarts, 0):]
	if s.Lead == 0 {
		s.Lead, s.LeadSince = spec.Lead, o.Now
	}
	if len(s.Starts) < enoughStarts {
		return
	}
	sorted := slices.Sorted(slices.Values(s.Starts))
	usual := sorted[int(usualStart*float64(len(sorted)-1))]
	lead := (beforeStart + usual + time.Minute - 1).Truncate(time.Minute)
	if lead > s.Lead || lead < s.Lead && o.Now.Sub(s.LeadSince) >= shorterAfter {
		s.Lead, s.LeadSince = lead, o.Now
		t.say("lead", "%s: three of four pods are ready after %s", lead, usual)
	}
}
