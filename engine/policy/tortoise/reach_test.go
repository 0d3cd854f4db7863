package tortoise_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// TestLargestReplicasRequestAtLeastTheOwnersTotal checks, for any usage and spec, that at each step the largest
// number of replicas
// requests at least the owner's total. If the spec gives a maximum, it is used as it is.
func TestLargestReplicasRequestAtLeastTheOwnersTotal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		request, most := int64(rapid.IntRange(60, 8000).Draw(rt, "request")), int64(rapid.IntRange(1, 200).Draw(rt, "maximum"))
		used := rapid.Float64Range(0.01, 1.5).Draw(rt, "used")
		given := rapid.SampledFrom([]int64{0, 0, most, 2 * most, 10 * most}).Draw(rt, "given")
		spec := rapid.SampledFrom([]string{"Auto", `"Off"`}).Draw(rt, "mode")
		text := fmt.Sprintf(`{mode: %s, resources: [{container: app, cpu: %s}]}`, spec,
			rapid.SampledFrom([]string{"Horizontal", "Vertical"}).Draw(rt, "cpu"))
		if given > 0 {
			text = fmt.Sprintf(`%s, replicas: {min: 1, preferredMax: 1, max: %d}}`, text[:len(text)-1], given)
		}
		p := compile(t, text)
		m := learner(t, p)
		seen := own()
		seen.Own = workload.Allocations{{Component: "app", Requests: workload.Requests{MilliCPU: request}}}
		seen.Autoscaler = &policy.SeenAutoscaler{Bounds: workload.Bounds{Min: ptr.To(int64(1)), Max: &most},
			Utilisation: []workload.Utilisation{{Resource: workload.CPU, Percent: 70}}}
		seen.Replicas, seen.Ready = int(most), int(most)
		learn := func(at time.Time) {
			m.Observe(workload.Sample{At: at, Container: "app", CPU: used * float64(request) * (1 + float64(at.Hour())) / 24, Memory: -1,
				Replicas: int(most)})
		}
		begin := noon.Add(-25 * time.Hour)
		for at := begin; at.Before(noon); at = at.Add(tune.Step) {
			learn(at)
		}
		has := request
		for turn := range 6 {
			at := noon.Add(time.Duration(turn) * 70 * time.Minute)
			learn(at)
			seen.Now, seen.Since, seen.Requested, seen.Largest = at, begin, map[string]int64{"app": has},
				map[string]workload.Requests{"app": {MilliCPU: has}}
			a := m.Decide(seen).Advice
			if a == nil {
				rt.Fatal("nothing is advised")
			}
			now, allowed := a.Amounts[amountOf("app", workload.CPU)], most
			if a.Max != nil {
				allowed = *a.Max
			}
			if given > 0 && a.Max != nil && allowed != given {
				rt.Fatalf("%d replicas at most, and %d were asked for", allowed, given)
			}
			if min(now, has)*allowed < request*most {
				rt.Fatalf("turn %d: %d replicas of %dm reach %dm, and the %d of %dm of the owner %dm", turn, allowed, now, now*allowed, most, request,
					request*most)
			}
			if rapid.Bool().Draw(rt, "rolled out") {
				has = now
			}
		}
	})
}
