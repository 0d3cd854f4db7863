package tune

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestTheChoiceIsMadeOnceADay checks when a choice is made: once a day, unless the tuner is busy. The choice of the
// request is due when the history is twice as long.
func TestTheChoiceIsMadeOnceADay(t *testing.T) {
	tuner, now := steady()
	spec := half()
	o := Observed{Now: now, Setting: Setting{Requests: map[string]Requests{"app": {CPU: 100, Memory: 1 << 30}}, Min: 1, Max: 100,
		Utilisation: 70}}
	tuner.State.Phase, tuner.State.Chosen, tuner.State.Moved = Working, time.Time{}, time.Time{}
	o.Busy = true
	if tuner.choose(spec, o); tuner.chosen() || tuner.chose {
		t.Error("it is chosen although there is no time")
	}
	o.Busy = false
	if tuner.choose(spec, o); !tuner.State.Chosen.Equal(now) || !tuner.State.Moved.Equal(now) || !tuner.chose {
		t.Errorf("it was chosen at %s", tuner.State.Chosen)
	}
	for after, want := range map[time.Duration]struct{ chosen, moved bool }{24*time.Hour - 1: {}, 24 * time.Hour: {chosen: true},
		48 * time.Hour: {true, true}} {
		tuner.State.Chosen, tuner.State.Moved, o.Now = now, now, now.Add(after)
		tuner.choose(spec, o)
		if chosen, moved := tuner.State.Chosen.Equal(o.Now), tuner.State.Moved.Equal(o.Now); chosen != want.chosen || moved != want.moved {
			t.Errorf("after %s it is chosen again: %t, the request: %t", after, chosen, moved)
		}
	}
	tuner.State.Phase, tuner.State.Chosen = PartlyWorking, time.Time{}
	if tuner.choose(spec, o); tuner.chosen() {
		t.Error("it is chosen before a day is known")
	}
}

// TestChoiceHasTheReplay checks that the reasons have the replayed results of the chosen setting, the earlier setting
// and the owner's setting.
func TestChoiceHasTheReplay(t *testing.T) {
	tuner, now := taught(8, func(at time.Time) float64 { return 2500 - 1500*math.Cos(2*math.Pi*float64(at.Hour())/24) })
	s := newScene()
	tuner.State.Phase = Working
	tuner.choose(s.spec, Observed{Now: now, Setting: s.setting})
	said := map[string]string{}
	for _, r := range tuner.reasons {
		said[r.Of] = r.Text
	}
	for _, part := range []string{" as its owner has it, and ", " slow minutes instead of ", ", in a replay of 7 days with ",
		"; before this choice "} {
		if !strings.Contains(said["request"], part) || !strings.Contains(said["utilisation"], part) {
			t.Errorf("it does not say %q: %q", part, said)
		}
	}
	if !strings.HasSuffix(said["utilisation"], "(profile Balanced)") {
		t.Errorf("it says %q", said["utilisation"])
	}
}
