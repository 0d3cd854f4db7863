package analysis

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// zones has zones with clock changes of an hour and of half an hour, zones without clock changes, and a zone with an
// offset of quarter hours.
var zones = []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca"}

// starts has weeks in which clocks change in some zone, and other weeks.
var starts = []time.Time{
	time.Date(2037, 3, 2, 0, 0, 0, 0, time.UTC), time.Date(2037, 3, 20, 7, 0, 0, 0, time.UTC), time.Date(2037, 10, 12, 0, 0, 0, 0, time.UTC),
	time.Date(2037, 7, 1, 3, 30, 0, 0, time.UTC),
}

// drawn is a random history in a zone: a reading every five minutes, with use in some hours of the week and in some
// additional minutes.
func drawn(t *rapid.T) (h History, loc *time.Location) {
	name := rapid.SampledFrom(zones).Draw(t, "zone")
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	start := rapid.SampledFrom(starts).Draw(t, "start")
	var used [hoursOfWeek]bool
	for range rapid.IntRange(1, 4).Draw(t, "stretches") {
		from, length := rapid.IntRange(0, hoursOfWeek-1).Draw(t, "from"), rapid.IntRange(1, 40).Draw(t, "length")
		for i := range length {
			used[(from+i)%hoursOfWeek] = true
		}
	}
	blips := map[int]bool{}
	for range rapid.IntRange(0, 5).Draw(t, "blips") {
		blips[rapid.IntRange(0, 23*24*12).Draw(t, "blip")] = true
	}
	var all []Reading
	for i := range 23 * 24 * 12 {
		at := start.Add(time.Duration(i) * 5 * time.Minute)
		local := at.In(loc)
		cores := 0.0
		if used[(int(local.Weekday())+6)%7*24+local.Hour()] || blips[i] {
			cores = 1
		}
		all = append(all, Reading{at, cores})
	}
	if h, err = NewHistory(all); err != nil {
		t.Fatal(err)
	}
	return h, loc
}

// TestWindowsAvoidEveryMinuteOfUseOnTeachingDays: on the teaching days, the timeline of the windows is never on in a
// minute of use.
// This holds in every zone, and on days on which clocks change.
func TestWindowsAvoidEveryMinuteOfUseOnTeachingDays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, loc := drawn(t)
		teach, judge, err := h.Split(loc, 0)
		if err != nil {
			t.Fatal(err)
		}
		rules := IdleRules{Lead: time.Duration(rapid.SampledFrom([]int{0, 10, 90}).Draw(t, "lead")) * time.Minute, Shortest: 2 * time.Hour}
		windows, err := h.IdleWindows(teach, rules)
		if err != nil {
			return
		}
		if got, err := h.Try(windows, teach, 0); err != nil || got.Met != 0 || got.Asleep == 0 {
			t.Fatalf("with %v there is %+v, %v", windows, got, err)
		}
		if all, err := h.Try(windows, judge, 0); err != nil || all.Asleep+all.Used-all.Met > judge.Days()*minutesOfDay+60 {
			t.Fatalf("more than there is: %+v, %v", all, err)
		}
	})
}

// TestWindowsAreTheIdleHours compares each minute of a week without a clock change with the list of idle hours.
func TestWindowsAreTheIdleHours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var idle [hoursOfWeek]bool
		for range rapid.IntRange(1, 6).Draw(t, "stretches") {
			from, length := rapid.IntRange(0, hoursOfWeek-1).Draw(t, "from"), rapid.IntRange(1, hoursOfWeek).Draw(t, "length")
			for i := range length {
				idle[(from+i)%hoursOfWeek] = true
			}
		}
		lead, shortest := rapid.SampledFrom([]int{0, 7, 60, 130}).Draw(t, "lead"), rapid.SampledFrom([]int{0, 60, 600}).Draw(t, "shortest")
		windows, err := compiled(spell(runs(idle, lead, shortest)), time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		want := byHand(idle, lead, shortest)
		for minute := 0; minute < minutesOfWeek; minute += 1 + minute%3 {
			at := monday.Add(time.Duration(minute) * time.Minute)
			if windows.At(at).Active != want[minute] {
				t.Fatalf("%s: asleep is %t, want %t: %s", at, !want[minute], want[minute], windows)
			}
		}
	})
}

// byHand returns, for each minute of the week, whether it is in a window: the minute is idle, more than lead before the end of
// its idle stretch, and the stretch without its last lead minutes is long enough.
func byHand(idle [hoursOfWeek]bool, lead, shortest int) (want [minutesOfWeek]bool) {
	busy := -1
	for m := range minutesOfWeek {
		if want[m] = idle[m/60]; !want[m] {
			busy = m
		}
	}
	if busy < 0 {
		return want
	}
	length := 0
	for i := 1; i <= minutesOfWeek; i++ { // from the busy minute on, once around
		m := (busy + i) % minutesOfWeek
		if idle[m/60] {
			length++
			continue
		}
		for back := 1; back <= length; back++ {
			want[(m-back+minutesOfWeek)%minutesOfWeek] = back > lead && length-lead >= shortest
		}
		length = 0
	}
	return want
}

// TestWindowsContainNoMoreUseThanTolerated: the windows contain no more use than is allowed, and leave out no hour
// that would
// fit.
func TestWindowsContainNoMoreUseThanTolerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, _ := drawn(t)
		teach, _, err := h.Split(time.UTC, 0)
		if err != nil {
			t.Fatal(err)
		}
		allowed := time.Duration(rapid.SampledFrom([]int{0, 3, 30, 300}).Draw(t, "tolerate")) * time.Minute
		windows, err := h.IdleWindows(teach, IdleRules{Tolerate: allowed, Shortest: time.Hour})
		if err != nil {
			return
		}
		got, err := h.Try(windows, teach, 0)
		if err != nil || float64(got.Met) > allowed.Minutes()*teach.Weeks() {
			t.Fatalf("with %v there is %+v, %v", windows, got, err)
		}
		week, least, slept := h.week(teach, 0), 1<<30, 0
		asleep, _ := compiled(windows, time.UTC)
		for i := range week {
			if asleep.At(monday.Add(time.Duration(i) * time.Hour)).Active {
				slept += week[i].used
			} else {
				least = min(least, week[i].used)
			}
		}
		if float64(slept+least) <= allowed.Minutes()*teach.Weeks() {
			t.Fatalf("an hour with %d minutes of use is left out beside %d of %v: %s", least, slept, allowed, fmt.Sprint(windows))
		}
	})
}
