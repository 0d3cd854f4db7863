package trigger

import (
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// One trigger has only a min and the other only a max: the larger bound wins if they cross, and a bound without a value
// stays unchanged.
func TestBoundsOfSeveralTriggers(t *testing.T) {
	num := func(n int64) *int64 { return &n }
	for _, tc := range []struct {
		reason   string
		min, max *int64
		low, top int64
	}{
		{"apart", num(2), num(6), 2, 6},
		{"the same", num(4), num(4), 4, 4},
		{"crossed", num(10), num(5), 10, 10},
		{"no max", num(10), nil, 10, 0},
		{"no min", nil, num(5), 0, 5},
	} {
		var all []v1alpha1.TimeTrigger
		if tc.min != nil {
			all = append(all, daily("low", 0, "08:00", "12:00", v1alpha1.TriggerValues{Min: tc.min}))
		}
		if tc.max != nil {
			all = append(all, daily("high", 0, "08:00", "12:00", v1alpha1.TriggerValues{Max: tc.max}))
		}
		for _, rules := range []v1alpha1.TriggerRules{rules(all...), highest(all...)} {
			d, _ := decide(t, compiled(t, rules), hour(9), workload.Observed{})
			var low, top int64
			if in := d.Intents[0]; in.Min != nil {
				low = *in.Min
			}
			if in := d.Intents[0]; in.Max != nil {
				top = *in.Max
			}
			if low != tc.low || top != tc.top {
				t.Errorf("%s, %s: min %d, max %d; want %d and %d", tc.reason, rules.Overlap, low, top, tc.low, tc.top)
			}
		}
	}
}
