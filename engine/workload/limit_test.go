package workload

import (
	"math"
	"testing"
)

// TestLimitsFollowTheirRequests checks that limits keep the owner's ratio to requests. Rounding never puts a limit above
// this ratio or below its request.
func TestLimitsFollowTheirRequests(t *testing.T) {
	for _, tc := range []struct{ request, ownRequest, ownLimit, want int64 }{
		{100, 200, 400, 200}, {100, 200, 200, 100}, {100, 3, 4, 133}, {99, 3, 4, 132}, {100, 200, 100, 100}, {100, 0, 400, 400},
		{500, 0, 400, 500},
		{math.MaxInt64, 1, 2, math.MaxInt64}, {math.MaxInt64, 2, 4, math.MaxInt64}, {1 << 62, 1, 1, 1 << 62},
		{math.MaxInt64, 1, 1, math.MaxInt64}, {math.MaxInt64 - 1, 1, 1, math.MaxInt64 - 1},
		{1 << 62, 1, 4, math.MaxInt64},              // 2 to the 64, which no 64 bits hold
		{145295143558111, 2, 253921, math.MaxInt64}, // half of 2 to the 65 minus 1
	} {
		if got := LimitFor(tc.request, tc.ownRequest, tc.ownLimit); got != tc.want {
			t.Errorf("%d where the owner has %d to %d: %d, want %d", tc.request, tc.ownRequest, tc.ownLimit, got, tc.want)
		}
	}
}
