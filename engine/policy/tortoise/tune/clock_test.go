package tune

import (
	"testing"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/usage"
)

// TestAClockThatWasAheadStopsNothing: what it has written down as yet to come has just been.
func TestAClockThatWasAheadStopsNothing(t *testing.T) {
	tuner, now := steady()
	later := now.Add(48 * time.Hour)
	s := &tuner.State
	for _, at := range []*time.Time{&s.Resized, &s.Raised, &s.Behind, &s.Lowered, &s.Collapsed, &s.Returned, &s.StuckSince, &s.WellSince, &s.Chosen, &s.LeadSince} {
		*at = later
	}
	s.Nowcast.Last = minuteOf(later)
	tuner.Observe(usage.Sample{At: later, Container: "app", CPU: 100, Memory: 1 << 20, Replicas: 1})
	tuner.Observe(usage.Sample{At: now, Container: "app", CPU: 100, Memory: 1 << 20, Replicas: 1})
	tuner.Decide(half(), Observed{Now: now, Setting: Setting{Requests: map[string]Request{"app": {CPU: 100}}, Min: 1, Max: 100}, Replicas: 1, Ready: 1})
	for name, at := range map[string]time.Time{"resized": s.Resized, "raised": s.Raised, "behind": s.Behind, "lowered": s.Lowered, "collapsed": s.Collapsed, "returned": s.Returned, "stuck since": s.StuckSince,
		"well since": s.WellSince, "chosen": s.Chosen, "lead since": s.LeadSince, "newest": tuner.Usage.Newest()} {
		if at.After(now) {
			t.Errorf("%s is %s, and it is %s", name, at, now)
		}
	}
	if s.Nowcast.Last > minuteOf(now) {
		t.Error("the next minutes follow from those to come")
	}
}
