package tune

import (
	"fmt"
	"testing"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/forecast"
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

// TestWhatANowcastKnowsOfTheMinuteStays: only one of a minute to come is forgotten, but for its lead.
func TestWhatANowcastKnowsOfTheMinuteStays(t *testing.T) {
	for ahead, kept := range map[int64]bool{-1: true, 0: true, 1: false} {
		s := State{Nowcast: forecast.Nowcast{Lead: 4, Last: minuteOf(monday) + ahead, W: 7}}
		if s.until(monday); s.Nowcast.Lead != 4 || (s.Nowcast.W == 7) != kept || (s.Nowcast.Last == 0) == kept {
			t.Errorf("of %d minutes ahead it has %+v", ahead, s.Nowcast)
		}
	}
}

// TestALearntHistory: from when to when it is, room in it for what the target has, and nothing once it was forgotten.
func TestALearntHistory(t *testing.T) {
	tuner, now := steady()
	first, newest := tuner.Learnt()
	if !first.Equal(tuner.Usage.First()) || !newest.Equal(tuner.Usage.Newest()) || !first.Before(newest) || newest.After(now) {
		t.Errorf("it has learnt from %s to %s, and it is %s", first, newest, now)
	}
	for i := range usage.MaxContainers {
		tuner.Observe(usage.Sample{At: now, Container: fmt.Sprint(i), CPU: 100, Memory: 1 << 20, Replicas: 1})
	}
	if tuner.MakeRoom(func(name string) bool { return name == "app" }); len(tuner.Usage.Containers()) != 1 {
		t.Errorf("room is left by %q", tuner.Usage.Containers())
	}
	tuner.State.Chosen, tuner.State.Wanted, tuner.State.Nowcast.W = now, 700, 9
	tuner.Forget()
	if first, newest := tuner.Learnt(); !first.IsZero() || !newest.IsZero() || len(tuner.Usage.Containers()) != 0 {
		t.Errorf("after all was forgotten it has learnt from %s to %s", first, newest)
	}
	if s := tuner.State; !s.Chosen.IsZero() || s.Nowcast.W != 0 || s.Wanted != 700 || tuner.model != nil {
		t.Errorf("with the samples is not forgotten just what follows from them: %+v", s)
	}
}
