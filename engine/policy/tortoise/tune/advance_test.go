package tune

import (
	"testing"
	"time"
)

// TestSinceWhenAllIsWell checks that two minutes without a sample count as well. A second more does not.
func TestSinceWhenAllIsWell(t *testing.T) {
	for _, tc := range []struct {
		silent time.Duration
		stuck  bool
		well   bool
	}{{0, false, true}, {2 * time.Minute, false, true}, {2*time.Minute + time.Second, false, false}, {time.Minute, true, false}} {
		tuner := New()
		see(tuner, monday, 1000)
		tuner.State.WellSince, tuner.State.Phase = monday, GatheringData
		tuner.advance(half(), Observed{Now: monday.Add(tc.silent), Stuck: tc.stuck})
		if well := tuner.State.WellSince.Equal(monday); well != tc.well || !well && !tuner.State.WellSince.IsZero() {
			t.Errorf("after %s it is well: %t", tc.silent, well)
		}
		if len(tuner.reasons) != 0 {
			t.Errorf("no phase has begun, and yet %v", tuner.reasons)
		}
		if stuck := !tuner.State.StuckSince.IsZero(); stuck != tc.stuck {
			t.Errorf("after %s it is stuck: %t", tc.silent, stuck)
		}
	}
}

// TestTimeBeforeMeasuringIsNotTimeWithoutSamples checks that time before the begin of measuring does not count as
// time without
// samples, because no samples were possible.
func TestTimeBeforeMeasuringIsNotTimeWithoutSamples(t *testing.T) {
	for since, well := range map[time.Duration]bool{0: false, 57 * time.Minute: false, 58 * time.Minute: true, time.Hour: true} {
		tuner := New()
		see(tuner, monday, 1000)
		tuner.State.WellSince, tuner.State.Phase = monday, GatheringData
		if tuner.advance(half(), Observed{Now: monday.Add(time.Hour), Since: monday.Add(since)}); !tuner.State.WellSince.IsZero() != well {
			t.Errorf("an hour after the last sample, looked at since %s, it is well: %t", since, !well)
		}
	}
}

// TestAnEditByTheOwnerIsAStep checks that an edit by the owner counts as a change of requests, so that the next step
// waits
// for a cooldown.
func TestAnEditByTheOwnerIsAStep(t *testing.T) {
	for _, changed := range []bool{true, false} {
		tuner, now := steady()
		tuner.Decide(half(), Observed{Now: now, Changed: changed,
			Setting: Setting{Requests: map[string]Requests{"app": {CPU: 100}}, Min: 1, Max: 100}, Replicas: 1, Ready: 1})
		if got := tuner.State.Resized.Equal(now); got != changed {
			t.Errorf("with an edit %t: requests changed now: %t", changed, got)
		}
	}
}

// TestBlindAutoscalerBeforeARestartDoesNotCount checks an autoscaler that was blind before a restart and is blind
// after it. The time
// before the restart does not count, because it may have read its metrics in between.
func TestBlindAutoscalerBeforeARestartDoesNotCount(t *testing.T) {
	for since, want := range map[time.Duration]bool{-time.Hour: true, 0: true, 15 * time.Minute: true, 16 * time.Minute: false} {
		tuner := New()
		tuner.State.Phase, tuner.State.StuckSince = Working, monday
		see(tuner, monday.Add(20*time.Minute), 1000)
		o := Observed{Now: monday.Add(20 * time.Minute), Since: monday.Add(since), Stuck: true}
		if tuner.advance(half(), o); (tuner.State.Phase == Emergency) != want {
			t.Errorf("looked at since %s it is %s", since, tuner.State.Phase)
		}
	}
}

// TestAPhaseThatBeginsHasAReason checks that the way back ends after half an hour in which all is well, with a
// reason.
func TestAPhaseThatBeginsHasAReason(t *testing.T) {
	for well, want := range map[time.Duration]Phase{LevelAfter: Working,
		LevelAfter - time.Second: BackToNormal} {
		tuner, now := steady()
		tuner.State.Phase, tuner.State.WellSince = BackToNormal, now.Add(-well)
		see(tuner, now, 1000)
		if tuner.advance(half(), Observed{Now: now}); tuner.State.Phase != want || (len(tuner.reasons) > 0) != (want == Working) {
			t.Errorf("well for %s: it is %s: %v", well, tuner.State.Phase, tuner.reasons)
		}
	}
}
