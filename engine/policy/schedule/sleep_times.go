package schedule

import (
	"time"

	"flyball.dev/flyball/engine/timeline"
)

// sleepTimes has the times when targets sleep.
type sleepTimes struct {
	// asleep is on while targets sleep.
	asleep timeline.Timeline
	// says is on while the schedule makes any claim; nil: always.
	says *timeline.Timeline
	// firings replaces asleep and says if the schedule has a downscale without an upscale. Each firing puts the targets to
	// sleep.
	firings *timeline.Firings
	// created is the creation time of the schedule. Earlier firings do not count.
	created time.Time
}

// at returns the state that the schedule claims at an instant. It returns false if the schedule makes no claim.
func (t *sleepTimes) at(now time.Time) (st timeline.Span, says bool) {
	if t.firings != nil {
		last, next := t.firings.Around(now)
		if last.Before(t.created) {
			return timeline.Span{Until: next}, false
		}
		return timeline.Span{Active: true, Since: last, Until: next, Name: timeline.Downscale}, true
	}
	st = t.asleep.At(now)
	if t.says == nil {
		return st, true
	}
	said := t.says.At(now)
	if !said.Active {
		return timeline.Span{Since: said.Since, Until: said.Until}, false
	}
	st.Since, st.Until = timeline.Later(st.Since, said.Since), timeline.Earliest(st.Until, said.Until)
	return st, true
}

// claimed is a result of sleepTimes.at.
type claimed struct {
	state timeline.Span
	says  bool
}

// at returns the state that the schedule claims at an instant, as sleepTimes.at does.
func (s *schedule) at(now time.Time) (st timeline.Span, says bool) {
	c := s.claims.At(now, func(now time.Time) (c claimed) {
		c.state, c.says = s.times.at(now)
		return c
	})
	return c.state, c.says
}
