package tune

import (
	"fmt"
	"testing"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// TestAClockThatWasAheadStopsNothing checks that times from a clock that was ahead count as now.
func TestAClockThatWasAheadStopsNothing(t *testing.T) {
	tuner, now := steady()
	later := now.Add(48 * time.Hour)
	s := &tuner.State
	for _, at := range []*time.Time{&s.Resized, &s.Raised, &s.Behind, &s.StuckSince, &s.WellSince, &s.Chosen, &s.Moved, &s.Awaiting} {
		*at = later
	}
	tuner.Observe(workload.Sample{At: later, Container: "app", CPU: 100, Memory: 1 << 20, Replicas: 1})
	tuner.Observe(workload.Sample{At: now, Container: "app", CPU: 100, Memory: 1 << 20, Replicas: 1})
	tuner.Decide(half(), Observed{Now: now, Setting: Setting{Requests: map[string]Requests{"app": {CPU: 100}}, Min: 1, Max: 100}, Replicas: 1,
		Ready: 1})
	for name, at := range map[string]time.Time{"resized": s.Resized, "raised": s.Raised, "behind": s.Behind, "stuck since": s.StuckSince,
		"well since": s.WellSince, "chosen": s.Chosen, "moved": s.Moved, "awaiting": s.Awaiting, "newest": tuner.Usage.Newest()} {
		if at.After(now) {
			t.Errorf("%s is %s, and it is %s", name, at, now)
		}
	}
}

// TestALearntHistory checks the range of a learnt history, the room for the containers of the target, and Forget.
func TestALearntHistory(t *testing.T) {
	tuner, now := steady()
	first, newest := tuner.HistoryRange()
	if !first.Equal(tuner.Usage.First()) || !newest.Equal(tuner.Usage.Newest()) || !first.Before(newest) || newest.After(now) {
		t.Errorf("it has learnt from %s to %s, and it is %s", first, newest, now)
	}
	for i := range MaxContainers {
		tuner.Observe(workload.Sample{At: now, Container: fmt.Sprint(i), CPU: 100, Memory: 1 << 20, Replicas: 1})
	}
	if tuner.MakeRoom(func(name string) bool { return name == "app" }); len(tuner.Usage.Containers()) != 1 {
		t.Errorf("room is left by %q", tuner.Usage.Containers())
	}
	tuner.State.Chosen, tuner.State.Moved, tuner.State.Aim.Request = now, now, 700
	tuner.Forget()
	if first, newest := tuner.HistoryRange(); !first.IsZero() || !newest.IsZero() || len(tuner.Usage.Containers()) != 0 {
		t.Errorf("after all was forgotten it has learnt from %s to %s", first, newest)
	}
	if s := tuner.State; !s.Chosen.IsZero() || !s.Moved.IsZero() || s.Aim.Request != 700 || tuner.shares != nil {
		t.Errorf("with the samples is not forgotten just what follows from them: %+v", s)
	}
}
