package measure

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"

	"flyball.dev/flyball/engine/workload"
)

var noon = time.Date(2037, 5, 11, 12, 0, 0, 0, time.UTC)

// TestAnswersAreJoined: answers are joined by instant and container. A value that is not a number is left out, and so
// is an instant without replicas.
func TestAnswersAreJoined(t *testing.T) {
	a := newAnswers()
	series := func(name, container string, values ...float64) {
		s := &model.SampleStream{Metric: model.Metric{containerLabel: model.LabelValue(container)}}
		for i, v := range values {
			s.Values = append(s.Values, model.SamplePair{Timestamp: model.TimeFromUnix(noon.Unix() + int64(60*i)), Value: model.SampleValue(v)})
		}
		if err := a.take(name, s); err != nil {
			t.Fatal(err)
		}
	}
	series(CPU, "app", 0.1, math.NaN(), 0.3, 0.4)
	series(Memory, "app", 100, 200, 300, 400)
	series(Throttled, "app", 1.5, math.NaN())
	series(OOMKills, "app", 0, 0.98)
	series(MemoryLimit, "app", 500, 500)
	series(Replicas, "", 2, 2, 3)
	want := []workload.Sample{
		{At: noon, Container: "app", CPU: 100, Memory: 100, Replicas: 2, Throttled: 1, MemoryLimit: 500},
		{At: noon.Add(time.Minute), Container: "app", CPU: -1, Memory: 200, Replicas: 2, OOMKills: 1, MemoryLimit: 500},
		{At: noon.Add(2 * time.Minute), Container: "app", CPU: 300, Memory: 300, Replicas: 3},
	}
	if diff := cmp.Diff(want, a.samples()); diff != "" {
		t.Error(diff)
	}
}
