package mercari

import (
	"math"
	"testing"
	"time"
)

var (
	c   = Default()
	now = time.Date(2037, 5, 13, 10, 30, 0, 0, time.UTC)
)

// wide are limits that bound only the step down.
var wide = Limits{GlobalMax: math.MaxInt64}

func TestStoredValueFollowsTheRecommendation(t *testing.T) {
	for _, tc := range []struct {
		reason                 string
		v, target, upper, want int64
	}{
		{"between both it stays", 120, 100, 150, 120},
		{"just above the target it stays", 101, 100, 150, 101},
		{"at the target it is the target", 100, 100, 150, 100},
		{"below the target it becomes the target", 99, 100, 150, 100},
		{"just below the upper bound it stays", 149, 100, 150, 149},
		{"at the upper bound it becomes the target", 150, 100, 150, 100},
		{"above the upper bound it becomes the target", 151, 100, 150, 100},
		{"nothing was stored", 0, 100, 150, 100},
	} {
		if got := Stored(tc.v, tc.target, tc.upper); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.reason, got, tc.want)
		}
	}
}

func TestRequestIsClampedToLimits(t *testing.T) {
	for _, tc := range []struct {
		reason              string
		request, size, want int64
		limits              Limits
	}{
		{"inside", 100, 100, 100, Limits{50, 500, 10, 1000}},
		{"at the policy's minimum", 60, 50, 50, Limits{50, 500, 10, 1000}},
		{"below the policy's minimum", 60, 49, 50, Limits{50, 500, 10, 1000}},
		{"below everybody's minimum, which is larger", 60, 9, 55, Limits{50, 500, 55, 1000}},
		{"at the policy's maximum", 100, 500, 500, Limits{50, 500, 10, 1000}},
		{"above the policy's maximum", 100, 501, 500, Limits{50, 500, 10, 1000}},
		{"above everybody's maximum, which is smaller", 100, 1001, 1000, Limits{50, 2000, 10, 1000}},
		{"no maximum of the policy", 100, 1001, 1000, Limits{50, 0, 10, 1000}},
		{"a step to 0.8 of the request", 1000, 800, 800, wide},
		{"a step to less", 1000, 799, 800, wide},
		{"0.8 of the request is truncated", 1001, 1, 800, wide},
		{"the limits contradict each other: upper wins", 100, 100, 80, Limits{90, 80, 10, 1000}},
		{"the step down contradicts the maximum: upper wins", 1000, 100, 500, Limits{50, 500, 10, 1000}},
	} {
		if got := c.Clamp(tc.request, tc.size, tc.limits); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.reason, got, tc.want)
		}
	}
}

func TestVerticalRequestFollowsTheStoredValue(t *testing.T) {
	const mebi = (1 << 20) * thousandth
	for _, tc := range []struct {
		reason                string
		request, stored, want int64
		limits                Limits
	}{
		{"up: trunc(1.1 * 1.1 * 120)", 130, 120, 145, wide},
		{"up by memory: 145.2 MiB", 130 * mebi, 120 * mebi, 1452 * mebi / 10, wide},
		{"the ideal is the request: hold", 1100, 1000, 1100, wide},
		{"the ideal is just above the request", 1099, 1000, 1210, wide},
		{"down, but no more than one step: 145/1.1*0.9 = 118.6 > 110", 145, 100, 116, wide},
		{"down to the ideal", 150, 110, 121, wide},
		{"a small step down holds: 145/1.1*0.9 < 121", 145, 110, 145, wide},
		{"the boundary of down: 1100/1.1*0.9 = 900 is not above 1.1*819 = 900.9", 1100, 819, 1100, wide},
		{"just past the boundary of down: 900 > 899.8", 1100, 818, 899, wide},
		{"far down is one step", 1000, 10, 800, wide},
		{"up to the maximum", 900, 1000, 1000, Limits{0, 0, 50, 1000}},
		{"down to the minimum", 120, 10, 110, Limits{110, 0, 50, 1000}},
		{"a hold is not clamped", 2000, 1700, 2000, Limits{0, 0, 50, 1000}},
		{"nothing recommended", 100, 0, 80, wide},
	} {
		if got := c.Vertical(tc.request, tc.stored, tc.limits); got.Size != tc.want || got.Reason == "" {
			t.Errorf("%s: %+v, want %d", tc.reason, got, tc.want)
		}
	}
}

