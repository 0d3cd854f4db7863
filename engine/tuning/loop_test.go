package tuning

import (
	"testing"
	"time"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// TestWhenACheckpointIsDue: a checkpoint is due every ten minutes, and at once if the requests have changed.
func TestWhenACheckpointIsDue(t *testing.T) {
	asked := func(ago time.Duration) *workload.Advice { return &workload.Advice{AmountsSince: noon.Add(-ago)} }
	for _, tc := range []struct {
		reason string
		kept   time.Duration // the age of the last checkpoint
		advice *workload.Advice
		rests  bool
		due    bool
	}{
		{"nothing was found yet", time.Minute, nil, false, false},
		{"ten minutes have passed", keepEvery, nil, false, true},
		{"requests are as they were", time.Minute, asked(time.Hour), false, false},
		{"they were kept as they were found", time.Minute, asked(time.Minute), false, false},
		{"they are other ones", time.Minute, asked(time.Minute - 1), false, true},
		{"its adapter has gone", time.Hour, asked(0), true, false},
	} {
		x := &subject{kept: noon.Add(-tc.kept), found: policy.Found{Advice: tc.advice}, rests: tc.rests}
		if got := x.isDue(noon); got != tc.due {
			t.Errorf("%s: it is due: %t", tc.reason, got)
		}
	}
}
