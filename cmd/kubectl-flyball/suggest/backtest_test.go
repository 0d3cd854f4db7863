package suggest

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

var monday = time.Date(2037, 5, 11, 0, 0, 0, 0, time.UTC)

// TestWhereAHistoryIsParted checks that the border of a back-test is after two thirds of the history, at a full hour,
// with at least a day on either side.
func TestWhereAHistoryIsParted(t *testing.T) {
	for _, tc := range []struct {
		reason string
		span   time.Duration
		at     time.Duration
		want   time.Duration
	}{
		{"six days", 6 * 24 * time.Hour, 99 * 24 * time.Hour, 4 * 24 * time.Hour},
		{"to the hour", 6*24*time.Hour + 59*time.Minute, 99 * 24 * time.Hour, 4 * 24 * time.Hour},
		{"samples after the instant do not count", 99 * 24 * time.Hour, 6 * 24 * time.Hour, 4 * 24 * time.Hour},
		{"three days", 3 * 24 * time.Hour, 99 * 24 * time.Hour, 2 * 24 * time.Hour},
		{"less leaves less than a day", 3*24*time.Hour - 3*time.Hour, 99 * 24 * time.Hour, -1},
		{"nothing up to the instant", time.Hour, -time.Hour, -1},
	} {
		var samples []workload.Sample
		for at := time.Duration(0); at <= tc.span; at += time.Minute {
			samples = append(samples, workload.Sample{At: monday.Add(at)})
		}
		want := monday.Add(tc.want)
		if tc.want < 0 {
			want = time.Time{}
		}
		if got := border(samples, monday.Add(tc.at)); !got.Equal(want) {
			t.Errorf("%s: %s, want %s", tc.reason, got, want)
		}
	}
}

// TestTheBestFixedSetting checks that no other setting of the grid costs less with as few violations, and that every
// setting has at least the present capacity at the maximum.
func TestTheBestFixedSetting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		load := tune.Load{Demand: make([]float32, 24*60)}
		top := rapid.Float64Range(100, 9000).Draw(t, "top")
		for i := range load.Demand {
			load.Demand[i] = float32(top * (1.1 - math.Cos(2*math.Pi*float64(i)/(24*60))) / 2)
		}
		own := tune.PodSetting{Request: int64(rapid.SampledFrom([]int{200, 400, 1000}).Draw(t, "request")), Target: 70,
			Min: rapid.IntRange(1, 4).Draw(t, "min"), Max: rapid.IntRange(4, 20).Draw(t, "max")}
		allowed := rapid.SampledFrom([]float64{0, 10, 500, 5000}).Draw(t, "allowed")
		best := bestFixed(load, own, allowed)
		for _, request := range []int64{own.Request, 500, 250} {
			if request > own.Request {
				continue
			}
			for target := 50; target <= 90; target += 5 {
				s := tune.PodSetting{Request: request, Target: target, Min: own.Min,
					Max: int(math.Ceil(float64(own.Max) * float64(own.Request) / float64(request)))}
				p := play(load, s, nil)
				beyond := func(p Played) float64 { return math.Max(p.ViolationMinutes-allowed, 0) }
				if beyond(p) < beyond(best) || beyond(p) == beyond(best) && p.Cores < best.Cores {
					t.Fatalf("%+v is better than %+v with %v allowed", p, best, allowed)
				}
			}
		}
	})
}

// TestUnknownDemandCountsForNothing checks that the time before the first sample and the time in gaps do not count.
func TestUnknownDemandCountsForNothing(t *testing.T) {
	var samples []workload.Sample
	for minute := 30; minute < 120; minute++ {
		if minute < 60 || minute >= 100 {
			samples = append(samples, workload.Sample{At: monday.Add(time.Duration(minute) * time.Minute), Container: "app", CPU: 100, Replicas: 2},
				workload.Sample{At: monday.Add(time.Duration(minute) * time.Minute), Container: "proxy", CPU: 1, Replicas: 2})
		}
	}
	load, ok := loadOf(samples, "app", monday, monday.Add(time.Hour*9))
	if !ok || len(load.Demand) != 120 || load.Demand[29] != -1 || load.Demand[30] != 200 || load.Demand[68] != 200 || load.Demand[69] != -1 ||
		load.Demand[100] != 200 {
		t.Errorf("the load is %v, %t", load.Demand, ok)
	}
	if _, ok := loadOf(samples, "none", monday, monday.Add(time.Hour)); ok {
		t.Error("a container without samples has a load")
	}
}
