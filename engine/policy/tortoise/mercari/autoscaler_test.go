package mercari

import (
	"testing"
	"time"
)

func TestTargetUtilisationOfTheAutoscaler(t *testing.T) {
	for _, tc := range []struct {
		reason                          string
		request, stored                 int64
		current, replicas, want, absent int32
	}{
		{"100 - (80 - 60)", 1000, 800, 60, 10, 80, 0},
		{"U is rounded up: 100 - (81 - 60)", 1000, 801, 60, 10, 79, 0},
		{"the current one is above U: keep", 1000, 700, 80, 10, 80, 0},
		{"the current one is U: 100, clamped", 1000, 800, 80, 10, 90, 0},
		{"kept and clamped from above", 1000, 700, 95, 10, 90, 0},
		{"kept and clamped from below", 1000, 300, 40, 10, 65, 0},
		{"clamped from below", 1000, 1000, 50, 10, 65, 0},
		{"exactly the lower bound", 1000, 1000, 65, 10, 65, 0},
		{"one above the lower bound", 1000, 1000, 66, 10, 66, 0},
		{"far above the request: a target below 0 is invalid, and the current one stays", 1000, 9000, 70, 10, 70, 0},
		{"100 above the current one: a target of 0 is invalid", 1000, 1700, 70, 10, 70, 0},
		{"99 above the current one: 1, clamped", 1000, 1690, 70, 10, 65, 0},
		{"invalid, and the current one is clamped", 1000, 9000, 95, 10, 90, 0},
		{"just below the largest number of replicas", 1000, 800, 60, 99, 80, 0},
		{"the largest number of replicas: none", 1000, 800, 60, 100, 0, 1},
		{"one more than that: 80", 1000, 800, 60, 101, 80, 0},
		{"no request: none", 0, 800, 60, 10, 0, 1},
	} {
		got, ok := c.Utilisation(tc.request, tc.stored, tc.current, tc.replicas)
		if got != tc.want || ok != (tc.absent == 0) {
			t.Errorf("%s: %d, %t, want %d", tc.reason, got, ok, tc.want)
		}
	}
}

func TestApplyUtilisation(t *testing.T) {
	for _, tc := range []struct {
		reason               string
		current, recommended int32
		changed              time.Time
		want                 int32
	}{
		{"five more", 70, 75, time.Time{}, 75},
		{"more than five more", 70, 76, time.Time{}, 75},
		{"any number less", 90, 65, time.Time{}, 65},
		{"within a day", 70, 75, now.Add(-24*time.Hour + time.Second), 70},
		{"after a day", 70, 75, now.Add(-24 * time.Hour), 75},
	} {
		if got := c.ApplyUtilisation(tc.current, tc.recommended, tc.changed, now); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.reason, got, tc.want)
		}
	}
}

func TestSlotsOfReplicas(t *testing.T) {
	recent, old := now.Add(-23*time.Hour+time.Second), now.Add(-23*time.Hour)
	for _, tc := range []struct {
		reason           string
		was              Slot
		replicas         int32
		minimum, maximum int32
	}{
		{"nothing yet", Slot{}, 10, 5, 20},
		{"rounded up", Slot{}, 11, 6, 22},
		{"no replica", Slot{}, 0, 3, 12},
		{"one replica: 2 is below 3, so the maximum is 12", Slot{}, 1, 3, 12},
		{"two replicas: 4 is not below 3", Slot{}, 2, 3, 4},
		{"six replicas: 3 is not below 3", Slot{}, 6, 3, 12},
		{"the old value is larger", Slot{40, recent}, 10, 40, 40},
		{"the old value was untouched and decays: trunc(0.95 * 41) = 38", Slot{41, old}, 10, 38, 38},
		{"the old value decays below the new one", Slot{21, old}, 20, 19, 40},
		{"just before 23 hours it does not decay", Slot{41, recent}, 10, 41, 41},
	} {
		if got := c.Minimum(tc.was, tc.replicas, now); got != (Slot{tc.minimum, now}) {
			t.Errorf("%s: minimum %+v, want %d", tc.reason, got, tc.minimum)
		}
		if got := c.Maximum(tc.was, tc.replicas, now); got != (Slot{tc.maximum, now}) {
			t.Errorf("%s: maximum %+v, want %d", tc.reason, got, tc.maximum)
		}
	}
}

func TestSlotsOfTheWeek(t *testing.T) {
	tokyo := time.FixedZone("JST", 9*60*60)
	weekly, daily := newSlots(true), newSlots(false)
	for text, want := range map[string][2]int{
		"2037-05-09T14:59:59Z": {6*24 + 23, 23}, // Saturday 23:59:59 in Tokyo
		"2037-05-09T15:00:00Z": {0, 0},          // Sunday
		"2037-05-13T10:30:00Z": {3*24 + 19, 19}, // Wednesday
	} {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		if local := at.In(tokyo); weekly.At(local) != &weekly[want[0]] || daily.At(local) != &daily[want[1]] {
			t.Errorf("%s is not in the slots %v", text, want)
		}
	}
	if len(weekly) != 168 || len(daily) != 24 {
		t.Errorf("there are %d and %d slots", len(weekly), len(daily))
	}
	for i := range daily {
		if daily.Filled() {
			t.Fatalf("filled after %d slots", i)
		}
		daily[i] = c.Minimum(daily[i], 1, now)
	}
	if !daily.Filled() {
		t.Error("not filled after a day")
	}
}

func TestBoundsOfTheAutoscalerByMode(t *testing.T) {
	for _, tc := range []struct {
		reason            string
		mode              Mode
		low, top, current int32
		want              Bounds
	}{
		{"working", Working, 5, 20, 9, Bounds{5, 20, false}},
		{"the largest minimum", Working, 11, 40, 9, Bounds{10, 40, false}},
		{"the largest maximum", Working, 5, 101, 9, Bounds{5, 100, false}},
		{"emergency", Emergency, 5, 20, 9, Bounds{20, 20, false}},
		{"emergency at the largest maximum", Emergency, 5, 200, 9, Bounds{100, 100, false}},
		{"back to normal: trunc(0.95 * 20)", BackToNormal, 5, 20, 20, Bounds{19, 20, false}},
		{"back to normal: truncated", BackToNormal, 5, 20, 19, Bounds{18, 20, false}},
		{"back to normal: the recommended one is as high, and it is not over", BackToNormal, 9, 20, 10, Bounds{9, 20, false}},
		{"back to normal: the recommended one is higher", BackToNormal, 9, 20, 9, Bounds{9, 20, true}},
	} {
		if got := c.Bounds(tc.mode, tc.low, tc.top, tc.current); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.reason, got, tc.want)
		}
	}
}

func TestLostMetricsAndRestarts(t *testing.T) {
	if c.Lost(time.Time{}, now) || c.Lost(now.Add(-5*time.Minute+time.Second), now) || !c.Lost(now.Add(-5*time.Minute), now) {
		t.Error("metrics are lost after five minutes, and not before")
	}
	for _, tc := range []struct {
		reason   string
		onlyDown bool
		last     time.Time
		want     bool
	}{
		{"something grows", false, now, true},
		{"down, the first time", true, time.Time{}, true},
		{"down within an hour", true, now.Add(-time.Hour + time.Second), false},
		{"down after an hour", true, now.Add(-time.Hour), true},
	} {
		if got := c.MayRestart(tc.onlyDown, tc.last, now); got != tc.want {
			t.Errorf("%s: %t, want %t", tc.reason, got, tc.want)
		}
	}
}
