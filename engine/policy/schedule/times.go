package schedule

import (
	"time"

	"flyball.dev/flyball/engine/timeline"
)

// times say when targets sleep.
type times struct {
	// asleep is on while targets sleep.
	asleep timeline.Timeline
	// says is on while the schedule asks for anything; nil: always.
	says *timeline.Timeline
	// firings take the place of both where there is a downscale alone: each puts to sleep.
	firings *timeline.Firings
	// created is when the schedule was made, before which no firing counts.
	created time.Time
}

// at returns the state that is asked for at an instant, and false if none is.
func (t *times) at(now time.Time) (st timeline.State, says bool) {
	if t.firings != nil {
		last, next := t.firings.Around(now)
		if last.Before(t.created) {
			return timeline.State{Until: next}, false
		}
		return timeline.State{Active: true, Since: last, Until: next, Name: timeline.Downscale}, true
	}
	st = t.asleep.At(now)
	if t.says == nil {
		return st, true
	}
	said := t.says.At(now)
	if !said.Active {
		return timeline.State{Since: said.Since, Until: said.Until}, false
	}
	st.Since, st.Until = timeline.Later(st.Since, said.Since), timeline.Earliest(st.Until, said.Until)
	return st, true
}
