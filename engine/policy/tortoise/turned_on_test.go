package tortoise_test

import (
	"testing"
	"time"

	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/workload"
)

// TestTurningOnKeepsPresentValuesUntilTheFirstDecision checks the change from mode Off, which shows final values, to
// mode Auto. The
// present values stay until the first decision, whose step is no larger than allowed.
func TestTurningOnKeepsPresentValuesUntilTheFirstDecision(t *testing.T) {
	off, auto := compile(t, `{}`), compile(t, `{mode: Auto}`)
	m := learner(t, off)
	seen := own()
	advice := live(t, m, seen, 3*24*time.Hour).Advice
	if cpu := advice.Amounts[amountOf("app", workload.CPU)]; cpu == 0 || cpu >= 800 {
		t.Fatalf("with mode Off it recommends %dm, and that is no more than a step", cpu)
	}
	asks := func(a *workload.Advice) []workload.Intent {
		t.Helper()
		given := *a
		given.By = auto.ID
		d, err := auto.Pipeline.Run(&pipeline.Input{Now: noon, Advice: &given}, nil)
		if err != nil || len(d.Intents) != 2 {
			t.Fatalf("it asks for %+v, %v", d.Intents, err)
		}
		return d.Intents
	}
	for _, in := range asks(advice) {
		if in.Class != workload.ClassKeep {
			t.Errorf("turned on, and not decided yet, it asks for %+v", in)
		}
	}
	m = auto.Tuner.Adopt(m)
	seen.Now, seen.Since = noon.Add(time.Minute), noon.Add(-3*24*time.Hour)
	observe(m, seen.Now)
	next := m.Decide(seen).Advice
	if advice.Same(next) {
		t.Error("what is carried out is no news")
	}
	if in := asks(next)[0]; in.Class != workload.ClassSet || in.Amounts[amountOf("app", workload.CPU)] < 800 {
		t.Errorf("decided, it asks for %+v", in)
	}
}
