package timeline_test

import (
	"testing"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

func TestTimelinesThatNeverMeet(t *testing.T) {
	window := func(spec v1alpha1.Window) timeline.Timeline { return mustWindow(t, spec, "Europe/Skopje") }
	days := func(from, to string, on ...v1alpha1.Day) timeline.Timeline {
		return window(v1alpha1.Window{Days: on, From: from, To: to})
	}
	from := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	until := from.AddDate(1, 0, 0)
	for _, tc := range []struct {
		reason string
		a, b   timeline.Timeline
		looks  int
		want   bool
	}{
		{"other days", days("09:00", "17:00", "Tue"), days("09:00", "17:00", "Thu"), 400, true},
		{"other hours of each day", days("09:00", "12:00"), days("12:00", "15:00"), 2000, true},
		{"an hour in common", days("09:00", "12:00"), days("11:00", "15:00"), 2000, false},
		{"nights that reach into the day of the other", days("20:00", "06:00", "Mon"), days("05:00", "07:00", "Tue"), 400, false},
		{"one is never on", timeline.Timeline{}, days("09:00", "12:00"), 10, true},
		{"one is always on", timeline.Not(timeline.Timeline{}), days("09:00", "12:00"), 10, false},
		{"both on now", days("00:00", "24:00"), days("00:00", "24:00"), 10, false},
		{"once a year, on a day of the other", window(v1alpha1.Window{Cron: "0 9 24 12 *", Duration: lasting(time.Hour)}), days("09:00", "10:00"),
			2000, false},
		{"beyond the looks nothing is certain", days("09:00", "12:00"), days("12:00", "15:00"), 200, false},
		{"in common after the last instant only", window(v1alpha1.Window{Start: "2027-12-24", End: "2027-12-25"}), days("00:00", "24:00"), 10,
			true},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			for _, pair := range [][2]timeline.Timeline{{tc.a, tc.b}, {tc.b, tc.a}} {
				got, left := timeline.Apart(pair[0], pair[1], from, until, tc.looks)
				if got != tc.want || left < 0 || left > tc.looks {
					t.Errorf("apart: %t with %d looks left; want %t", got, left, tc.want)
				}
			}
		})
	}
}
