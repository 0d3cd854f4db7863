package main

import (
	"math"
	"testing"
)

func TestPodsForALoad(t *testing.T) {
	s := setting{milliCPU: 1000, minimum: 5, maximum: 20, percent: 50}
	for milli, want := range map[float64]float64{500: 5, 2500: 5, 2501: 6, 4000: 8, 20000: 20} {
		if got := s.pods(milli, s.minimum); got != want {
			t.Errorf("%v milli-CPU: %v pods, want %v", milli, got, want)
		}
	}
}

// TestDay: over a weekday the load is 2.25 cores on average, whatever is set for it.
func TestDay(t *testing.T) {
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
	// Ten pods of the wide one are enough at all hours, and it has no fewer.
	if c := wide.day(begin, func(int) int32 { return 10 }); math.Abs(c.coreHours-240) > 0.01 {
		t.Errorf("%.1f core hours, want 240", c.coreHours)
	}
}
