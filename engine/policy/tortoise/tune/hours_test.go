package tune

import (
	"math"
	"slices"
	"testing"
	"time"
)

// TestALoadHoldsForTenMinutes checks that the last demand counts for ten minutes of a gap. The rest of a longer gap
// is
// unknown.
func TestALoadHoldsForTenMinutes(t *testing.T) {
	s := &Series{}
	s.Add(100, monday)
	s.Add(200, monday.Add(5*time.Minute))
	s.Add(300, monday.Add(20*time.Minute))
	l := loadOf(s, monday.Add(-time.Minute), monday.Add(22*time.Minute))
	for i, demand := range l.Demand {
		want := -1.0
		switch minute := i - 1; {
		case minute >= 20:
			want = 300
		case minute > 15 || minute < 0:
		case minute >= 5:
			want = 200
		default:
			want = 100
		}
		if math.Abs(float64(demand)-want) > 0.1 {
			t.Errorf("in minute %d it is %g, want %g", i-1, demand, want)
		}
	}
	if l.First != minuteOf(monday)-1 || len(l.Demand) != 23 {
		t.Errorf("it is of %d minutes from %d on", len(l.Demand), l.First)
	}
}

// taught returns a tuner that has seen a demand for some days from Monday. In one minute of each hour the demand is twice
// as large. It also returns the end of these days.
func taught(days int, demand func(at time.Time) float64) (*Tuner, time.Time) {
	t, now := New(), monday.AddDate(0, 0, days)
	for at := monday; at.Before(now); at = at.Add(Step) {
		d := demand(at)
		if at.Minute() == 30 {
			d *= 2
		}
		see(t, at, d)
	}
	return t, now
}

// TestUsualPeakIsTheWeightedMeanOfPastDays checks that the usual peak of an hour is the weighted mean of the peaks
// of this hour on the days
// before. The last day has the largest weight. The day a week before has an additional weight, unless demand repeats
// daily.
func TestUsualPeakIsTheWeightedMeanOfPastDays(t *testing.T) {
	tuner, now := taught(8, func(at time.Time) float64 { return 100 * float64(at.Day()-monday.Day()+1) * float64(1+at.Hour()) })
	sum, total := 0.0, 0.0
	for day := 1; day <= 7; day++ {
		w := math.Pow(0.7, float64(day))
		sum, total = sum+w*200*float64(9-day), total+w
	}
	for daily, want := range map[bool]float64{true: sum / total, false: (sum + 0.5*400) / (total + 0.5)} {
		spec := half()
		spec.Daily = daily
		for hour := range 24 {
			at := now.Add(time.Duration(hour)*time.Hour + 59*time.Minute)
			if got := tuner.hours(spec, now).usual(at) / float64(1+hour); math.Abs(got/want-1) > 1e-3 {
				t.Errorf("daily %t, at %s: %.0f, want %.0f", daily, at, got, want)
			}
		}
	}
	if got := tuner.hours(half(), now).usual(monday); got != 0 {
		t.Errorf("before all that was seen it is %.0f", got)
	}
	if got := tuner.hours(half(), now).most(now.Add(8 * time.Hour)); math.Abs(got/(200*8*10)-1) > 1e-3 {
		t.Errorf("the most of hours 8 and 9 is %.0f", got)
	}
}

// TestHoursFollowTheWallClock checks that hours follow the local time of the zone in the week in which clocks go
// forward.
func TestHoursFollowTheWallClock(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	tuner, now := New(), time.Date(2037, 3, 29, 0, 0, 0, 0, zone) // clocks go from 2 to 3
	for at := now.AddDate(0, 0, -5); at.Before(now); at = at.Add(Step) {
		demand := 100.0
		if at.In(zone).Hour() == 8 {
			demand = 1000
		}
		see(tuner, at, demand)
	}
	spec := half()
	spec.Zone = zone
	tuner.State.Chosen, tuner.State.Aim.Share = now, 1
	for i, n := range tuner.Hours(spec, now, 100) {
		at := now.Add(time.Duration(i) * time.Hour)
		want := 1
		if at.In(zone).Hour() == 8 {
			want = 10
		}
		if n != want {
			t.Errorf("at %s it is %d, want %d", at.In(zone), n, want)
		}
	}
}

// TestHoursBeginWithThisOne checks that the first hour is the present hour. Two minutes before the next hour begins,
// the
// present minimum is already that of the next hour, so that its pods can start.
func TestHoursBeginWithThisOne(t *testing.T) {
	tuner, now := taught(2, func(at time.Time) float64 { return 500 + 50*float64(at.Hour()) })
	spec := half()
	tuner.State.Chosen, tuner.State.Aim.Share = now, 1
	for _, minute := range []int{0, 1, 59, 60, 119} {
		at := now.Add(time.Duration(minute) * time.Minute)
		got := tuner.Hours(spec, at, 100)
		first := tuner.planned(spec, Observed{Now: at}, 100)
		if want := 10 + (minute+2)/60; first != want || len(got) != 24 || got[0] != 10+minute/60 {
			t.Errorf("at minute %d the hours are %v, and now it is %d", minute, got, first)
		}
	}
	if hours := New().Hours(spec, now, 100); hours != nil {
		t.Errorf("where nothing is known the hours are %v", hours)
	}
	tuner.State.Aim.Share = 0
	if hours := tuner.Hours(spec, now, 100); slices.Max(hours) != 1 {
		t.Errorf("with one minimum for all hours they are %v", hours)
	}
}

func TestHoursBeginOnTheClock(t *testing.T) {
	kathmandu, err := time.LoadLocation("Asia/Kathmandu")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2037, 1, 5, 10, 20, 0, 0, time.UTC)
	for zone, want := range map[*time.Location]time.Time{nil: at.Add(-20 * time.Minute), time.UTC: at.Add(-20 * time.Minute),
		kathmandu: at.Add(-5 * time.Minute)} {
		if got := HourOf(at, zone); !got.Equal(want) {
			t.Errorf("in %v it began at %s, want %s", zone, got.UTC(), want)
		}
	}
}
