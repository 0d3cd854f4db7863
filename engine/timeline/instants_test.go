package timeline_test

import (
	"testing"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

// TestTheEarlierOfTwoInstants: Earliest ignores zero instants, and Later returns the later instant.
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

// TestAroundAnHourThatIsRepeated: a cron of every hour fires twice in the repeated hour, and the window before the
// second firing is the window of the first firing.
func TestAroundAnHourThatIsRepeated(t *testing.T) {
	hourly := mustWindow(t, v1alpha1.Window{Name: "hourly", Cron: "30 * * * *", Duration: lasting(10 * time.Minute)}, "Europe/Berlin")
	check(t, hourly, []moment{
		{"2026-10-25T00:35:00Z", true, "2026-10-25T00:30:00Z", "2026-10-25T00:40:00Z", "hourly"},
		{"2026-10-25T01:10:00Z", false, "2026-10-25T00:40:00Z", "2026-10-25T01:30:00Z", ""},
		{"2026-10-25T01:35:00Z", true, "2026-10-25T01:30:00Z", "2026-10-25T01:40:00Z", "hourly"},
	})
	behind := mustWindow(t, v1alpha1.Window{Name: "hourly", Cron: "30 * * * *", Duration: lasting(10 * time.Minute)}, "America/New_York")
	check(t, behind, []moment{
		{"2026-11-01T06:10:00Z", false, "2026-11-01T05:40:00Z", "2026-11-01T06:30:00Z", ""},
	})
}
