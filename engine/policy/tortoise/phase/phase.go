// Package phase is the table of states of a tuned target: which there are, what leads from one to the next, and what may be done in
// each. It sees neither a clock nor an object.
package phase

import "time"

// Phase is the state of a target.
type Phase string

// The phases.
const (
	// Initializing: nothing was seen yet.
	Initializing Phase = "Initializing"
	// GatheringData: there are samples, but too few to say anything.
	GatheringData Phase = "GatheringData"
	// PartlyWorking: requests are tuned, and bounds with wide margins; no season was seen yet.
	PartlyWorking Phase = "PartlyWorking"
	// Working: everything is tuned.
	Working Phase = "Working"
	// Emergency: capacity never falls.
	Emergency Phase = "Emergency"
	// BackToNormal: metrics are back, and the bounds go down in steps.
	BackToNormal Phase = "BackToNormal"
)

// All phases, in the order in which a target usually sees them.
var All = []Phase{Initializing, GatheringData, PartlyWorking, Working, Emergency, BackToNormal}

// Seen is what the next phase depends on.
type Seen struct {
	// Manual says that the spec asks for Emergency.
	Manual bool
	// Span is how long there have been samples. Zero: there were none.
	Span time.Duration
	// Silent is for how long there have been no samples, Stuck for how long the autoscaler cannot read its metrics, Steady for how long
	// both have been well again.
	Silent, Stuck, Steady time.Duration
	// Seasonal says that a whole season was seen.
	Seasonal bool
	// Level says that the bounds are where they would be without an emergency.
	Level bool
}

// Durations of the table.
const (
	// LostAfter is how long samples or the autoscaler's metrics may be away.
	LostAfter = 5 * time.Minute
	// SteadyFor is how long both must be well before an emergency ends.
	SteadyFor = 10 * time.Minute
	// EnoughAfter is how long there must be samples before anything is tuned.
	EnoughAfter = 30 * time.Minute
)

// Lost says that nobody knows what happens.
func (s Seen) Lost() bool { return s.Silent >= LostAfter || s.Stuck >= LostAfter }

// rule leads from some phases to another one.
type rule struct {
	from []Phase
	to   Phase
	why  string
	when func(Seen) bool
}

var tuned = []Phase{PartlyWorking, Working, BackToNormal}

// table has the rules: the first that fits is taken, and none means that the phase stays.
var table = []rule{
	{All, Emergency, "the spec asks for it", func(s Seen) bool { return s.Manual }},
	{tuned, Emergency, "metrics are lost", Seen.Lost},
	{[]Phase{Emergency}, BackToNormal, "metrics are back and steady", func(s Seen) bool { return s.Steady >= SteadyFor && s.Span >= EnoughAfter }},
	{[]Phase{Emergency}, GatheringData, "nobody asks for it any more, and too little was seen", func(s Seen) bool { return !s.Lost() && s.Span < EnoughAfter }},
	{[]Phase{BackToNormal}, Working, "the bounds are level again, and a whole season was seen", func(s Seen) bool { return s.Level && s.Seasonal }},
	{[]Phase{BackToNormal}, PartlyWorking, "the bounds are level again", func(s Seen) bool { return s.Level }},
	{[]Phase{Initializing, GatheringData, PartlyWorking}, Working, "a whole season was seen", func(s Seen) bool { return s.Seasonal && !s.Lost() }},
	{[]Phase{Initializing, GatheringData}, PartlyWorking, "enough was seen for wide margins", func(s Seen) bool { return s.Span >= EnoughAfter && !s.Lost() }},
	{[]Phase{Initializing}, GatheringData, "there are samples", func(s Seen) bool { return s.Span > 0 }},
	{[]Phase{Working}, PartlyWorking, "the history was reset", func(s Seen) bool { return !s.Seasonal }},
}

// Next gives the next phase and why it is that; the same one and no reason where nothing changes.
func Next(p Phase, s Seen) (next Phase, why string) {
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
			return p, "" // what leads there still holds
		}
	}
	return p, ""
}

// May is what is allowed in a phase.
type May struct {
	// Lower bounds and requests, raise them, and change requests or utilisation at all.
	Lower, Raise, Tune bool
	// Seasons says that bounds follow what was chosen.
	Seasons bool
}

// Allowed gives what is allowed in a phase.
func (p Phase) Allowed() May {
	switch p {
	case PartlyWorking:
		return May{Lower: true, Raise: true, Tune: true}
	case Working:
		return May{Lower: true, Raise: true, Tune: true, Seasons: true}
	case Emergency:
		return May{Raise: true}
	case BackToNormal:
		return May{Lower: true, Raise: true, Seasons: true}
	}
	return May{}
}
