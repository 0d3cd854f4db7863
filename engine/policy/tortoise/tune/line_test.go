package tune

import (
	"math"
	"testing"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// TestMemoryByCPU uses 0.5 MiB for each milli-CPU, above 300 MiB. Samples of two months ago have no effect. A line that
// falls gives 0.
func TestMemoryByCPU(t *testing.T) {
	for _, tc := range []struct {
		reason      string
		points      int
		base, slope float64
		want        float64
	}{
		{"a line", 1000, 300, 0.5, 0.5},
		{"too few points", 59, 300, 0.5, 0},
		{"memory does not follow", 1000, 300, 0, 0},
		{"it falls", 1000, 300, -0.2, 0},
		{"in proportion", 1000, 0, 0.5, 0.5},
	} {
		target := &Usage{}
		for i := range 1000 { // samples of two months before
			target.Add(workload.Sample{At: monday.Add(time.Duration(i)*time.Minute - 60*24*time.Hour), Container: "app", CPU: float64(i),
				Memory: float64(i) * mebi, Replicas: 1})
		}
		if tc.points < 100 {
			target = &Usage{}
		}
		for i := range tc.points {
			cpu := 100 + 10*float64(i%90)
			target.Add(workload.Sample{At: monday.Add(time.Duration(i) * time.Minute), Container: "app", CPU: cpu,
				Memory:   (tc.base + tc.slope*cpu) * mebi,
				Replicas: 3})
		}
		if got := target.MemoryByCPU("app") / mebi; math.Abs(got-tc.want) > 0.01 {
			t.Errorf("%s: it is %g MiB a milli-CPU, want %g", tc.reason, got, tc.want)
		}
	}
	if got := (&Usage{}).MemoryByCPU("app"); got != 0 {
		t.Errorf("of what was never seen it is %g", got)
	}
	flat := &Usage{}
	for i := range 100 {
		flat.Add(workload.Sample{At: monday.Add(time.Duration(i) * time.Minute), Container: "app", CPU: 100, Memory: mebi, Replicas: 3})
	}
	if got := flat.MemoryByCPU("app"); got != 0 {
		t.Errorf("of one use of CPU it is %g", got)
	}
}
