package mercari

import (
	"math"
	"testing"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// bucket returns the value at a place on the scale of the histograms. Buckets grow by 12 %. If all values are in bucket i,
// the quantile q is at the place i + q.
func bucket(place float64) float64 { return math.Pow(1.12, place) }

func equal(got, want float64) bool { return math.Abs(got-want) <= 1e-6*math.Abs(want) }

// TestTheUpperBoundOfCPUComesNearer uses 1000m, which is in bucket 60, as 1.12^60 = 898 and 1.12^61 = 1005. The upper
// bound is its quantile times 1 + 1/days, where days is the length of the history and at least a minute.
func TestTheUpperBoundOfCPUComesNearer(t *testing.T) {
	var r Recommender
	r.Observe(workload.Sample{At: start, Container: "app", CPU: 1000, Memory: -1, Replicas: 1})
	for after, factor := range map[time.Duration]float64{
		0: 1441, 30 * time.Second: 1441, time.Minute: 1441, 2 * time.Minute: 721, 12 * time.Hour: 3, 24 * time.Hour: 2, 4 * 24 * time.Hour: 1.25,
	} {
		target, upper := r.CPU("app", start.Add(after))
		if want := 1.15 * bucket(60.9); !equal(target, want) {
			t.Errorf("after %s the target is %v, want %v", after, target, want)
		}
		if want := 1.15 * bucket(60.95) * factor; !equal(upper, want) {
			t.Errorf("after %s the upper bound is %v, want %v", after, upper, want)
		}
	}
}

func TestTheUpperBoundOfMemoryComesNearer(t *testing.T) {
	var r Recommender
	r.Observe(workload.Sample{At: start, Container: "app", CPU: -1, Memory: 300 * mebi, Replicas: 1})
	for after, factor := range map[time.Duration]float64{
		0: 1441, time.Minute: 1441, 2 * time.Minute: 721, 12 * time.Hour: 3, 24 * time.Hour: 2, 4 * 24 * time.Hour: 1.25,
	} {
		target, upper := r.Memory("app", start.Add(after))
		if !equal(target, 1.15*bucket(50.9)*mebi) || !equal(upper, 1.15*bucket(50.95)*mebi*factor) {
			t.Errorf("after %s memory is %v and at most %v", after, target, upper)
		}
	}
	if target, upper := r.Memory("none", start); target != 0 || upper != 0 {
		t.Error("of a container that was not seen something is recommended")
	}
}

// TestADayThatIsOverIsAPeakOfTheHistory uses 300 MiB, which is in bucket 50, as 1.12^50 = 289 and 1.12^51 = 324. The new
// day begins with its own peak. The day before has half the weight of the new day, which is a third of all.
func TestADayThatIsOverIsAPeakOfTheHistory(t *testing.T) {
	var r Recommender
	r.Observe(workload.Sample{At: start, Container: "app", CPU: -1, Memory: 300 * mebi, Replicas: 1})
	r.Observe(workload.Sample{At: start.Add(day), Container: "app", CPU: -1, Memory: 100 * mebi, Replicas: 1})
	target, upper := r.Memory("app", start.Add(2*day))
	if want := 1.15 * bucket(50.7) * mebi; !equal(target, want) {
		t.Errorf("memory is %v, want %v", target, want)
	}
	if want := 1.15 * bucket(50.85) * mebi * 1.5; !equal(upper, want) {
		t.Errorf("after two days memory is at most %v, want %v", upper, want)
	}
}

// TestAKillCountsAsMoreThanTheLimit uses 1.2 * 500 MiB, which is in bucket 56, as 1.12^56 = 570 and 1.12^57 = 639.
func TestAKillCountsAsMoreThanTheLimit(t *testing.T) {
	var r Recommender
	r.Observe(workload.Sample{At: start, Container: "app", CPU: -1, Memory: 100 * mebi, OOMKills: 1, MemoryLimit: 500 * mebi})
	if target, _ := r.Memory("app", start); !equal(target, 1.15*bucket(56.9)*mebi) {
		t.Errorf("memory is %v MiB", target/mebi)
	}
	r.Observe(workload.Sample{At: start, Container: "other", CPU: -1, Memory: 100 * mebi, Replicas: 1, MemoryLimit: 500 * mebi})
	if target, _ := r.Memory("other", start); !equal(target, 1.15*bucket(40.9)*mebi) {
		t.Errorf("a limit at which nothing was killed makes memory %v MiB", target/mebi)
	}
}

func TestWhichSamplesOfCPUCount(t *testing.T) {
	var r Recommender
	r.Observe(workload.Sample{At: start, Container: "gone", CPU: 1000, Memory: -1, Replicas: 0})
	r.Observe(workload.Sample{At: start, Container: "unknown", CPU: -1, Memory: -1, Replicas: 1})
	r.Observe(workload.Sample{At: start, Container: "idle", CPU: 0, Memory: -1, Replicas: 1})
	for name, want := range map[string]float64{"gone": 0, "unknown": 0, "idle": 1.15 * bucket(0.9)} {
		if target, _ := r.CPU(name, start); !equal(target, want) {
			t.Errorf("%s: the target is %v, want %v", name, target, want)
		}
	}
}
