package tortoise

import (
	"fmt"
	"testing"
	"time"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// TestContainersOfTheTargetHaveRoom checks that the containers of a target are always learnt. Neither containers that were
// injected into its pods nor containers that it had before take their room.
func TestContainersOfTheTargetHaveRoom(t *testing.T) {
	for _, profile := range []string{"Balanced", "Tortoise"} {
		rules, errs := rulesOf(t, "{profile: "+profile+"}")
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		m, err := newLearner(&rules, nil)
		if err != nil {
			t.Fatal(err)
		}
		noon := time.Date(2037, 1, 5, 12, 0, 0, 0, time.UTC)
		for turn := range 3 {
			var own workload.Allocations
			for i := range tune.MaxContainers {
				own = append(own, workload.Allocation{Component: fmt.Sprintf("turn-%d-%d", turn, i),
					Requests: workload.Requests{MilliCPU: 1000, MemoryBytes: 1 << 30}})
			}
			var found policy.Found
			for minute := range 90 {
				at := noon.Add(time.Duration(turn*90+minute) * time.Minute)
				samples := []workload.Sample{{At: at, Container: "a-proxy", CPU: 10, Memory: 1 << 20, Replicas: 3}}
				for _, a := range own {
					samples = append(samples, workload.Sample{At: at, Container: a.Component, CPU: 100, Memory: 100 << 20, Replicas: 3})
				}
				m.Observe(samples...)
				found = m.Decide(policy.Seen{Now: at, Since: noon, Replicas: 3, Ready: 3, Own: own})
			}
			smaller := 0
			for _, c := range found.Report.Containers {
				if c.Memory != nil && c.Memory.Recommended.Value() < 1<<30 {
					smaller++
				}
			}
			if smaller != tune.MaxContainers {
				t.Errorf("%s, turn %d: of %d containers something is known, want %d", profile, turn, smaller, tune.MaxContainers)
			}
		}
	}
}
