package timeline_test

import (
	"testing"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

// benchmarkTimelines are typical timelines. A question to them must cost a few microseconds at most, and no allocation.
func benchmarkTimelines(tb testing.TB) map[string]timeline.Timeline {
	tb.Helper()
	const zone = "Europe/Skopje"
	workdays := []v1alpha1.Day{"Mon", "Tue", "Wed", "Thu", "Fri"}
	nights := v1alpha1.Window{Name: "nights", Days: workdays, From: "20:00", To: "08:00"}
	weekend := v1alpha1.Window{Name: "weekend", Days: []v1alpha1.Day{"Sat", "Sun"}, From: "00:00", To: "24:00"}
	patching := v1alpha1.Window{Cron: "0 2 * * 6", Duration: lasting(4 * time.Hour)}
	filtered := func(f v1alpha1.Window) v1alpha1.Window {
		f.ValidFrom = "2020-01-01"
		return f
	}
	holidays := mustCalendar(tb, "holidays", timeline.CalendarSpec{
		TimeZone: "Europe/Berlin",
		Dates:    []v1alpha1.CalendarDate{{Date: "2026-04-03"}, {Start: "2026-12-27", End: "2026-12-31"}},
		Yearly:   []v1alpha1.CalendarYearly{{Month: 1, Day: 1}, {Month: 5, Day: 1}, {Month: 12, Day: 25}, {Month: 12, Day: 26}},
	})
	daily := mustPair(tb, "0 8 * * 1-5", "0 20 * * 1-5", zone)
	return map[string]timeline.Timeline{
		"pair-utc":      mustPair(tb, "0 8 * * 1-5", "0 20 * * 1-5", "UTC"),
		"pair-daily":    daily,
		"pair-yearly":   mustPair(tb, "0 0 1 1 *", "0 0 1 7 *", zone),
		"leap-day":      mustWindow(tb, v1alpha1.Window{Cron: "0 0 29 2 *", Duration: lasting(24 * time.Hour)}, zone),
		"nights":        mustWindow(tb, nights, zone),
		"cron-window":   mustWindow(tb, patching, zone),
		"until":         mustWindow(tb, v1alpha1.Window{Cron: "0 22 * * 5", Until: "0 6 * * 1"}, zone),
		"last-friday":   mustWindow(tb, v1alpha1.Window{Cron: "0 22 * * 5L", Duration: lasting(4 * time.Hour)}, zone),
		"month-end":     mustWindow(tb, filtered(v1alpha1.Window{DayOfMonth: []v1alpha1.DayOfMonth{1, -1}}), zone),
		"other-weeks":   mustWindow(tb, filtered(v1alpha1.Window{Weeks: &v1alpha1.Weeks{Every: 2, Starting: "2026-01-05"}}), zone),
		"every-minute":  mustWindow(tb, v1alpha1.Window{Cron: "* * * * *", Duration: lasting(time.Minute)}, zone),
		"calendar":      holidays,
		"three-windows": mustWindows(tb, zone, nights, weekend, patching),
		"pair-holidays": timeline.Override(daily, timeline.Effect{During: holidays}),
	}
}

func BenchmarkNext(b *testing.B) {
	benchmark(b, func(t timeline.Timeline, at time.Time) { t.Next(at) })
}

func BenchmarkAt(b *testing.B) {
	benchmark(b, func(t timeline.Timeline, at time.Time) { t.At(at) })
}

func benchmark(b *testing.B, ask func(timeline.Timeline, time.Time)) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, t := range benchmarkTimelines(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				ask(t, start.Add(time.Duration(i%100_000)*5*time.Minute))
			}
		})
	}
}

func TestQuestionsDoNotAllocate(t *testing.T) {
	at := time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC)
	for name, line := range benchmarkTimelines(t) {
		allocs := testing.AllocsPerRun(100, func() {
			line.At(at)
			line.Next(at)
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations for At and Next together, want none", name, allocs)
		}
	}
}

func BenchmarkParseWindow(b *testing.B) {
	spec := v1alpha1.Window{Cron: "0 2 * * 6", Duration: lasting(4 * time.Hour)}
	for b.Loop() {
		timeline.ParseWindow(spec, time.UTC, nil)
	}
}
