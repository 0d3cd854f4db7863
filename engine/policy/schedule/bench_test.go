package schedule_test

import (
	"testing"

	"flyball.dev/flyball/engine/pipeline"
)

// BenchmarkRun decides about one target: without a trace like the engine, and with a trace like explanations.
func BenchmarkRun(b *testing.B) {
	p, errs := compile(nights())
	if len(errs) > 0 {
		b.Fatal(errs.ToAggregate())
	}
	in := pipeline.Input{Now: monday, Target: target()}
	b.Run("untraced", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Pipeline.Run(&in, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("traced", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Pipeline.Run(&in, &pipeline.Trace{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
