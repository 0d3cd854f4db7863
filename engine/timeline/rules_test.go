package timeline_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

// moment is an instant with the expected state. An empty begin or end means that the state has none.
type moment struct {
	at     string
	active bool
	since  string
	until  string
	label  string
}

func check(t *testing.T, line timeline.Timeline, moments []moment) {
	t.Helper()
	for _, m := range moments {
		want := timeline.Span{Active: m.active, Since: utc(t, m.since), Until: utc(t, m.until), Name: m.label}
		at := utc(t, m.at)
		if diff := cmp.Diff(want, line.At(at)); diff != "" {
			t.Errorf("%s at %s (-want +got):\n%s", line, m.at, diff)
		}
		if next, ok := line.Next(at); ok != (m.until != "") || !next.Equal(want.Until) {
			t.Errorf("%s: next after %s is %s, %v, want %s", line, m.at, next, ok, m.until)
		}
	}
}

func TestPairFollowsTheLastCronThatFired(t *testing.T) {
	tests := []struct {
		reason         string
		up, down, zone string
		moments        []moment
	}{
		{
			reason: "a working day", up: "0 8 * * 1-5", down: "0 20 * * 1-5", zone: "UTC",
			moments: []moment{
				{"2026-06-15T07:59:59Z", false, "2026-06-12T20:00:00Z", "2026-06-15T08:00:00Z", "downscale"},
				{"2026-06-15T08:00:00Z", true, "2026-06-15T08:00:00Z", "2026-06-15T20:00:00Z", "upscale"},
				{"2026-06-15T20:00:00Z", false, "2026-06-15T20:00:00Z", "2026-06-16T08:00:00Z", "downscale"},
			},
		},
		{
			reason: "a yearly pair, many months after its transition", up: "0 0 1 1 *", down: "0 0 1 7 *", zone: "UTC",
			moments: []moment{
				{"2026-06-30T23:59:00Z", true, "2026-01-01T00:00:00Z", "2026-07-01T00:00:00Z", "upscale"},
				{"2026-12-31T23:59:00Z", false, "2026-07-01T00:00:00Z", "2027-01-01T00:00:00Z", "downscale"},
			},
		},
		{
			reason: "down is firing again and again: since the first of them", up: "*/30 8 * * 1", down: "0 * * * 2-6", zone: "UTC",
			moments: []moment{
				{"2026-06-15T12:00:00Z", true, "2026-06-15T08:00:00Z", "2026-06-16T00:00:00Z", "upscale"},
				{"2026-06-20T12:30:00Z", false, "2026-06-16T00:00:00Z", "2026-06-22T08:00:00Z", "downscale"},
			},
		},
		{
			reason: "a leap-day pair over a century without a leap day", up: "0 0 29 2 *", down: "0 0 1 3 *", zone: "UTC",
			moments: []moment{
				{"2096-02-29T12:00:00Z", true, "2096-02-29T00:00:00Z", "2096-03-01T00:00:00Z", "upscale"},
				{"2100-02-28T12:00:00Z", false, "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z", "downscale"},
			},
		},
		{
			reason: "a tie is down", up: "0 8 * * *", down: "0 8 * * 6,0", zone: "UTC",
			moments: []moment{
				{"2026-06-19T12:00:00Z", true, "2026-06-15T08:00:00Z", "2026-06-20T08:00:00Z", "upscale"},
				{"2026-06-21T12:00:00Z", false, "2026-06-20T08:00:00Z", "2026-06-22T08:00:00Z", "downscale"},
			},
		},
		{
			reason: "nothing but ties is down for ever", up: "0 8 * * 1", down: "0 8 * * *", zone: "Europe/Skopje",
			moments: []moment{{"2026-06-15T12:00:00Z", false, "", "", "downscale"}},
		},
		{
			reason: "ties in part of a day", up: "* 8 * * *", down: "0-58 8 * * *", zone: "UTC",
			moments: []moment{
				{"2026-06-15T08:30:00Z", false, "2026-06-15T08:00:00Z", "2026-06-15T08:59:00Z", "downscale"},
				{"2026-06-15T08:59:30Z", true, "2026-06-15T08:59:00Z", "2026-06-16T08:00:00Z", "upscale"},
			},
		},
		{
			reason: "a transition in the gap happens at its end", up: "30 2 * * *", down: "0 20 * * *", zone: "Europe/Skopje",
			moments: []moment{
				{"2026-03-29T00:59:59Z", false, "2026-03-28T19:00:00Z", "2026-03-29T01:00:00Z", "downscale"},
				{"2026-03-29T01:00:00Z", true, "2026-03-29T01:00:00Z", "2026-03-29T18:00:00Z", "upscale"},
			},
		},
		{
			reason: "a transition in the fold happens at its first occurrence only", up: "30 2 * * *", down: "45 2 * * *", zone: "Europe/Skopje",
			moments: []moment{
				{"2026-10-25T00:30:00Z", true, "2026-10-25T00:30:00Z", "2026-10-25T00:45:00Z", "upscale"},
				{"2026-10-25T01:35:00Z", false, "2026-10-25T00:45:00Z", "2026-10-26T01:30:00Z", "downscale"},
			},
		},
		{
			reason: "transitions of one gap keep their order: the later is up", up: "45 2 * * *", down: "15 2 * * *", zone: "Europe/Skopje",
			moments: []moment{
				{"2026-03-29T01:00:00Z", true, "2026-03-28T01:45:00Z", "2026-03-30T00:15:00Z", "upscale"},
			},
		},
		{
			reason: "transitions of one gap keep their order: the later is down", up: "15 2 * * *", down: "45 2 * * *", zone: "Europe/Skopje",
			moments: []moment{
				{"2026-03-29T01:00:00Z", false, "2026-03-28T01:45:00Z", "2026-03-30T00:15:00Z", "downscale"},
			},
		},
		{
			reason: "a night shift over the day that Apia skipped", up: "0 20 * * *", down: "0 8 * * *", zone: "Pacific/Apia",
			moments: []moment{ // 29 December 20:00 (UTC-10) to 31 December 08:00 (UTC+14)
				{"2011-12-30T11:00:00Z", true, "2011-12-30T06:00:00Z", "2011-12-30T18:00:00Z", "upscale"},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) { check(t, mustPair(t, tt.up, tt.down, tt.zone), tt.moments) })
	}
}

