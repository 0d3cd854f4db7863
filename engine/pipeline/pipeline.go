// Package pipeline runs a policy as a short list of named pure steps over one target, and merges what several policies
// ask of it. A pipeline sees only its Input and calls no clock: the same Input always gives the same Decision. What each
// step found is a line of the Trace, which status, events, logs and explanations share.
package pipeline

import (
	"fmt"
	"strings"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// Input is all that a pipeline may look at.
type Input struct {
	// Now is the instant to decide for.
	Now time.Time
	// Target is the object as its owner has it.
	Target workload.Observed
	// NamespaceAwakeUntil is the annotation awake-until of the target's namespace; empty if there is none.
	NamespaceAwakeUntil string
	// Advice is what was found for the target from what its pods used; nil: nothing is known (yet).
	Advice *workload.Advice
}

// Decision is what a pipeline ends in.
type Decision struct {
	Intents []workload.Intent
	// Wake is the earliest instant at which the answer can change; zero: never.
	Wake time.Time
	// Ignored lists the annotations that cannot be read and were left out, each with its object, its value and the forms that can be read.
	Ignored []string
}

// WakeAt brings Wake forward to t; a zero t is ignored.
func (d *Decision) WakeAt(t time.Time) {
	if !t.IsZero() && (d.Wake.IsZero() || t.Before(d.Wake)) {
		d.Wake = t
	}
}

// Line is what one step has to say.
type Line struct {
	Step string `json:"step"`
	Text string `json:"text"`
}

// Trace is the story of a decision, a line a step. Nothing is written into a nil Trace, which costs nothing.
type Trace struct{ Lines []Line }

// String joins the lines as "step: text; step: text".
func (t *Trace) String() string {
	if t == nil {
		return ""
	}
	parts := make([]string, len(t.Lines))
	for i, l := range t.Lines {
		parts[i] = l.Step + ": " + l.Text
	}
	return strings.Join(parts, "; ")
}

// Frame is what the steps of one run share.
type Frame struct {
	Input    Input
	Decision Decision
	// Trace is nil when nobody will read it; Sayf takes care of that.
	Trace *Trace
	// Done ends the run after the step that sets it.
	Done bool

	step string
}

// Tracing says whether a trace is written; a step asks before it computes what only the trace needs.
func (f *Frame) Tracing() bool { return f.Trace != nil }

// Sayf adds the running step's line to the trace.
func (f *Frame) Sayf(format string, args ...any) {
	if f.Trace != nil {
		f.Trace.Lines = append(f.Trace.Lines, Line{Step: f.step, Text: fmt.Sprintf(format, args...)})
	}
}

// Step is one named pure part of a policy: it reads Frame.Input, adds to Frame.Decision and says what it found.
type Step interface {
	Name() string
	Run(*Frame) error
}

type stepFunc struct {
	name string
	run  func(*Frame) error
}

func (s stepFunc) Name() string       { return s.name }
func (s stepFunc) Run(f *Frame) error { return s.run(f) }

// Func makes a Step of a function.
func Func(name string, run func(*Frame) error) Step { return stepFunc{name, run} }

// Pipeline is a list of steps, run in order until one is done.
type Pipeline []Step

// Run decides for one target. trace may be nil. An error names the step; the Decision is then empty, so that a policy that
// cannot decide asks for nothing.
func (p Pipeline) Run(in Input, trace *Trace) (Decision, error) {
	f := Frame{Input: in, Trace: trace}
	for _, step := range p {
		f.step = step.Name()
		if err := step.Run(&f); err != nil {
			return Decision{}, fmt.Errorf("step %s: %w", step.Name(), err)
		}
		if f.Done {
			break
		}
	}
	return f.Decision, nil
}

// Names lists the steps, as documentation and explanations show them.
func (p Pipeline) Names() []string {
	names := make([]string, len(p))
	for i, s := range p {
		names[i] = s.Name()
	}
	return names
}
