package pipeline_test

import (
	"fmt"
	"testing"

	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/workload"
)

func BenchmarkMerge(b *testing.B) {
	for _, n := range []int{1, 2, 10} {
		intents := make([]workload.Intent, n)
		for i := range intents {
			intents[i] = sleep(fmt.Sprint("nights-", i), int32(i/2))
			if i%3 == 2 {
				intents[i] = awake(fmt.Sprint("days-", i), int32(i/2))
			}
		}
		b.Run(fmt.Sprint(n, " intents"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				pipeline.Merge(intents...)
			}
		})
	}
}
