package tune

import "time"

// Phase is the state of a target. NextPhase is the state machine, and Allowed the allowed actions of each phase.
type Phase string

// The phases.
const (
	// Initializing: no samples yet.
	Initializing Phase = "Initializing"
	// GatheringData: too few samples.
	GatheringData Phase = "GatheringData"
	// PartlyWorking: less than a season was seen. Requests are tuned, and bounds are tuned with wide margins.
	PartlyWorking Phase = "PartlyWorking"
	// Working: everything is tuned.
	Working Phase = "Working"
	// Emergency: capacity never falls.
	Emergency Phase = "Emergency"
	// BackToNormal: metrics are back, and capacity does not fall yet.
	BackToNormal Phase = "BackToNormal"
)

// Phases are all phases, in the order in which a target usually sees them.
var Phases = []Phase{Initializing, GatheringData, PartlyWorking, Working, Emergency, BackToNormal}

// PhaseInput is the input of the next phase.
type PhaseInput struct {
	// Manual is true if the spec asks for Emergency.
	Manual bool
	// Span is the time covered by samples; zero: there are no samples.
	Span time.Duration
	// Silent is the time without samples. Stuck is the time for which the autoscaler cannot read its metrics. Steady is the
	// time for which both samples and metrics have been present.
	Silent, Stuck, Steady time.Duration
	// Seasonal is true once a whole season was seen.
	Seasonal bool
}

// Durations of the table.
const (
	// LostAfter is the time after which metrics count as lost: without samples, or without metrics for the autoscaler.
	LostAfter = 5 * time.Minute
	// SteadyFor is the time for which samples and metrics must be present before an emergency ends.
	SteadyFor = 10 * time.Minute
	// LevelAfter is the time for which both must be present before capacity may fall. So gaps of metrics move no bounds.
	LevelAfter = 30 * time.Minute
	// EnoughAfter is the time with samples before anything is tuned.
	EnoughAfter = 30 * time.Minute
)

// Lost reports whether metrics are lost.
func (s PhaseInput) Lost() bool { return s.Silent >= LostAfter || s.Stuck >= LostAfter }

// rule is a transition from each of some phases to another phase.
type rule struct {
	from []Phase
	to   Phase
	why  string
	when func(PhaseInput) bool
}

var tuned = []Phase{PartlyWorking, Working, BackToNormal}

// table has the rules in order. The first rule that matches counts. If no rule matches, the phase stays.
var table = []rule{
	{Phases, Emergency, "the spec asks for it", func(s PhaseInput) bool { return s.Manual }},
	{tuned, Emergency, "metrics are lost", PhaseInput.Lost},
	{[]Phase{Emergency}, BackToNormal, "metrics are back and steady",
		func(s PhaseInput) bool { return s.Steady >= SteadyFor && s.Span >= EnoughAfter }},
	{[]Phase{Emergency}, GatheringData, "the spec no longer asks for it, and there are too few samples",
		func(s PhaseInput) bool { return !s.Lost() && s.Span < EnoughAfter }},
	{[]Phase{BackToNormal}, Working, "all is well, and a whole season was seen",
		func(s PhaseInput) bool { return s.Steady >= LevelAfter && s.Seasonal }},
	{[]Phase{BackToNormal}, PartlyWorking, "all is well", func(s PhaseInput) bool { return s.Steady >= LevelAfter }},
	{[]Phase{Initializing, GatheringData, PartlyWorking}, Working, "a whole season was seen",
		func(s PhaseInput) bool { return s.Seasonal && !s.Lost() }},
	{[]Phase{Initializing, GatheringData}, PartlyWorking, "enough was seen for wide margins",
		func(s PhaseInput) bool { return s.Span >= EnoughAfter && !s.Lost() }},
	{[]Phase{Initializing}, GatheringData, "there are samples", func(s PhaseInput) bool { return s.Span > 0 }},
	{[]Phase{Working}, PartlyWorking, "the history was reset", func(s PhaseInput) bool { return !s.Seasonal }},
}

// NextPhase returns the next phase and the reason for it. If the phase stays, it returns the same phase and no reason.
func NextPhase(p Phase, s PhaseInput) (next Phase, why string) {
	if p == "" {
		p = Initializing
	}
	for _, r := range table {
		for _, from := range r.from {
			if from == p && r.to != p && r.when(s) {
				return r.to, r.why
			}
		}
		if r.to == p && r.when(s) && r.to == Emergency {
			return p, "" // the condition of this phase still holds
		}
	}
	return p, ""
}

// May are the allowed actions of a phase.
type May struct {
	// Lower and Raise are true if bounds and requests may be lowered and raised. Tune is true if requests and utilisation
	// may be changed at all.
	Lower, Raise, Tune bool
	// Seasons is true if bounds follow the choice from a whole season.
	Seasons bool
}

// Allowed returns the allowed actions of a phase.
func (p Phase) Allowed() May {
	switch p {
	case PartlyWorking:
		return May{Lower: true, Raise: true, Tune: true}
	case Working:
		return May{Lower: true, Raise: true, Tune: true, Seasons: true}
	case Emergency:
		return May{Raise: true}
	case BackToNormal:
		return May{Raise: true, Seasons: true}
	}
	return May{}
}
