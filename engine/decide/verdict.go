package decide

import (
	"time"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/workload"
)

// Opinion is the answer of a policy about a target.
type Opinion struct {
	Policy *Policy
	// Class is the class of the policy's claims; ClassKeep if the policy could not decide.
	Class workload.Class
	// Silent is true if the policy has no claims.
	Silent bool
	// Err is the reason why the policy could not decide.
	Err error
	// Ignored lists unreadable annotations, ignored by the policy; empty: none.
	Ignored string
	// Alone is the reason why the policy is not asked although it selects the object: Flyball itself runs in it. Empty:
	// the policy is asked.
	Alone string
	// PassedOn is the size claimed by the policy for the autoscaler's target; nil: none.
	PassedOn *workload.Size
	// OnBehalf is true if the policy selects only the autoscaler's target and not the autoscaler. The autoscaler is no
	// target of the policy then.
	OnBehalf bool
	// Left is true if the policy no longer selects the object but has still something to restore on it.
	Left bool
}

// GateKind is the kind of a write's obstacle.
type GateKind uint8

// Kinds of gates.
const (
	// GateOpen: the write need not wait.
	GateOpen GateKind = iota
	// GateBlocked: the adapter of the kind is unusable.
	GateBlocked
	// GateOther: another object must be written first: an autoscaler before its target, or the target before
	// its autoscaler.
	GateOther
	// GateFreeze: a freeze refuses the write.
	GateFreeze
	// GateOrder: the order of a policy has other objects change first.
	GateOrder
)

// Gate is the obstacle of a write, if any.
type Gate struct {
	Kind GateKind
	// Reason explains the gate to users.
	Reason string
	// First is the object to be written first, for GateOther.
	First workload.Ref
	// Until is the time at which the freeze, or the order, lets the write through; zero: not before policies or objects change.
	Until time.Time
	// Order is the wave that must change first, for GateOrder.
	Order *Hold
}

// Verdict is the answer of all policies about a target, with the resulting patch.
type Verdict struct {
	// Kind and Object are the target's; both are nil if the object does not exist.
	Kind   *Kind
	Object *workload.Object
	// Opinions has one element for each policy involved with the object.
	Opinions []Opinion
	Plan     workload.Plan
	// Conflicts lists the losing claims.
	Conflicts []pipeline.Conflict
	// Wake is the earliest instant at which the answer can change without an event; zero: never.
	Wake time.Time
	// Result is the patch and the state of the object after it.
	Result adapter.Result
	// OnceSizes are, by policy, the sizes set once and still in place, here or on the autoscaler's target.
	OnceSizes map[workload.Policy]string
	// Gate is the obstacle of the patch.
	Gate Gate
	// Passed are the waves of the target in the orders by which it waits for no other one.
	Passed []*Hold
	// Err is the reason why rendering failed. Only a change of the object can help.
	Err error
}

// Story records for users how a verdict came about. A nil Story records nothing and costs nothing.
type Story struct {
	// Policies has an element for each selecting policy, in the order of asking.
	Policies []PolicyStory
	// Lines records the steps after the policies' answers, one line for each step.
	Lines []pipeline.Line
}

// PolicyStory is the answer of a policy, step by step.
type PolicyStory struct {
	Policy workload.Policy
	Trace  pipeline.Trace
	Err    error
}

// newTrace returns a trace for one policy; nil for a nil story.
func (s *Story) newTrace() *pipeline.Trace {
	if s == nil {
		return nil
	}
	return &pipeline.Trace{}
}

// answered adds the answer of a policy.
func (s *Story) answered(id workload.Policy, trace *pipeline.Trace, err error) {
	if s != nil {
		s.Policies = append(s.Policies, PolicyStory{Policy: id, Trace: *trace, Err: err})
	}
}

// add adds a line about a step after the policies' answers; an empty text adds none.
func (s *Story) add(step, text string) {
	if s != nil && text != "" {
		s.Lines = append(s.Lines, pipeline.Line{Step: step, Text: text})
	}
}
