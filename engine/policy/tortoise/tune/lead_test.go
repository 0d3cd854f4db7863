package tune

import (
	"testing"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/optimize"
)

// TestLeadFollowsStarts: the lead is what three of four pods take, with what passes before; longer at once, shorter after a day.
func TestLeadFollowsStarts(t *testing.T) {
	tuner, spec := New(), Defaults(optimize.Profiles["Balanced"], "app")
	now := monday
	see := func(after time.Duration, started ...time.Duration) time.Duration {
		now = now.Add(after)
		tuner.start(spec, Observed{Now: now, Started: started})
		return tuner.State.Lead
	}
	minute := time.Minute
	if got := see(0, minute, minute, minute, minute); got != spec.Lead {
		t.Errorf("four starts are believed: %s", got)
	}
	if got := see(minute, 5*minute, 5*minute); got != 4*minute {
		t.Errorf("two of six that take longer are waited for: %s", got)
	}
	if got := see(minute, 150*time.Second); got != 5*minute {
		t.Errorf("of seven the fifth takes 2m30s, and with two minutes before that the lead is %s", got)
	}
	quick := make([]time.Duration, rememberedStarts)
	for i := range quick {
		quick[i] = 20 * time.Second
	}
	if got := see(minute, quick...); got != 5*minute {
		t.Errorf("it becomes shorter at once: %s", got)
	}
	if got := see(24 * time.Hour); got != 3*minute {
		t.Errorf("a day later it is %s", got)
	}
	if n := len(tuner.State.Starts); n != rememberedStarts {
		t.Errorf("%d starts are kept", n)
	}
}
