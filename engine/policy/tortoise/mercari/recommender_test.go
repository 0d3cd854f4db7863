package mercari

import (
	"math"
	"testing"
	"time"

	"flyball.dev/flyball/engine/workload"
)

var start = time.Date(2037, 5, 11, 0, 0, 0, 0, time.UTC)

// within reports whether two values differ by less than the width of a bucket, which is 12 %.
func within(got, want float64) bool { return math.Abs(math.Log(got/want)) < math.Log(1.13) }

// TestCPU checks that the target is the 90th percentile times the margin. The upper bound gets closer to it each day.
func TestCPU(t *testing.T) {
	var r Recommender
	last := math.Inf(1)
	for i := range 8 * 24 * 60 {
		at := start.Add(time.Duration(i) * time.Minute)
		r.Observe(workload.Sample{At: at, Container: "app", CPU: 100 + float64(i%10)*100, Memory: -1, Replicas: 3})
		if i%(24*60) == 24*60-1 {
			if _, upper := r.CPU("app", at); upper >= last {
				t.Errorf("after %d days the upper bound is %.0fm, and was %.0fm", i/24/60+1, upper, last)
			} else {
				last = upper
			}
		}
	}
	// Nine tenths of the values from 100 to 1000 are at most 900.
	if target, upper := r.CPU("app", start.Add(8*24*time.Hour)); !within(target, 1.15*900) || upper <= target {
		t.Errorf("the target is %.0fm, the upper bound %.0fm", target, upper)
	}
	if target, upper := r.CPU("none", start); target != 0 || upper != 0 {
		t.Error("of a container that was not seen something is recommended")
	}
}

// TestMemoryFollowsDailyPeaksAndKills checks that the peaks of days count, and today's peak at once. A kill counts
// as a need above the limit.
func TestMemoryFollowsDailyPeaksAndKills(t *testing.T) {
	var r Recommender
	see := func(hour int, mib float64, kills int) float64 {
		at := start.Add(time.Duration(hour) * time.Hour)
		r.Observe(workload.Sample{At: at, Container: "app", CPU: -1, Memory: mib * mebi, Replicas: 1, OOMKills: kills, MemoryLimit: 512 * mebi})
		target, _ := r.Memory("app", at)
		return target / mebi
	}
	if got := see(0, 300, 0); !within(got, 1.15*300) {
		t.Errorf("today's peak gives %.0f MiB", got)
	}
	for hour := 1; hour < 10*24; hour++ {
		if got := see(hour, 200+100*float64(hour%24/23), 0); got < 1.15*290 || got > 1.15*340 {
			t.Fatalf("after %d hours it is %.0f MiB", hour, got)
		}
	}
	for range 3 {
		see(10*24, 512, 1)
	}
	if got := see(10*24, 200, 0); !within(got, 1.15*1.2*512) {
		t.Errorf("after three kills at 512 MiB it is %.0f MiB", got)
	}
}
