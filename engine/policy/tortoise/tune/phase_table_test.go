package tune

import (
	"testing"
	"time"
)

// TestEachRuleAtItsBoundary checks the rules that compare durations, at and next to each bound.
func TestEachRuleAtItsBoundary(t *testing.T) {
	for _, tc := range []struct {
		reason string
		from   Phase
		seen   PhaseInput
		want   Phase
	}{
		{"steady for long enough, and just enough was seen", Emergency, PhaseInput{Span: EnoughAfter, Steady: SteadyFor}, BackToNormal},
		{"steady, and a little less than enough was seen", Emergency, PhaseInput{Span: EnoughAfter - 1, Steady: SteadyFor}, GatheringData},
		{"enough was seen, but it is not steady", Emergency, PhaseInput{Span: EnoughAfter, Steady: SteadyFor - 1}, Emergency},
		{"too little was seen, and metrics are lost", Emergency, PhaseInput{Span: EnoughAfter - 1, Silent: LostAfter}, Emergency},
		{"too little was seen, and metrics are just not lost", Emergency, PhaseInput{Span: EnoughAfter - 1, Silent: LostAfter - 1},
			GatheringData},
		{"the autoscaler is stuck, just not for too long", Working, PhaseInput{Span: time.Hour, Seasonal: true, Stuck: LostAfter - 1}, Working},
		{"the autoscaler is stuck for too long", Working, PhaseInput{Span: time.Hour, Seasonal: true, Stuck: LostAfter}, Emergency},
		{"the first sample", Initializing, PhaseInput{Span: 1}, GatheringData},
		{"enough at once", Initializing, PhaseInput{Span: EnoughAfter}, PartlyWorking},
		{"a season at once", Initializing, PhaseInput{Span: 24 * time.Hour, Seasonal: true}, Working},
		{"a season that is lost again", GatheringData, PhaseInput{Span: 24 * time.Hour, Seasonal: true, Silent: LostAfter}, GatheringData},
		{"well for long enough, without a season", BackToNormal, PhaseInput{Span: time.Hour, Steady: LevelAfter}, PartlyWorking},
		{"a season, and not well for long enough", BackToNormal, PhaseInput{Span: time.Hour, Seasonal: true, Steady: LevelAfter - 1},
			BackToNormal},
	} {
		if got, why := NextPhase(tc.from, tc.seen); got != tc.want || (why != "") != (got != tc.from) {
			t.Errorf("%s: from %s to %s (%q), want %s", tc.reason, tc.from, got, why, tc.want)
		}
	}
}

func TestPhasesAllowTheirChanges(t *testing.T) {
	for p, want := range map[Phase]May{
		Initializing:  {},
		GatheringData: {},
		PartlyWorking: {Lower: true, Raise: true, Tune: true},
		Working:       {Lower: true, Raise: true, Tune: true, Seasons: true},
		Emergency:     {Raise: true},
		BackToNormal:  {Raise: true, Seasons: true},
	} {
		if got := p.Allowed(); got != want {
			t.Errorf("%s allows %+v, want %+v", p, got, want)
		}
	}
}