func TestWindowOpensAndClosesByRule(t *testing.T) {
	const hour = time.Hour
	tests := []struct {
		reason  string
		spec    v1alpha1.Window
		zone    string
		moments []moment
	}{
		{
			reason: "an overnight window belongs to its start day: Friday's includes Saturday morning",
			spec:   v1alpha1.Window{Name: "late", Days: []v1alpha1.Day{"Fri"}, From: "20:00", To: "08:00"}, zone: "UTC",
			moments: []moment{
				{"2026-06-19T07:00:00Z", false, "2026-06-13T08:00:00Z", "2026-06-19T20:00:00Z", ""},
				{"2026-06-20T07:59:59Z", true, "2026-06-19T20:00:00Z", "2026-06-20T08:00:00Z", "late"},
				{"2026-06-20T08:00:00Z", false, "2026-06-20T08:00:00Z", "2026-06-26T20:00:00Z", ""},
			},
		},
		{
			reason: "every day of one month, each for a whole day",
			spec:   v1alpha1.Window{Name: "june", Cron: "0 0 * 6 *", Duration: lasting(24 * hour)}, zone: "UTC",
			moments: []moment{
				{"2026-06-15T12:00:00Z", true, "2026-06-01T00:00:00Z", "2026-07-01T00:00:00Z", "june"},
				{"2026-07-01T00:00:00Z", false, "2026-07-01T00:00:00Z", "2027-06-01T00:00:00Z", ""},
			},
		},
		{
			reason: "days that touch at midnight are one window",
			spec:   v1alpha1.Window{Name: "we", Days: []v1alpha1.Day{"Sun", "Sat", "Mon"}, From: "00:00", To: "24:00"}, zone: "Asia/Kolkata",
			moments: []moment{
				{"2026-06-21T12:00:00Z", true, "2026-06-19T18:30:00Z", "2026-06-22T18:30:00Z", "we"},
			},
		},
		{
			reason: "every day and all day is always",
			spec:   v1alpha1.Window{Name: "on", From: "00:00", To: "24:00"}, zone: "Europe/Skopje",
			moments: []moment{{"2026-06-21T12:00:00Z", true, "", "", "on"}},
		},
		{
			reason: "to midnight ends at midnight",
			spec:   v1alpha1.Window{Name: "e", Days: []v1alpha1.Day{"Mon"}, From: "22:00", To: "00:00"}, zone: "UTC",
			moments: []moment{{"2026-06-15T23:00:00Z", true, "2026-06-15T22:00:00Z", "2026-06-16T00:00:00Z", "e"}},
		},
		{
			reason: "seconds count",
			spec:   v1alpha1.Window{Name: "s", Days: []v1alpha1.Day{"Mon"}, From: "08:00:30", To: "08:00:45"}, zone: "UTC",
			moments: []moment{{"2026-06-15T08:00:44Z", true, "2026-06-15T08:00:30Z", "2026-06-15T08:00:45Z", "s"}},
		},
		{
			reason: "a window inside the gap does not open",
			spec:   v1alpha1.Window{Name: "g", From: "02:10", To: "02:50"}, zone: "Europe/Skopje",
			moments: []moment{{"2026-03-29T01:00:00Z", false, "2026-03-28T01:50:00Z", "2026-03-30T00:10:00Z", ""}},
		},
		{
			reason: "a window that a gap cuts off starts at its end",
			spec:   v1alpha1.Window{Name: "g", From: "02:10", To: "04:00"}, zone: "Europe/Skopje",
			moments: []moment{{"2026-03-29T01:00:00Z", true, "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z", "g"}},
		},
		{
			reason: "a window around the fold lasts an hour longer",
			spec:   v1alpha1.Window{Name: "f", From: "01:00", To: "04:00"}, zone: "Europe/Skopje",
			moments: []moment{{"2026-10-25T01:30:00Z", true, "2026-10-24T23:00:00Z", "2026-10-25T03:00:00Z", "f"}},
		},
		{
			reason: "a gap at midnight moves the start of the day",
			spec:   v1alpha1.Window{Name: "d", Days: []v1alpha1.Day{"Sun"}, From: "00:00", To: "12:00"}, zone: "America/Santiago",
			moments: []moment{{"2026-09-06T04:00:00Z", true, "2026-09-06T04:00:00Z", "2026-09-06T15:00:00Z", "d"}},
		},
		{
			reason: "a cron window lasts its duration in elapsed time, also over the fold",
			spec:   v1alpha1.Window{Name: "p", Cron: "0 1 * * *", Duration: lasting(3 * hour)}, zone: "Europe/Skopje",
			moments: []moment{{"2026-10-25T01:30:00Z", true, "2026-10-24T23:00:00Z", "2026-10-25T02:00:00Z", "p"}},
		},
		{
			reason: "a cron window of the evening closes in the morning",
			spec:   v1alpha1.Window{Name: "n", Cron: "0 20 * * *", Duration: lasting(8 * hour)}, zone: "UTC",
			moments: []moment{{"2026-06-15T12:00:00Z", false, "2026-06-15T04:00:00Z", "2026-06-15T20:00:00Z", ""}},
		},
		{
			reason: "whole days of a month close at the end of the last one",
			spec:   v1alpha1.Window{Name: "d", Cron: "0 8 1-25 * *", Duration: lasting(24 * hour)}, zone: "UTC",
			moments: []moment{
				{"2026-06-25T12:00:00Z", true, "2026-06-01T08:00:00Z", "2026-06-26T08:00:00Z", "d"},
				{"2026-06-26T09:00:00Z", false, "2026-06-26T08:00:00Z", "2026-07-01T08:00:00Z", ""},
			},
		},
		{
			reason: "an hour that a fold brings back is of the day that the clock shows", // Saturday 23:00 follows Saturday 23:59
			spec:   v1alpha1.Window{Name: "h", Cron: "0 * * * SUN", Duration: lasting(hour / 2)}, zone: "America/Sao_Paulo",
			moments: []moment{{"2018-02-18T01:45:00Z", false, "2018-02-12T01:30:00Z", "2018-02-18T03:00:00Z", ""}},
		},
		{
			// The openings are at 20:00, 00:00 and then 12:00.
			reason: "openings of the day that Apia skipped are one, as the next day begins, and not of that day's own",
			spec:   v1alpha1.Window{Name: "a", Cron: "0 12,20 * * *", Duration: lasting(8 * hour)}, zone: "Pacific/Apia",
			moments: []moment{
				{"2011-12-30T10:30:00Z", true, "2011-12-29T22:00:00Z", "2011-12-30T18:00:00Z", "a"},
				{"2011-12-30T19:00:00Z", false, "2011-12-30T18:00:00Z", "2011-12-30T22:00:00Z", ""},
			},
		},
		{
			reason: "a thirty-day window stays open for thirty days",
			spec:   v1alpha1.Window{Name: "m", Cron: "0 0 1 3 *", Duration: lasting(30 * 24 * hour)}, zone: "UTC",
			moments: []moment{
				{"2026-03-30T23:59:59Z", true, "2026-03-01T00:00:00Z", "2026-03-31T00:00:00Z", "m"},
				{"2026-03-31T00:00:00Z", false, "2026-03-31T00:00:00Z", "2027-03-01T00:00:00Z", ""},
			},
		},
		{
			reason: "every minute for a minute is always open",
			spec:   v1alpha1.Window{Name: "a", Cron: "* * * * *", Duration: lasting(time.Minute)}, zone: "UTC",
			moments: []moment{{"2026-06-15T12:00:30Z", true, "", "", "a"}},
		},
		{
			reason: "every minute for a minute is always open, also where clocks are moved",
			spec:   v1alpha1.Window{Name: "a", Cron: "* * * * *", Duration: lasting(time.Minute)}, zone: "Europe/Skopje",
			moments: []moment{{"2026-10-25T01:30:30Z", true, "", "", "a"}},
		},
		{
			reason: "every minute for 59 seconds closes every minute",
			spec:   v1alpha1.Window{Name: "a", Cron: "* * * * *", Duration: lasting(59 * time.Second)}, zone: "Europe/Skopje",
			moments: []moment{
				{"2026-10-25T01:30:30Z", true, "2026-10-25T01:30:00Z", "2026-10-25T01:30:59Z", "a"},
				{"2026-10-25T01:30:59Z", false, "2026-10-25T01:30:59Z", "2026-10-25T01:31:00Z", ""},
			},
		},
		{
			reason: "a day every day is always open where no clock is moved",
			spec:   v1alpha1.Window{Name: "a", Cron: "@daily", Duration: lasting(24 * hour)}, zone: "UTC",
			moments: []moment{{"2026-06-15T12:00:00Z", true, "", "", "a"}},
		},
		{
			reason: "a day every day leaves out the twenty-fifth hour",
			spec:   v1alpha1.Window{Name: "a", Cron: "0 0 * * *", Duration: lasting(24 * hour)}, zone: "Europe/Skopje",
			moments: []moment{
				{"2026-10-25T22:30:00Z", false, "2026-10-25T22:00:00Z", "2026-10-25T23:00:00Z", ""},
				{"2026-10-25T23:00:00Z", true, "2026-10-25T23:00:00Z", "2027-10-31T22:00:00Z", "a"},
			},
		},
		{
			reason: "a month of 31 days covers every month",
			spec:   v1alpha1.Window{Name: "a", Cron: "0 0 1 * *", Duration: lasting(31 * 24 * hour)}, zone: "UTC",
			moments: []moment{{"2026-06-15T12:00:00Z", true, "", "", "a"}},
		},
		{
			reason: "a leap-day window of almost four years fails only the century's leap year",
			spec:   v1alpha1.Window{Name: "a", Cron: "0 0 29 2 *", Duration: lasting(1461 * 24 * hour)}, zone: "UTC",
			moments: []moment{
				{"2026-06-15T12:00:00Z", true, "", "2100-03-01T00:00:00Z", "a"},
				{"2101-06-15T12:00:00Z", false, "2100-03-01T00:00:00Z", "2104-02-29T00:00:00Z", ""},
			},
		},
		{
			reason: "dates are local and the end is included",
			spec:   v1alpha1.Window{Name: "x", Start: "2026-12-24", End: "2027-01-02"}, zone: "Europe/Skopje",
			moments: []moment{
				{"2026-12-23T22:59:59Z", false, "", "2026-12-23T23:00:00Z", ""},
				{"2026-12-23T23:00:00Z", true, "2026-12-23T23:00:00Z", "2027-01-02T23:00:00Z", "x"},
				{"2027-01-02T23:00:00Z", false, "2027-01-02T23:00:00Z", "", ""},
			},
		},
		{
			reason: "instants mean themselves and the end is excluded",
			spec:   v1alpha1.Window{Name: "x", Start: "2026-12-24T10:00:00+01:00", End: "2026-12-24T12:00:00Z"}, zone: "America/New_York",
			moments: []moment{
				{"2026-12-24T11:59:59Z", true, "2026-12-24T09:00:00Z", "2026-12-24T12:00:00Z", "x"},
				{"2026-12-24T12:00:00Z", false, "2026-12-24T12:00:00Z", "", ""},
			},
		},
		{
			reason: "a date that the zone skipped never comes",
			spec:   v1alpha1.Window{Name: "x", Start: "2011-12-30", End: "2011-12-30"}, zone: "Pacific/Apia",
			moments: []moment{{"2011-12-30T10:00:00Z", false, "", "", ""}},
		},
		{
			reason: "transitions of the skipped day are one instant: its cron opens when the next day begins",
			spec:   v1alpha1.Window{Name: "x", Cron: "*/5 8-12 30 12 *", Duration: lasting(5 * time.Minute)}, zone: "Pacific/Apia",
			moments: []moment{{"2011-12-30T10:04:00Z", true, "2011-12-30T10:00:00Z", "2011-12-30T10:05:00Z", "x"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) { check(t, mustWindow(t, tt.spec, tt.zone), tt.moments) })
	}
}
