package tune

import (
	"math"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // zones are known on machines that ship none

	"flyball.dev/flyball/engine/policy/tortoise/usage"
)

func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// The days on which the clocks of Berlin change in 2037, at 01:00 UTC.
var (
	forward = time.Date(2037, 3, 29, 0, 0, 0, 0, time.UTC)
	back    = time.Date(2037, 10, 25, 0, 0, 0, 0, time.UTC)
)

// TestAnHourIsMetTwiceOrNever on the days when clocks change, and once on all others.
func TestAnHourIsMetTwiceOrNever(t *testing.T) {
	w := wall{zoneOf(t, "Europe/Berlin")}
	for _, tc := range []struct {
		day  time.Time
		hour int
		want []string
	}{
		{forward, 1, []string{"00:10"}}, {forward, 2, nil}, {forward, 3, []string{"01:10"}},
		{back, 1, []string{"23:10"}}, {back, 2, []string{"00:10", "01:10"}}, {back, 3, []string{"02:10"}},
		{forward.AddDate(0, 0, 7), 2, []string{"00:10"}},
	} {
		var got []string
		local := time.Date(tc.day.Year(), tc.day.Month(), tc.day.Day(), tc.hour, 10, 0, 0, time.UTC)
		w.steps(stepOf(local), func(step int64) { got = append(got, time.Unix(step*stepSeconds, 0).UTC().Format("15:04")) })
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s %d:10 in Berlin is %v in UTC, want %v", tc.day.Format(time.DateOnly), tc.hour, got, tc.want)
		}
	}
}

// TestEveryStepHasItsPlace: what a step of Unix time is called, it is found by; also where zones are no whole number of steps or hours from UTC.
func TestEveryStepHasItsPlace(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Kiritimati", "Pacific/Pago_Pago"} {
		w := wall{zoneOf(t, name)}
		for at := forward.AddDate(0, 0, -30); at.Before(back.AddDate(0, 0, 30)); at = at.Add(usage.Step) {
			step, found := stepOf(at), false
			local := w.step(step)
			w.steps(local, func(s int64) { found = found || s == step })
			clock := at.In(w.zone)
			reading := stepOf(time.Date(clock.Year(), clock.Month(), clock.Day(), clock.Hour(), clock.Minute(), 0, 0, time.UTC))
			if !found || local != reading {
				t.Fatalf("%s: %s is step %d, want %d, and found by it: %t", name, at, local, reading, found)
			}
		}
	}
}

// TestHoursBeginOnTheClock of the zone.
func TestHoursBeginOnTheClock(t *testing.T) {
	at := time.Date(2037, 1, 5, 12, 40, 0, 0, time.UTC)
	for name, want := range map[string]string{"": "12:00", "UTC": "12:00", "Europe/Berlin": "12:00", "Asia/Kolkata": "12:30", "Asia/Kathmandu": "12:15"} {
		var zone *time.Location
		if name != "" {
			zone = zoneOf(t, name)
		}
		if got := HourOf(at, zone).UTC().Format("15:04"); got != want {
			t.Errorf("%s: the hour began at %s, want %s", name, got, want)
		}
	}
}

// TestTheLargerPeakCounts of an hour that is met twice, and what was not yet seen then does not.
func TestTheLargerPeakCounts(t *testing.T) {
	w := wall{zoneOf(t, "Europe/Berlin")}
	tuner := New()
	first := back.Add(10 * time.Minute)
	see(tuner, first, 300)
	see(tuner, first.Add(time.Hour), 200)
	local := stepOf(time.Date(2037, 10, 25, 2, 10, 0, 0, time.UTC))
	series := tuner.Usage.Demand("app")
	if peak, known := (peaks{series, w, stepOf(first.Add(2 * time.Hour))}).Peak(local); !known || math.Abs(peak-300) > 1 {
		t.Errorf("%v, %t", peak, known)
	}
	if _, known := (peaks{series, w, stepOf(first)}).Peak(local); known {
		t.Error("it is known before it was")
	}
}

// office has a tuner see four weeks of a demand of 1000m from 8 to 18 in a zone, and 100m else, up to an instant.
func office(t *testing.T, zone *time.Location, until time.Time) *Tuner {
	t.Helper()
	tuner := New()
	for at := until.AddDate(0, 0, -28); at.Before(until); at = at.Add(usage.Step) {
		used := 100.0
		if hour := at.In(zone).Hour(); hour >= 8 && hour < 18 {
			used = 1000
		}
		see(tuner, at, used)
	}
	return tuner
}

// TestTheMorningComesByTheClock, also on the day after clocks have changed: by UTC it would be forecast an hour too late, or too early.
func TestTheMorningComesByTheClock(t *testing.T) {
	berlin := zoneOf(t, "Europe/Berlin")
	for name, day := range map[string]time.Time{"forward": forward, "back": back} {
		now := day.Add(18 * time.Hour)
		tuner, spec := office(t, berlin, now), half()
		for _, tc := range []struct {
			zone *time.Location
			ok   bool
		}{{berlin, true}, {nil, false}} {
			spec.Zone = tc.zone
			tuner.refit(spec, now)
			right := true
			for hour := range 24 {
				at := time.Date(day.Year(), day.Month(), day.Day()+1, hour, 30, 0, 0, berlin)
				right = right && (tuner.model.Peak(stepOf(at)) > 500) == (hour >= 8 && hour < 18)
			}
			if right != tc.ok {
				t.Errorf("%s, by %v: the hours of the next day are forecast: %t", name, tc.zone, right)
			}
		}
	}
}

// TestAnotherZoneReadsTheSameHistory: nothing was kept by the old one, so the forecast is that of who always had the new one.
func TestAnotherZoneReadsTheSameHistory(t *testing.T) {
	berlin, now := zoneOf(t, "Europe/Berlin"), back.Add(18*time.Hour)
	moved, always := office(t, berlin, now), office(t, berlin, now)
	spec := half()
	moved.refit(spec, now)
	spec.Zone = berlin
	moved.refit(spec, now)
	always.refit(spec, now)
	for i := range int64(1008) {
		step := stepOf(now) + i
		if a, b := moved.model.Upper(step), always.model.Upper(step); a != b {
			t.Fatalf("step %d: %v, and %v for who always had it", i, a, b)
		}
	}
	before := moved.model
	if moved.refit(spec, now.Add(usage.Step)); moved.model != before {
		t.Error("the same zone is fitted anew")
	}
}

// TestDailyHasNoWeeks.
func TestDailyHasNoWeeks(t *testing.T) {
	now := monday.AddDate(0, 0, 28)
	tuner, spec := office(t, time.UTC, now), half()
	for _, daily := range []bool{false, true} {
		spec.Daily = daily
		tuner.refit(spec, now)
		if _, week := tuner.model.Seasonal(); week == daily {
			t.Errorf("daily %t: there are weeks: %t", daily, week)
		}
	}
}