func TestHorizontalRequestFollowsUtilisation(t *testing.T) {
	base := Horizontal{Request: 1000, Stored: 500, Limits: Limits{0, 0, 50, 10_000}, Replicas: 10, Minimum: 3, Target: 80, Several: true}
	for _, tc := range []struct {
		reason string
		edit   func(*Horizontal)
		want   int64
	}{
		{"too many: 1.3 R", func(h *Horizontal) { h.Raise, h.Replicas = true, 40 }, 1300},
		{"too many: 1.3 R is truncated", func(h *Horizontal) { h.Raise, h.Request = true, 1001 }, 1301},
		{"too many: clamped", func(h *Horizontal) { h.Raise, h.Request = true, 9000 }, 10_000},
		{"nearly too many: hold", func(h *Horizontal) { h.Replicas = 25 }, 1000},
		{"nearly too many: not clamped", func(h *Horizontal) { h.Replicas, h.Request = 25, 12_000 }, 12_000},
		{"not yet nearly too many", func(h *Horizontal) { h.Replicas = 24 }, 800},
		{"the fewest: V, one step down", func(h *Horizontal) { h.Replicas = 3 }, 800},
		{"the fewest: V", func(h *Horizontal) { h.Replicas, h.Stored = 3, 900 }, 900},
		{"the fewest: R is less than V", func(h *Horizontal) { h.Replicas, h.Stored = 2, 1500 }, 1000},
		{"the fewest before a single one", func(h *Horizontal) { h.Replicas, h.Several = 3, false }, 800},
		{"single: hold", func(h *Horizontal) { h.Several = false }, 1000},
		{"single: clamped", func(h *Horizontal) { h.Several, h.Request = false, 12_000 }, 10_000},
		{"at the minimum: hold", func(h *Horizontal) { h.Minimum = 10 }, 1000},
		{"at the minimum: clamped", func(h *Horizontal) { h.Minimum, h.Request = 10, 20 }, 50},
		{"far below: 100 V / target = 875", func(h *Horizontal) { h.Stored = 700 }, 875},
		{"far below: truncated", func(h *Horizontal) { h.Stored, h.Target = 701, 81 }, 865},
		{"at 0.9 of the target: hold", func(h *Horizontal) { h.Stored = 720 }, 1000},
		{"just below 0.9 of the target", func(h *Horizontal) { h.Stored = 719 }, 898},
		{"near: clamped", func(h *Horizontal) { h.Request, h.Stored = 12_000, 12_000 }, 10_000},
	} {
		h := base
		tc.edit(&h)
		if got := c.Horizontal(h); got.Size != tc.want || got.Reason == "" {
			t.Errorf("%s: %+v, want %d", tc.reason, got, tc.want)
		}
	}
}

func TestPressureRaisesTheRequest(t *testing.T) {
	noted := func(ago time.Duration) Pressure { return Pressure{Noted: true, Since: now.Add(-ago)} }
	fresh := Pressure{Noted: true, Since: now}
	for _, tc := range []struct {
		reason            string
		was               Pressure
		replicas, minimum int32
		want              Pressure
		raise             bool
	}{
		{"the first time", Pressure{}, 30, 3, fresh, false},
		{"30 minutes later", noted(30 * time.Minute), 30, 3, fresh, true},
		{"before 30 minutes", noted(30*time.Minute - time.Second), 30, 3, noted(30*time.Minute - time.Second), false},
		{"the minimum keeps them", noted(time.Hour), 30, 30, noted(time.Hour), false},
		{"the minimum is just below", noted(time.Hour), 30, 29, fresh, true},
		{"fewer again", noted(time.Hour), 29, 3, Pressure{Since: now}, false},
	} {
		got, raise := c.Press(tc.was, tc.replicas, tc.minimum, now)
		if got != tc.want || raise != tc.raise {
			t.Errorf("%s: %+v, %t, want %+v, %t", tc.reason, got, raise, tc.want, tc.raise)
		}
	}
}
