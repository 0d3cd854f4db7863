package tune

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// TestAClockThatWasAhead checks the samples after the clock was set right. If the clock was ahead by at most an
// hour, the
// samples that seem older are dropped. If it was ahead by more, the samples of the wrong clock are dropped. In both cases
// learning goes on.
func TestAClockThatWasAhead(t *testing.T) {
	for _, jump := range []int{1, int(ahead), int(ahead) + 1, 500, Points, 20 * Points} {
		target := &Usage{}
		add := func(step int, used float64) {
			target.Add(workload.Sample{At: at(step), Container: "app", CPU: used, Memory: -1, Replicas: 1})
		}
		for step := range 300 {
			add(step, 100)
		}
		add(299+jump, 900)
		add(299, 100) // the clock is right again, in the same step as before
		newest := 299
		if jump <= int(ahead) {
			newest += jump
		}
		if got := target.Newest(); !got.Equal(at(newest)) {
			t.Errorf("%d steps ahead: right after it the newest sample is of %s", jump, got.Sub(monday))
		}
		if got := target.Demand("app"); got.Last() != stepOf(at(newest)) || !got.At(got.Last()).Known {
			t.Errorf("%d steps ahead: right after it the newest step is %d", jump, got.Last()-stepOf(monday))
		}
		for step := 300; step < 370; step++ {
			add(step, 100)
		}
		series := target.Demand("app")
		if wrong := series.At(stepOf(at(299 + jump))); jump > int(ahead) && wrong.Known && wrong.Mean > 200 {
			t.Errorf("%d steps ahead: what was written then is still known", jump)
		}
		if got := target.Newest(); !got.Equal(at(max(369, 299+jump))) && jump <= int(ahead) || jump > int(ahead) && !got.Equal(at(369)) {
			t.Errorf("%d steps ahead: the newest sample is of %s", jump, got.Sub(monday))
		}
		if got := series.At(stepOf(at(369))); !got.Known {
			t.Errorf("%d steps ahead: nothing was learnt after it", jump)
		}
		if kept := series.At(stepOf(at(290))); kept.Known != (jump < Points-10) {
			t.Errorf("%d steps ahead: what was learnt before is known: %t", jump, kept.Known)
		}
		if first := target.First(); first.After(at(369)) {
			t.Errorf("%d steps ahead: the first sample is of %s", jump, first.Sub(monday))
		}
	}
}

// TestRewindForgetsLaterSamples checks that a rewind drops all steps after a step and none before it. Steps left in
// the
// ring would come back as old demand.
func TestRewindForgetsLaterSamples(t *testing.T) {
	newest := stepOf(at(2 * Points))
	for _, back := range []int64{1, 2, int64(Points) - 1, int64(Points), 2 * int64(Points)} {
		s := &Series{}
		for n := newest - int64(Points); n <= newest; n++ {
			s.Add(7, time.Unix(n*60, 0))
		}
		s.rewind(newest - back)
		if s.Last() != newest-back || s.count != 0 {
			t.Errorf("%d steps back: the newest is %d steps back, of %d samples", back, newest-s.Last(), s.count)
		}
		s.advance(newest)
		for n := oldest(newest); n <= newest; n++ {
			if kept := s.code(n) != 0; kept != (n <= newest-back) {
				t.Fatalf("%d steps back: the step %d before the newest is kept: %t", back, newest-n, kept)
			}
		}
	}
}

// TestAStepBeyondAllTimeIsRefused checks that a step number near overflow is refused: counting from it would give
// negative
// numbers.
func TestAStepBeyondAllTimeIsRefused(t *testing.T) {
	target := &Usage{}
	target.Add(workload.Sample{At: monday, Container: "app", CPU: 100, Memory: -1, Replicas: 1})
	last := binary.AppendVarint(nil, stepOf(monday))
	data := target.Marshal()
	if bytes.Count(data, last) != 1 {
		t.Fatal("the step is not found in what is written")
	}
	for _, step := range []int64{mostSteps + 1, math.MaxInt64 - 3} {
		if _, err := Unmarshal(bytes.Replace(data, last, binary.AppendVarint(nil, step), 1)); err == nil {
			t.Errorf("step %d is read", step)
		}
	}
}
