package mercari

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// TestRestoredRecommenderRecommendsTheSame checks that a Recommender restored from JSON recommends the same as the
// original, also after
// more samples.
func TestRestoredRecommenderRecommendsTheSame(t *testing.T) {
	var kept Recommender
	for hour := range 50 {
		for _, name := range []string{"app", "proxy"} {
			kept.Observe(workload.Sample{At: start.Add(time.Duration(hour) * time.Hour), Container: name, CPU: float64(100 + hour),
				Memory: float64(300+hour) * mebi, Replicas: 1})
		}
	}
	text, err := json.Marshal(kept.Keep())
	if err != nil {
		t.Fatal(err)
	}
	var read KeptUsage
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	restored, err := RestoreUsage(read)
	if err != nil {
		t.Fatal(err)
	}
	for hour := 49; hour < 100; hour += 10 {
		now := start.Add(time.Duration(hour) * time.Hour)
		for _, name := range []string{"app", "proxy", "none"} {
			a, b := [4]float64{}, [4]float64{}
			a[0], a[1] = kept.CPU(name, now)
			b[0], b[1] = restored.CPU(name, now)
			a[2], a[3] = kept.Memory(name, now)
			b[2], b[3] = restored.Memory(name, now)
			if a != b || (a[0] == 0) != (name == "none") {
				t.Errorf("after %d hours %s is %v, and %v where it was restored", hour, name, a, b)
			}
		}
		s := workload.Sample{At: now, Container: "app", CPU: 700, Memory: 900 * mebi, Replicas: 1}
		kept.Observe(s)
		restored.Observe(s)
	}
}

func TestDamagedContainersAreNotRestored(t *testing.T) {
	var r Recommender
	r.Observe(workload.Sample{At: start, Container: "app", CPU: 100, Memory: -1, Replicas: 1})
	for name, edit := range map[string]func(c *KeptContainer){
		"CPU":    func(c *KeptContainer) { c.CPU = c.CPU[:len(c.CPU)-1] },
		"memory": func(c *KeptContainer) { c.Memory = nil },
	} {
		kept := r.Keep()
		c := kept.Containers["app"]
		edit(&c)
		kept.Containers["app"] = c
		if _, err := RestoreUsage(kept); err == nil || !strings.Contains(err.Error(), "app") {
			t.Errorf("damaged %s: %v", name, err)
		}
	}
}

// TestMemoryThatIsNoNumberIsNotKnown checks that samples with unknown memory do not change the peak of the day.
func TestMemoryThatIsNoNumberIsNotKnown(t *testing.T) {
	var r Recommender
	for hour, memory := range []float64{300 * mebi, math.NaN(), -1} {
		r.Observe(workload.Sample{At: start.Add(time.Duration(hour) * time.Hour), Container: "app", CPU: -1, Memory: memory, Replicas: 1})
	}
	if target, _ := r.Memory("app", start.Add(day)); !equal(target, 1.15*bucket(50.9)*mebi) {
		t.Errorf("memory is %v", target)
	}
}
