package timeline_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/timeline"
)

// Kept results equal computed ones, in any order of instants, also for two instants of one second and of neighbouring seconds.
func TestKeptResultsEqualComputedOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line, errs := timeline.Pair(randomCron(t, "up"), randomCron(t, "down"), time.UTC, nil)
		if len(errs) > 0 {
			t.Skip(errs)
		}
		var kept timeline.Kept[timeline.Span]
		first := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
		for range rapid.IntRange(1, 40).Draw(t, "questions") {
			at := first.Add(time.Duration(rapid.IntRange(-4, 4).Draw(t, "half seconds")) * time.Second / 2)
			if diff := cmp.Diff(line.At(at), kept.At(at, line.At)); diff != "" {
				t.Fatalf("%s at %s: computed (-), kept (+):\n%s", line, at, diff)
			}
		}
	})
}

func TestTwoInstantsAreKept(t *testing.T) {
	var kept timeline.Kept[int64]
	computed := 0
	second := func(at time.Time) int64 { computed++; return at.Unix() }
	for _, step := range []struct{ at, computed int64 }{{1, 1}, {2, 2}, {1, 2}, {2, 2}, {3, 3}, {2, 3}, {1, 4}} {
		if got := kept.At(time.Unix(step.at, 5), second); got != step.at || int64(computed) != step.computed {
			t.Errorf("%d gives %d after %d computations, want %d", step.at, got, computed, step.computed)
		}
	}
}
