// Package pipeline runs a policy as a short list of named pure steps over one target, and merges the claims of several
// policies. A pipeline sees only its Input and calls no clock: the same Input always gives the same Decision. Each step
// adds a line to the Trace, used by status, events, logs and explanations.
//
// Decisions (docs/decisions): 0004, 0009.
package pipeline

import (
	"fmt"
	"strings"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// Input is the complete input of a pipeline.
type Input struct {
	// Now is the instant of the decision.
	Now time.Time
	// Target is the object with its owner's values.
	Target workload.Observed
	// Overrides are the orders in force that keep the target awake. Bounds are the limits of the schedules that select the
	// target; nil without an order in force.
	Overrides []Override
	Bounds    []Bounds
	// Beside are the limits of further schedules, which are broken, or select only an autoscaler of the target or the object that the
	// target scales.
	Beside []Bounds
	// Awake is the first of the Overrides with an effect on the target; nil: none.
	Awake *Override
	// Advice is the tuning advice for the target; nil: none (yet).
	Advice *workload.Advice
	// Use is the knowledge of the target's use by the demand of the policy; nil: none (yet). It differs between policies.
	Use *workload.Use

	// frame is the state of the present run, and claim has room for its first claim. A target has one of each for all its policies: for
	// each policy, they would be a quarter of the memory that a decision takes.
	frame Frame
	claim [1]workload.Intent
}

// Decision is the result of a pipeline.
type Decision struct {
	Intents []workload.Intent
	// Wake is the earliest instant when the answer can change; zero: never.
	Wake time.Time
	// Limited lists the reasons why an order has no effect, or not the whole effect, on the target. Yielding lists the
	// schedules that yield to the order.
	Limited  []string
	Yielding []workload.Policy
}

// WakeAt brings Wake forward to t; a zero t is ignored.
func (d *Decision) WakeAt(t time.Time) {
	if !t.IsZero() && (d.Wake.IsZero() || t.Before(d.Wake)) {
		d.Wake = t
	}
}

// Line is the report of one step.
type Line struct {
	Step string `json:"step"`
	Text string `json:"text"`
}

// Trace is the story of a decision, one line for each step. A nil Trace records nothing and costs nothing.
type Trace struct{ Lines []Line }

// String returns the lines as "step: text; step: text".
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

// Frame is the shared state of the steps of one run.
type Frame struct {
	// Input is shared by the pipelines of all policies of the target. Steps only read it.
	Input    *Input
	Decision Decision
	// Trace is nil if there is no reader; Sayf handles both cases.
	Trace *Trace
	// Done ends the run after the step that sets it.
	Done bool

	step string
}

// Tracing reports whether a trace is recorded. A step asks before it computes texts only for the trace.
func (f *Frame) Tracing() bool { return f.Trace != nil }

// Sayf adds a line of the current step to the trace.
func (f *Frame) Sayf(format string, args ...any) {
	if f.Trace != nil {
		f.Trace.Lines = append(f.Trace.Lines, Line{Step: f.step, Text: fmt.Sprintf(format, args...)})
	}
}

// Step is one named pure part of a policy. Run reads Frame.Input, adds to Frame.Decision and reports to the trace.
type Step struct {
	Name string
	Run  func(*Frame) error
}

// Pipeline is a list of steps. They run in order until a step sets Frame.Done.
type Pipeline []Step

// Run decides about one target. An Input serves one run at a time, and the Intents of the Decision are valid until its next run. trace may
// be nil. An error names the step; the Decision is then empty, so a policy that cannot decide makes no claim.
func (p Pipeline) Run(in *Input, trace *Trace) (Decision, error) {
	f := &in.frame
	*f = Frame{Input: in, Trace: trace}
	f.Decision.Intents = in.claim[:0]
	for _, step := range p {
		f.step = step.Name
		if err := step.Run(f); err != nil {
			return Decision{}, fmt.Errorf("step %s: %w", step.Name, err)
		}
		if f.Done {
			break
		}
	}
	if len(f.Decision.Intents) == 0 {
		f.Decision.Intents = nil
	}
	return f.Decision, nil
}
