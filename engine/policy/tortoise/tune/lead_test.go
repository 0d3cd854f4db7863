package tune

import (
	"testing"
	"time"
)

// TestHowLongPodsTake checks that the usual start time is the one that three quarters of the last starts did not exceed.
// It is used from five starts on.
func TestHowLongPodsTake(t *testing.T) {
	tuner := New()
	see := func(started ...time.Duration) time.Duration {
		tuner.reasons = nil
		tuner.start(Observed{Now: monday, Started: started})
		return tuner.startUp()
	}
	const minute = time.Minute
	if got := see(minute, minute, minute, minute); got != 0 || len(tuner.reasons) != 0 {
		t.Errorf("four starts are believed: %s", got)
	}
	if got := see(5*minute, 5*minute); got != minute || len(tuner.reasons) != 1 {
		t.Errorf("two of six that take longer are waited for: %s", got)
	}
	if got := see(150 * time.Second); got != 150*time.Second {
		t.Errorf("of seven the fifth takes 2m30s, and it says %s", got)
	}
	quick := make([]time.Duration, rememberedStarts)
	for i := range quick {
		quick[i] = 20 * time.Second
	}
	if got := see(quick...); got != 20*time.Second {
		t.Errorf("after twenty of 20s it is %s", got)
	}
	if n := len(tuner.State.Starts); n != rememberedStarts {
		t.Errorf("%d starts are kept", n)
	}
}
