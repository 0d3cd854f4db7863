package analysis

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
)

var pods = Pods{Request: 1000, Target: 70, Least: 2, Headroom: 1.5}

// TestHourlyBoundsOfAnOffice: 7 cores need ten pods of 1000m at 70 %, and 1.5 times as much needs fifteen.
func TestHourlyBoundsOfAnOffice(t *testing.T) {
	h := history(t, monday, 21, func(local time.Time) float64 { return 7 * office(local) })
	teach, judge, err := h.Split(time.UTC, 0)
	if err != nil {
		t.Fatal(err)
	}
	weekdays, weekend := []v1alpha1.Day{"Mon", "Tue", "Wed", "Thu", "Fri"}, []v1alpha1.Day{"Sat", "Sun"}
	for ceiling, most := range map[int][2]int{0: {2, 16}, 12: {12, 16}, 20: {20, 20}} {
		p := pods
		p.Ceiling = ceiling
		got, err := h.HourlyBounds(teach, p)
		want := []Bounds{
			{"weekdays-00", v1alpha1.Window{Days: weekdays, From: "00:00", To: "08:00"}, 2, most[0]},
			{"weekdays-08", v1alpha1.Window{Days: weekdays, From: "08:00", To: "18:00"}, 10, most[1]},
			{"weekdays-18", v1alpha1.Window{Days: weekdays, From: "18:00", To: "24:00"}, 2, most[0]},
			{"weekend-00", v1alpha1.Window{Days: weekend, From: "00:00", To: "24:00"}, 2, most[0]},
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("with a ceiling of %d: %v %s", ceiling, err, diff)
		}
	}
	got, err := h.HourlyBounds(teach, pods)
	if err != nil {
		t.Fatal(err)
	}
	c, err := h.TryBounds(got, judge, pods, 10, 20)
	if err != nil {
		t.Fatal(err)
	}
	// The proposed bounds need ten pods in 50 of the 168 hours, and two pods in the others. A week has 20160 steps.
	if c.Own.Pods() != 10 || c.Own.Violations != 0 || math.Abs(c.Proposed.Pods()-(50*10+118*2)/168.0) > 0.2 || c.Own.Steps != 20160 {
		t.Errorf("there are %.2f pods and %.2f, with %+v", c.Own.Pods(), c.Proposed.Pods(), c)
	}
}

// TestAnHourThatEveryDayHas: an hour with the same bounds on all days becomes one window for all days.
func TestAnHourThatEveryDayHas(t *testing.T) {
	h := history(t, monday, 21, func(local time.Time) float64 {
		if local.Hour() == 12 {
			return 7
		}
		return 1
	})
	teach, _, err := h.Split(time.UTC, 0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := h.HourlyBounds(teach, pods)
	want := []Bounds{
		{"daily-00", v1alpha1.Window{From: "00:00", To: "12:00"}, 2, 3},
		{"daily-12", v1alpha1.Window{From: "12:00", To: "13:00"}, 10, 16},
		{"daily-13", v1alpha1.Window{From: "13:00", To: "24:00"}, 2, 3},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestCountsAreRoundedUp(t *testing.T) {
	for n, want := range map[int]int{1: 1, 5: 5, 9: 9, 10: 10, 11: 12, 19: 20, 20: 20, 99: 100, 101: 120, 1001: 1200} {
		if got := step(n); got != want {
			t.Errorf("%d becomes %d, want %d", n, got, want)
		}
	}
}

// TestMaximaServeTheObservedLoad: on the teaching days, no minute of any zone needs more pods than the bounds in
// force
// allow. If the owner's bounds are proposed for all hours, both outcomes are equal.
func TestMaximaServeTheObservedLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, loc := drawn(t)
		teach, judge, err := h.Split(loc, 0)
		if err != nil {
			t.Fatal(err)
		}
		p := Pods{Request: 100, Target: 60, Least: 1, Headroom: 1}
		bounds, err := h.HourlyBounds(teach, p)
		if err != nil {
			return
		}
		for _, b := range bounds {
			on, err := compiled([]v1alpha1.Window{b.Window}, loc)
			if err != nil {
				t.Fatal(err)
			}
			for minute, local := range teach.minutes {
				if minute%5 == 0 && p.serve(float64(h.at(minute))) > b.Max && on.At(local).Active {
					t.Fatalf("%s: %v cores need more than %+v allows", local, h.at(minute), b)
				}
			}
		}
		same := []Bounds{{"all", v1alpha1.Window{From: "00:00", To: "24:00"}, 3, 9}}
		if c, err := h.TryBounds(same, judge, p, 3, 9); err != nil || c.Own != c.Proposed || c.Own == (tune.Outcome{}) {
			t.Fatalf("the same bounds come to %+v: %v", c, err)
		}
	})
}
