package tune

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestWalkThroughAllPhases goes through all phases, with one line for each step.
func TestWalkThroughAllPhases(t *testing.T) {
	day := 25 * time.Hour
	at := Initializing
	for i, step := range []struct {
		seen PhaseInput
		want Phase
	}{
		{PhaseInput{}, Initializing},
		{PhaseInput{Span: time.Second}, GatheringData},
		{PhaseInput{Span: 29 * time.Minute}, GatheringData},
		{PhaseInput{Span: 29 * time.Minute, Silent: time.Hour}, GatheringData}, // nothing was set, so there is no emergency
		{PhaseInput{Span: 30 * time.Minute}, PartlyWorking},
		{PhaseInput{Span: time.Hour, Silent: LostAfter - 1}, PartlyWorking},
		{PhaseInput{Span: time.Hour, Silent: LostAfter}, Emergency},
		{PhaseInput{Span: time.Hour, Steady: SteadyFor - 1}, Emergency},
		{PhaseInput{Span: time.Hour, Steady: SteadyFor}, BackToNormal},
		{PhaseInput{Span: time.Hour, Steady: SteadyFor}, BackToNormal},
		{PhaseInput{Span: time.Hour, Stuck: LostAfter}, Emergency}, // a second emergency, on the way back from the first
		{PhaseInput{Span: time.Hour, Steady: SteadyFor}, BackToNormal},
		{PhaseInput{Span: time.Hour, Steady: LevelAfter}, PartlyWorking},
		{PhaseInput{Span: day, Seasonal: true}, Working},
		{PhaseInput{Span: day, Seasonal: true, Stuck: LostAfter}, Emergency},
		{PhaseInput{Span: day, Seasonal: true, Steady: SteadyFor}, BackToNormal},
		{PhaseInput{Span: day, Seasonal: true, Steady: LevelAfter - 1}, BackToNormal},
		{PhaseInput{Span: day, Seasonal: true, Steady: LevelAfter}, Working},
		{PhaseInput{Span: day, Seasonal: true, Manual: true}, Emergency},
		{PhaseInput{Span: day, Seasonal: true, Manual: true, Steady: day}, Emergency},
		{PhaseInput{Span: day, Seasonal: true, Steady: day}, BackToNormal},
		{PhaseInput{Span: day, Seasonal: true, Manual: true}, Emergency},
		{PhaseInput{Span: time.Minute, Steady: day}, GatheringData}, // the history was reset during the emergency
		{PhaseInput{Span: day, Seasonal: true}, Working},
		{PhaseInput{Span: time.Hour}, PartlyWorking},
	} {
		next, why := NextPhase(at, step.seen)
		if next != step.want || (why == "") != (next == at) {
			t.Fatalf("step %d: from %s to %s (%q), want %s", i, at, next, why, step.want)
		}
		at = next
	}
}

func TestEveryPhaseIsReachedAndLeft(t *testing.T) {
	for _, p := range Phases {
		to := slices.ContainsFunc(table, func(r rule) bool { return r.to == p })
		from := slices.ContainsFunc(table, func(r rule) bool { return r.to != p && slices.Contains(r.from, p) })
		if !from || !to && p != Initializing {
			t.Errorf("%s is reached %t and left %t", p, to, from)
		}
	}
	if next, _ := NextPhase("", PhaseInput{}); next != Initializing {
		t.Errorf("nothing becomes %s", next)
	}
}

// TestTheTableDoesNotFlap checks that with a constant input the phase changes a few times at most and then stays.
func TestTheTableDoesNotFlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		age := rapid.SampledFrom([]time.Duration{0, time.Minute, LostAfter, SteadyFor, EnoughAfter, LevelAfter, 24 * time.Hour})
		s := PhaseInput{
			Manual: rapid.Bool().Draw(t, "manual"), Span: age.Draw(t, "span"), Silent: age.Draw(t, "silent"), Stuck: age.Draw(t, "stuck"),
			Seasonal: rapid.Bool().Draw(t, "seasonal"),
		}
		if !s.Lost() {
			s.Steady = age.Draw(t, "steady")
		}
		if s.Seasonal {
			s.Span = 24 * time.Hour
		}
		p := rapid.SampledFrom(Phases).Draw(t, "phase")
		for range 4 {
			p, _ = NextPhase(p, s)
		}
		if next, why := NextPhase(p, s); next != p {
			t.Fatalf("%+v: from %s to %s once more: %s", s, p, next, why)
		}
		if p == Emergency && p.Allowed().Lower {
			t.Fatal("capacity may fall in an emergency")
		}
	})
}
