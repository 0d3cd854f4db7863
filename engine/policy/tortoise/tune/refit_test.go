package tune

import (
	"math"
	"slices"
	"testing"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/forecast"
	"flyball.dev/flyball/engine/policy/tortoise/usage"
)

// TestModelsAreFittedEverySixHours once there is a season, and at every step before.
func TestModelsAreFittedEverySixHours(t *testing.T) {
	tuner, now := steady()
	spec, model := half(), tuner.model
	for _, tc := range []struct {
		after time.Duration
		anew  bool
	}{{0, false}, {10 * time.Minute, false}, {6*time.Hour - 1, false}, {6 * time.Hour, true}, {6*time.Hour + 10*time.Minute, false}, {12 * time.Hour, true}} {
		tuner.refit(spec, now.Add(tc.after))
		if anew := tuner.model != model; anew != tc.anew {
			t.Errorf("after %s it is fitted anew: %t", tc.after, anew)
		}
		if got := tuner.model.Peak(stepOf(now.Add(tc.after))); math.Abs(got/1000-1) > 0.02 {
			t.Errorf("after %s the forecast is %v", tc.after, got)
		}
		model = tuner.model
	}
	young := New()
	see(young, monday, 1000)
	for i := range 3 {
		at := monday.Add(time.Duration(i) * usage.Step)
		before := young.model
		if young.refit(spec, at); young.model == before {
			t.Errorf("without a season it is not fitted at step %d", i)
		}
		before = young.model
		if young.refit(spec, at.Add(time.Minute)); young.model != before {
			t.Errorf("it is fitted twice at step %d", i)
		}
	}
	if young.refit(Defaults(spec.Profile, "none"), now); young.model != nil {
		t.Error("something is fitted to nothing")
	}
}

// TestTheLevelFollowsStepByStep, and not within one.
func TestTheLevelFollowsStepByStep(t *testing.T) {
	tuner, now := steady()
	see(tuner, now, 2000)
	next := now.Add(usage.Step)
	see(tuner, next, 2000)
	before := tuner.model.Peak(stepOf(next))
	if tuner.refit(half(), now.Add(usage.Step-1)); tuner.model.Peak(stepOf(next)) != before {
		t.Error("within a step the level moved")
	}
	if tuner.refit(half(), next); tuner.model.Peak(stepOf(next)) < 1.2*before {
		t.Errorf("twice the demand moves the level from %v to %v", before, tuner.model.Peak(stepOf(next)))
	}
}

// TestANowcastLearnsTheDeviationInAMinute: how much demand is off the pattern, as a logarithm.
func TestANowcastLearnsTheDeviationInAMinute(t *testing.T) {
	tuner, now := steady()
	at := now.Add(90 * time.Second)
	see(tuner, at, 1500)
	want := math.Log(1500 / tuner.model.Peak(stepOf(at)))
	tuner.State.Lead = 210 * time.Second
	tuner.nowcast(half())
	n := tuner.State.Nowcast
	if n.Lead != 4 || n.Last != now.Unix()/60+1 || !slices.Equal(n.Recent, []float64{want}) {
		t.Errorf("it is %+v, want a deviation of %v", n, want)
	}
	tuner.State.Collapsed = now
	see(tuner, at.Add(time.Minute), 10)
	if tuner.nowcast(half()); tuner.State.Nowcast.Last != n.Last {
		t.Error("an outage is learnt")
	}
	none := New()
	none.nowcast(half())
	see(none, monday, 1000)
	none.refit(half(), monday.Add(usage.Step))
	if none.nowcast(half()); none.State.Nowcast.Last != 0 {
		t.Error("without a season there is a nowcast")
	}
}

// TestAnOutlookReachesToTheNextFit and a season from there: it says what the model says, however late somebody chooses.
func TestAnOutlookReachesToTheNextFit(t *testing.T) {
	tuner, now := New(), monday.Add(2*24*time.Hour)
	for at := monday; at.Before(now); at = at.Add(usage.Step) {
		see(tuner, at, 1000+at.Sub(monday).Minutes()) // so that a season later there is more
	}
	tuner.refit(half(), now)
	far := forecast.Fit(peaks{Series: tuner.Usage.Demand("app"), until: math.MaxInt64}, stepOf(now), forecast.Default()).Outlook(tuner.quantile, 1000)
	for step := stepOf(now); step < stepOf(now.Add(30*time.Hour)); step++ {
		if got, want := tuner.model.Peak(step), far.Peak(step); got != want {
			t.Fatalf("%d steps ahead it is %v, want %v", step-stepOf(now), got, want)
		}
	}
}
