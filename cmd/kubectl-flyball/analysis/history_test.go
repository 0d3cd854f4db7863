package analysis

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

var monday = time.Date(2037, 5, 4, 0, 0, 0, 0, time.UTC)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := timeline.LoadZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// history returns a history from an instant on. The function demand gives the demand of each local minute; negative:
// there is no reading.
func history(t *testing.T, from time.Time, days int, demand func(local time.Time) float64) History {
	t.Helper()
	var all []Reading
	for at := from; at.Before(from.AddDate(0, 0, days)); at = at.Add(time.Minute) {
		if c := demand(at); c >= 0 {
			all = append(all, Reading{at, c})
		}
	}
	h, err := NewHistory(all)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// office returns one core in use from 8 to 18 on weekdays, and 10m otherwise.
func office(local time.Time) float64 {
	if weekend := local.Weekday() == time.Saturday || local.Weekday() == time.Sunday; !weekend && local.Hour() >= 8 && local.Hour() < 18 {
		return 1
	}
	return 0.01
}

func TestReadingsHold(t *testing.T) {
	at := func(minutes ...int) []Reading {
		var all []Reading
		for i, m := range minutes {
			all = append(all, Reading{monday.Add(time.Duration(m) * time.Minute), float64(i + 1)})
		}
		return all
	}
	unknown := func(n int) []float32 { return slices.Repeat([]float32{-1}, n) }
	for _, tc := range []struct {
		reason   string
		readings []Reading
		want     []float32
	}{
		{"one by the minute", at(0, 1, 2), []float32{1, 2, 3}},
		{"in any order", []Reading{at(0, 1)[1], at(0)[0]}, []float32{1, 2}},
		{"two of one minute are averaged", append(at(0, 1), Reading{monday.Add(70 * time.Second), 4}), []float32{1, 3}},
		{"one that is missing holds", at(0, 1, 4, 5, 6), []float32{1, 2, 2, 2, 3, 4, 5}},
		{"and for ten minutes at most", at(0, 1, 2, 16, 17), slices.Concat([]float32{1, 2}, slices.Repeat([]float32{3}, 10), unknown(4),
			[]float32{4, 5})},
		{"unless readings are usually further apart", at(0, 15, 30),
			slices.Concat(slices.Repeat([]float32{1}, 15), slices.Repeat([]float32{2}, 15), slices.Repeat([]float32{3}, 15))},
		{"a single one", at(0), []float32{1}},
	} {
		h, err := NewHistory(tc.readings)
		if diff := cmp.Diff(tc.want, h.Cores); err != nil || diff != "" {
			t.Errorf("%s: %v %s", tc.reason, err, diff)
		}
	}
}

// TestPoorHistoryNamesTheMissingPart: the error for a poor history names the missing part.
func TestPoorHistoryNamesTheMissingPart(t *testing.T) {
	gone := func(local time.Time) float64 {
		if local.Hour() < 4 {
			return -1
		}
		return office(local)
	}
	idle := func(h History) error {
		teach, _, err := h.Split(time.UTC, 0)
		if err != nil {
			return err
		}
		_, err = h.IdleWindows(teach, IdleRules{Below: 0.05, Shortest: time.Hour})
		return err
	}
	bounds := func(h History) error {
		teach, _, err := h.Split(time.UTC, 0)
		if err != nil {
			return err
		}
		_, err = h.HourlyBounds(teach, Pods{Request: 100, Target: 50, Least: 1, Headroom: 2})
		return err
	}
	_, empty := NewHistory(nil)
	_, ages := NewHistory([]Reading{{time.Unix(60, 0), 1}, {monday, 1}})
	_, _, asked := history(t, monday, 12, office).Split(time.UTC, 11)
	for _, tc := range []struct {
		err  error
		want string
	}{
		{empty, "empty"},
		{ages, "more than three years"},
		{idle(history(t, monday, 20, office)), "20 whole days, and 21 are needed: 14 to learn from"},
		{idle(history(t, monday.Add(time.Minute), 21, office)), "20 whole days"},
		{asked, "12 whole days, and 13 are needed: 11 to learn from and 2 to try the result on"},
		{idle(history(t, monday, 22, gone)), "16 % are not known"},
		{idle(history(t, monday, 22, gone)), "the longest of 14 gaps: 2037-05-05 00:09 to 2037-05-05 04:00"},
		{idle(history(t, monday, 21, func(time.Time) float64 { return 1 })),
			"no window of 1 h in which nobody used the target (above 50m) on the days 2037-05-04 to 2037-05-17"},
		{bounds(history(t, monday, 21, func(time.Time) float64 { return 1 })), "every hour needs the same bounds"},
	} {
		var refusal Refusal
		if !errors.As(tc.err, &refusal) || !strings.Contains(refusal.Error(), tc.want) {
			t.Errorf("it says %v, want %q", tc.err, tc.want)
		}
	}
	if err := idle(history(t, monday, 21, office)); err != nil {
		t.Error(err)
	}
}

// TestSplitUsesTwoThirdsOfWholeDays: whole days of the zone, two thirds to learn from.
func TestSplitUsesTwoThirdsOfWholeDays(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for _, tc := range []struct{ days, learn, teach, judge int }{{22, 0, 14, 7}, {31, 0, 20, 10}, {31, 8, 8, 22}, {15, 7, 7, 7}} {
		h := history(t, monday.Add(12*time.Hour), tc.days, office)
		teach, judge, err := h.Split(berlin, tc.learn)
		if err != nil || teach.Days() != tc.teach || judge.Days() != tc.judge || !teach.To.Equal(judge.From) {
			t.Errorf("%d days with %d to learn from: %s and %s, %v", tc.days, tc.learn, teach, judge, err)
		}
		if hour := teach.From.In(berlin).Hour(); hour != 0 || teach.From.Before(monday) {
			t.Errorf("the first day begins at %s", teach.From)
		}
	}
}

// TestDaysOfASkippedMidnight: the day on which the clock skips midnight is a day, and the next days begin at midnight.
func TestDaysOfASkippedMidnight(t *testing.T) {
	for name, change := range map[string]string{"America/Santiago": "2027-09-05", "Atlantic/Azores": "2027-03-28"} {
		loc := zone(t, name)
		day, err := time.Parse(time.DateOnly, change)
		if err != nil {
			t.Fatal(err)
		}
		for before := range 22 {
			y, m, d := day.AddDate(0, 0, -before).Date()
			h := history(t, time.Date(y, m, d-1, 12, 0, 0, 0, loc), 22, office)
			teach, judge, err := h.Split(loc, 0)
			if err != nil || teach.Days() != 14 || judge.Days() != 7 || !teach.To.Equal(judge.From) {
				t.Errorf("%s, %d days before: %s and %s, %v", name, before, teach, judge, err)
			}
			date := func(n int) string { return time.Date(y, m, d+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly) }
			if want := date(0) + " to " + date(13); teach.String() != want {
				t.Errorf("%s: learns from %s, want %s", name, teach, want)
			}
			if want := date(14) + " to " + date(20); judge.String() != want {
				t.Errorf("%s: judges %s, want %s", name, judge, want)
			}
		}
	}
}

// TestAnOffice: the windows are the nights and the weekend. The trial finds the use on a Saturday.
func TestAnOffice(t *testing.T) {
	h := history(t, monday, 28, func(local time.Time) float64 {
		if local.Day() == 30 && local.Month() == 5 && local.Hour() == 11 { // a Saturday
			return 0.5
		}
		return office(local)
	})
	teach, judge, err := h.Split(time.UTC, 0)
	if err != nil {
		t.Fatal(err)
	}
	below, most := h.IdleBelow(teach)
	if most != 1 || below != 0.05 {
		t.Errorf("idle is below %v of %v", below, most)
	}
	windows, err := h.IdleWindows(teach, IdleRules{Below: below, Lead: 10 * time.Minute, Shortest: 2 * time.Hour})
	want := []v1alpha1.Window{
		{Days: []v1alpha1.Day{"Mon"}, From: "00:00", To: "07:50"},
		{Days: []v1alpha1.Day{"Mon", "Tue", "Wed", "Thu"}, From: "18:00", To: "07:50"},
		{Days: []v1alpha1.Day{"Fri"}, From: "18:00", To: "24:00"},
		{Days: []v1alpha1.Day{"Sat", "Sun"}, From: "00:00", To: "24:00"},
	}
	if diff := cmp.Diff(want, windows); err != nil || diff != "" {
		t.Fatalf("%v %s", err, diff)
	}
	got, err := h.Try(windows, judge, below)
	hours := 5*14*60 + 48*60 - 5*10 // a week
	if err != nil || judge.Days() != 10 {
		t.Fatalf("%s %v", judge, err)
	}
	// The ten days begin with a Friday: two weekends, and six weekdays.
	if want := 4*24*60 + 6*(14*60-10); got.Asleep != want || got.Met != 60 || got.Unknown != 0 ||
		!cmp.Equal(got.Days, []MetDay{{"2037-05-30", 60}}) {
		t.Errorf("the trial has %+v, want %d minutes asleep of %d a week", got, want, hours)
	}
}
