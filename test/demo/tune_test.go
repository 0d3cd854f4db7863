package main

import (
	"math"
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
)

func TestPodsForALoad(t *testing.T) {
	s := setting{milliCPU: 1000, minimum: 5, maximum: 20, percent: 50}
	for milli, want := range map[float64]float64{500: 5, 2500: 5, 2501: 6, 4000: 8, 20000: 20} {
		if got := s.pods(milli, s.minimum); got != want {
			t.Errorf("%v milli-CPU: %v pods, want %v", milli, got, want)
		}
	}
}

// TestWeekdayLoadHasItsAverage checks that over a weekday the load is 2.25 cores on average, whatever the setting.
func TestWeekdayLoadHasItsAverage(t *testing.T) {
	begin := monday(t)
	few := setting{milliCPU: 500, memory: 1 << 29, maximum: 20, percent: 80}
	wide := setting{milliCPU: 1000, memory: 1 << 30, maximum: 20, percent: 50}
	for _, s := range []setting{few, wide} {
		c := s.day(begin, func(int) int32 { return 10 })
		if used := c.used * c.coreHours; math.Abs(used-24*2.25) > 0.01 {
			t.Errorf("%+v: %.3f core hours are used, want 54", s, used)
		}
		if c.coreHours != c.gibHours {
			t.Errorf("%+v: %.1f core hours and %.1f GiB hours", s, c.coreHours, c.gibHours)
		}
	}
	// The wide setting needs ten pods at all hours and has no fewer.
	if c := wide.day(begin, func(int) int32 { return 10 }); math.Abs(c.coreHours-240) > 0.01 {
		t.Errorf("%.1f core hours, want 240", c.coreHours)
	}
}

// TestTunedWeek checks that over the days requests fall in steps, the load is always served, and enough is learnt to
// continue.
func TestTunedWeek(t *testing.T) {
	owner := setting{milliCPU: tunedMilli, memory: 1 << 30, minimum: tunedMin, maximum: tunedMax, percent: tunedTarget}
	policy := &v1alpha1.Tortoise{Spec: v1alpha1.TortoiseSpec{}}
	policy.Spec.Mode = v1alpha1.TortoiseAuto
	begin := monday(t)
	learner, days, err := tunedWeek(policy, owner, begin, begin.AddDate(0, 0, 7))
	if err != nil {
		t.Fatal(err)
	}
	if len(days) != 8 || len(learner.Keep()) == 0 {
		t.Fatalf("%d days", len(days))
	}
	last := days[6]
	for i, day := range days[:7] {
		t.Logf("%+v", day)
		if day.short > 0 {
			t.Errorf("day %d: the load was above what the pods request for %s", i, day.short)
		}
	}
	if last.tuned > 0.8*last.owner || last.setting.memory >= owner.memory || last.setting.percent <= owner.percent {
		t.Errorf("nothing was tuned: %+v", last)
	}
}
