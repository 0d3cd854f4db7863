package suggest

import (
	"context"
	"errors"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/analysis"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// These are the defaults of flags.
const defaultProfile, defaultMin, defaultMax, defaultPreferredMax = "Balanced", 3, 100, 30

// Result is a finding with the samples behind it. Notes are remarks for the user.
type Result struct {
	Finding *Requests
	Samples []workload.Sample
	Notes   []string
}

// RequestsOf returns the result for a target, as the verb without other flags than those of the history finds it.
func RequestsOf(ctx context.Context, w *source.World, target source.Target, from analysis.HistoryFlags, now time.Time,
	zone *time.Location) (*Result, error) {
	r := &Result{}
	q := &question{history: from, profile: defaultProfile, given: func(string) bool { return false },
		bounds: tune.Bounds{Min: defaultMin, Max: defaultMax, PreferredMax: defaultPreferredMax},
		now:    func() time.Time { return now }, zone: zone, in: strings.NewReader(""),
		note:     func(text string) { r.Notes = append(r.Notes, text) },
		progress: func() (func(string), func()) { return func(string) {}, func() {} }}
	if err := errors.Join(q.check()...); err != nil {
		return nil, err
	}
	var err error
	if r.Finding, r.Samples, err = q.find(ctx, w, target); err != nil {
		return nil, err
	}
	return r, nil
}

// Line is a recommended number beside the present value. An absent value is empty.
type Line struct {
	Of, Now, Recommended string
	Reasons              []string
}

// Lines returns the recommended numbers.
func (f *Requests) Lines() (all []Line) {
	for _, c := range f.Containers {
		all = append(all, Line{c.Name + " cpu", c.CPU.Own, c.CPU.Recommended, c.CPU.Reasons},
			Line{c.Name + " memory", c.Memory.Own, c.Memory.Recommended, c.Memory.Reasons})
	}
	if f.Autoscaler == nil {
		return all
	}
	return append(all, f.Autoscaler.Min.line("minimum", ""), f.Autoscaler.Max.line("maximum", ""),
		f.Autoscaler.Utilisation.line("utilisation", " %"))
}

// State returns the phase with its reason.
func (f *Requests) State() string {
	if f.PhaseReason != "" {
		return f.Phase + ": " + f.PhaseReason
	}
	return f.Phase
}
