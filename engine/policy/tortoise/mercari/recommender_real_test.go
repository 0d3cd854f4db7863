package mercari

import (
	"encoding/csv"
	"os"
	"strconv"
	"testing"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// TestTheRecommenderSaysTheSame compares the numbers with those of the VerticalPodAutoscaler's own recommender, day by
// day, for the usage in vpa_record.go. Weights of samples, half-lives, daily peaks and kills all have an effect in it.
func TestTheRecommenderSaysTheSame(t *testing.T) {
	file, err := os.Open("testdata/vpa.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) != 15 {
		t.Fatalf("%d rows, error %v", len(rows), err)
	}
	var r Recommender
	for minute := range 14 * 24 * 60 {
		at := start.Add(time.Duration(minute) * time.Minute)
		replicas, milli, mebis := recordedUsage(minute)
		s := workload.Sample{At: at, Container: "app", CPU: milli, Memory: mebis * mebi, Replicas: replicas, MemoryLimit: 1024 * mebi}
		if minute == 9*24*60+600 {
			s.OOMKills = 1
		}
		r.Observe(s)
		if (minute+1)%(24*60) > 0 {
			continue
		}
		cpu, cpuUpper := r.CPU("app", at)
		memory, memoryUpper := r.Memory("app", at)
		for i, got := range []float64{cpu, cpuUpper, memory / mebi, memoryUpper / mebi} {
			want, err := strconv.ParseFloat(rows[(minute+1)/(24*60)][i+1], 64)
			if err != nil {
				t.Fatal(err)
			}
			if !within(got, want) {
				t.Errorf("day %d, %s: %.0f, the real one says %.0f", (minute+1)/(24*60), rows[0][i+1], got, want)
			}
		}
	}
}

// recordedUsage is the usage of vpa_record.go.
func recordedUsage(minute int) (replicas int, milli, mebis float64) {
	day, hour := minute/(24*60), minute/60%24
	replicas, milli, mebis = 2, 100+float64(hour), 300
	if hour == 12 {
		milli = 900
	}
	if day >= 6 && hour >= 9 && hour < 15 {
		replicas, milli = 10, 500
	}
	if day == 2 {
		mebis = 700
	}
	return replicas, milli, mebis
}
