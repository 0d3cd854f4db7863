package decide

import (
	"time"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/workload"
)

// Opinion is what one policy says of a target.
type Opinion struct {
	Policy *Policy
	// Class is that of the policy's intent; ClassKeep where the policy could not decide.
	Class workload.Class
	// Silent is true where the policy asks for nothing.
	Silent bool
	// Err says why the policy could not decide.
	Err error
	// Ignored says which annotations the policy left out because they cannot be read; empty: none.
	Ignored string
	// Alone says why the policy, which selects the object, is not asked: Flyball itself runs in it. Empty: it is asked.
	Alone string
	// PassedOn is a size that the policy asks of what the target governs; nil: none.
	PassedOn *workload.Size
	// OnBehalf is true where the policy selects what the object governs and not the object itself: it is no target then.
	OnBehalf bool
	// Left is true where the policy does not select the object any more, and has still something to give back.
	Left bool
}

// GateKind says what a write has to wait for.
type GateKind uint8

// Kinds of gates.
const (
	// GateOpen: nothing.
	GateOpen GateKind = iota
	// GateBlocked: the adapter of the kind is not fit for use.
	GateBlocked
	// GateOther: an autoscaler has to be written before what it governs, or the other way round.
	GateOther
	// GateFreeze: a freeze refuses what the write would do.
	GateFreeze
)

// Gate is what a write has to wait for, if anything.
type Gate struct {
	Kind GateKind
	// Reason says so in words.
	Reason string
	// First is the object of GateOther that has to be written first.
	First workload.Ref
	// Until is when a freeze lets the write through; zero: when policies change.
	Until time.Time
}

// Verdict is what all policies together say of a target, and the patch that follows.
type Verdict struct {
	// Kind and Object are what was decided about; both nil where there is no such object.
	Kind   *Kind
	Object *workload.Object
	// Opinions has one element a policy that has to do with the object.
	Opinions []Opinion
	Plan     workload.Plan
	// Conflicts says who did not get what was asked.
	Conflicts []pipeline.Conflict
	// Wake is the earliest instant at which the answer can change by itself; zero: never.
	Wake time.Time
	// Result is the patch and what the object is after it.
	Result adapter.Result
	// OnceSizes are, by policy, the sizes set once that are still in place, here or on what the object governs.
	OnceSizes map[workload.Policy]string
	// Gate is what the patch has to wait for.
	Gate Gate
	// Err says why nothing could be rendered. Only another form of the object can help.
	Err error
}

// Story is how a verdict came about, for people. A nil Story records nothing and costs nothing.
type Story struct {
	// Policies has one element a policy that selects the object, in the order in which they were asked.
	Policies []PolicyStory
	// Lines tells of what happened after the policies were asked, a line a step.
	Lines []pipeline.Line
}

// PolicyStory is what one policy said, step by step.
type PolicyStory struct {
	Policy workload.Policy
	Trace  pipeline.Trace
	Err    error
}

// newTrace gives a trace for one policy; nil if nobody reads the story.
func (s *Story) newTrace() *pipeline.Trace {
	if s == nil {
		return nil
	}
	return &pipeline.Trace{}
}

// answered adds what a policy has said.
func (s *Story) answered(id workload.Policy, trace *pipeline.Trace, err error) {
	if s != nil {
		s.Policies = append(s.Policies, PolicyStory{Policy: id, Trace: *trace, Err: err})
	}
}

// add adds a line about what came after the policies were asked; an empty text adds none.
func (s *Story) add(step, text string) {
	if s != nil && text != "" {
		s.Lines = append(s.Lines, pipeline.Line{Step: step, Text: text})
	}
}
