package timeline_test

import (
	"testing"
	"time"

	"flyball.dev/flyball/engine/timeline"
)

// TestTheEarlierOfTwoInstants is that of those that there are; the later one is the later one.
func TestTheEarlierOfTwoInstants(t *testing.T) {
	never, first := time.Time{}, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	second := first.Add(1)
	for _, tc := range []struct{ a, b, earliest, later time.Time }{
		{first, second, first, second},
		{second, first, first, second},
		{first, first, first, first},
		{never, first, first, first},
		{first, never, first, first},
		{never, never, never, never},
	} {
		if got := timeline.Earliest(tc.a, tc.b); !got.Equal(tc.earliest) {
			t.Errorf("of %s and %s the earlier one is %s", tc.a, tc.b, got)
		}
		if got := timeline.Later(tc.a, tc.b); !got.Equal(tc.later) {
			t.Errorf("of %s and %s the later one is %s", tc.a, tc.b, got)
		}
	}
}
